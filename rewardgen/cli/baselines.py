"""`rewardgen tasks baselines`, and `rewardgen suite --rewards`: what tasks' own rewards reach."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from pydantic import Field

from rewardgen.api.training import TRAININGS, train
from rewardgen.cli.output import Json, TaskName, next_steps, print_json
from rewardgen.core.errors import RewardgenError, TaskError, UsageError, did_you_mean
from rewardgen.core.files import write_atomic
from rewardgen.core.schema import Frozen
from rewardgen.store.records import BASELINES
from rewardgen.tasks.listing import listed_tasks
from rewardgen.tasks.loading import lasting_reference
from rewardgen.training.cache import get_or_measure
from rewardgen.training.setup import TRAINERS, trainer_of
from rewardgen.ui.baselines import BaselineRow, baselines_markdown, baselines_page
from rewardgen.ui.console import messages, results, training_line

_FEW = 10
"""Tasks that are named; of more, how many there are is told."""


class OwnRewards(Frozen):
    """How tasks' own rewards are trained."""

    seeds: int = Field(default=3, ge=1)
    """Seeds of each reward."""
    env_steps: int | None = Field(default=None, ge=1000)
    """Control steps of each seed; the task's own setting if not given."""
    trainer: str | None = None
    """What trains; what the task has settings for, or `ppo`, if not given."""
    workers: int | None = Field(default=None, ge=1)
    """Training processes; the CPU cores if not given."""


def baselines(
    name: TaskName,
    /,
    *,
    options: Annotated[OwnRewards, Parameter(name="*")] = OwnRewards(),  # noqa: B008
    json: Json = False,
) -> int:
    """Train a task's own rewards, and tell whether they solve it: `solved_fitness` of the task.

    What `trainings/` has of exactly the same is not trained again.
    """
    code = own_rewards((name,), ",".join(BASELINES), options, json=json)
    next_steps(
        (f"tasks check {name}", "what is wrong with the task itself"),
        (f"suite --rewards {','.join(BASELINES)}", "the same for all shipped tasks"),
    )
    return code


def own_rewards(
    names: Sequence[str],
    rewards: str,
    options: OwnRewards,
    *,
    markdown: Path | None = None,
    folder: Path | None = None,
    json: bool = False,
) -> int:
    """Train tasks' own rewards, and show one table of them.

    Args:
        names: The tasks; all shipped ones that are not slow if there are none.
        rewards: `human`, `sparse`, or both with a comma.
        options: How they are trained.
        markdown: File for the table, written anew after each task.
        folder: Where the trainings are kept; `trainings/` where the user is if not given.
        json: Whether the table is printed as JSON.

    Returns:
        The exit code.

    Raises:
        RewardgenError: A task or a reward does not exist, or a training could not be started.
    """
    wanted = tuple(each.strip() for each in rewards.split(","))
    for each in wanted:
        if each not in BASELINES:
            raise UsageError(f"`{each}` is no reward that tasks have of their own", did_you_mean(each, BASELINES))
    given = {f"--{name.replace('_', '-')}": value for name, value in options.model_dump(exclude_defaults=True).items()}
    given = {"--rewards": rewards, **given, "--markdown": markdown} | ({"--runs-dir": folder} if folder else {})
    command = shlex.join(["rewardgen", "suite", *names, *(str(part) for option in given.items() for part in option)])
    tasks, notes = _chosen(names)
    if options.trainer:
        TRAINERS.get(options.trainer)
    rows: list[BaselineRow] = []
    for number, task in enumerate(tasks):
        messages().print(f"task {number + 1} of {len(tasks)}: {task}", soft_wrap=True)
        found: list[BaselineRow] = []
        try:
            for row in _rows(task, wanted, options, folder):
                found.append(row)
                rows.append(row)
            if all(each.result.success_rate == 0.0 for each in found):
                notes.append(f"{task}: no policy ever succeeds. `success` may ask for what nothing reaches.")
        except RewardgenError as error:
            if len(tasks) == 1:
                raise
            notes.append(f"Left out: {task}: {error.message}. {error.hint}")
        left = f"Not trained yet: {', '.join(tasks[number + 1 :])}."
        if markdown:
            told = [*notes, left] if tasks[number + 1 :] else notes
            write_atomic(markdown, baselines_markdown(rows, told, options.seeds, command))
    if json:
        print_json({"rows": [each.data() for each in rows], "notes": notes})
    else:
        results().print(baselines_page(rows, notes))
        messages().print(f"\npolicies and curves: {folder or TRAININGS}", soft_wrap=True)
    return 0 if any(each.fitness is not None for each in rows) else 1


def _chosen(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The tasks to train, and sentences on those that are left out.

    Raises:
        TaskError: One that is named does not exist.
    """
    listed = {each.name: each for each in reversed(listed_tasks()) if each.path}  # shipped ones have their names
    shipped = [name for name, each in reversed(listed.items()) if each.is_shipped]
    for each in names:
        lasting_reference(each)
    asked = names or shipped
    here = [name for name in asked if name not in listed or not listed[name].problem]
    notes = [f"Not here: {name}: {listed[name].why}." for name in asked if name not in here]
    slow = [name for name in here if not names and listed[name].slow]
    if slow:
        notes.append(f"Left out, for they are too slow for two cores unless they are named: {', '.join(slow)}.")
    others = [name for name in shipped if name not in asked and set(asked) <= set(shipped)]
    if others:
        told = f"{len(others)} other shipped tasks" if len(others) > _FEW else ", ".join(others)
        notes.append(f"Not asked for: {told}.")
    return [name for name in here if name not in slow], notes


def _rows(task: str, wanted: Sequence[str], options: OwnRewards, folder: Path | None) -> Iterator[BaselineRow]:
    reference = lasting_reference(task)
    known = get_or_measure(reference)
    trainer = options.trainer or trainer_of(known)
    found = [each for each in wanted if each in known.baselines]
    if not found:
        raise TaskError(f"it has no {' and no '.join(wanted)} reward", "write a static method `human_reward`")
    for each in found:
        messages().print(f"{task}: {each} reward with {trainer}", soft_wrap=True)
        done = train(
            reference,
            each,
            steps=options.env_steps,
            seeds=options.seeds,
            trainer=trainer,
            workers=options.workers,
            trainings=folder or TRAININGS,
            on_progress=training_line,
        )
        yield BaselineRow(known.card.name, each, trainer, done.result, known.solved_fitness)
