"""Table of the fitness that tasks' own rewards reach, as docs/tasks-table.md shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rewardgen.api.training import TRAININGS, TrainedReward, train
from rewardgen.core.errors import RewardgenError
from rewardgen.core.formatting import number, percent, thousands
from rewardgen.store.records import BASELINES
from rewardgen.tasks.listing import listed_tasks
from rewardgen.training.cache import get_or_measure
from rewardgen.training.setup import trainer_of
from rewardgen.ui.console import messages
from rewardgen.ui.show import markdown_table

_NUMBERS = ("fitness", "success", "solved at", "steps", "minutes")


def own_rewards_table(tasks: Sequence[str], seeds: int) -> str:
    """Train the human and sparse rewards of tasks, and return a Markdown table with a row for each.

    A training that `trainings/` holds already is not repeated.

    Args:
        tasks: Names of tasks; if empty, all shipped tasks that are installed and not slow.
        seeds: Seeds of each reward.
    """
    listed = [task.name for task in listed_tasks() if task.is_shipped and task.path and not (task.slow or task.problem)]
    rows = [row for task in tasks or listed for row in _rows(task, seeds)]
    return markdown_table({name: [row[name] for row in rows] for name in rows[0]} if rows else {}, _NUMBERS)


def _rows(task: str, seeds: int) -> Iterator[dict[str, str]]:
    measured = get_or_measure(task)
    for reward in (name for name in BASELINES if name in measured.baselines):
        messages().print(f"{task}: {reward} reward", soft_wrap=True)
        try:
            training = train(task, reward, seeds=seeds, trainings=TRAININGS)
        except RewardgenError as error:
            messages().print(f"left out: {error.message}; {error.hint}", soft_wrap=True)
            continue
        yield _row(task, reward, trainer_of(measured), training, measured.card.solved_fitness)


def _row(task: str, reward: str, trainer: str, training: TrainedReward, solved_at: float | None) -> dict[str, str]:
    values = [*training.result.by_seed.values()]
    slices = training.result.slices
    reached = sum(value >= solved_at for value in values) if solved_at is not None else 0
    is_solved = bool(training.fitness and solved_at is not None and training.fitness.value >= solved_at)
    return {
        "task": f"`{task}`",
        "reward": reward,
        "trainer": trainer,
        "fitness": number(training.fitness.value) if training.fitness else "failed",
        "by seed": ", ".join(map(number, values)),
        "success": percent(training.success.value if training.success else None),
        "solved at": "none" if solved_at is None else number(solved_at),
        "solved": "" if solved_at is None else f"{'yes' if is_solved else 'no'} ({reached} of {len(slices)})",
        "steps": thousands(max(result.env_steps for result in slices)),
        "minutes": f"{sum(result.wall_s for result in slices) / len(slices) / 60:.1f}",
    }
