"""`python -m benchmarks ablation`: what critic, analyzer and the ranking of episodes save in steps, cost in fitness.

Every run with a part left out stands beside one with all parts and the same seed: the built-in designer then drafts the
same first generation for both, and the finals train on the same fresh seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, get_args

from benchmarks.figures import Figure, Report, Say, told
from benchmarks.whole_run import RunOptions
from rewardgen.core.config import Ablation
from rewardgen.core.errors import RewardgenError
from rewardgen.core.formatting import number
from rewardgen.core.statistics import Interval, bootstrap_interval
from rewardgen.search import lifecycle
from rewardgen.store.history import History
from rewardgen.store.journal import SilentListener
from rewardgen.tasks.loading import resolve_task

_NOTES = (
    "Steps: control steps of the search's trainings. Fitness: of the chosen reward on fresh seeds.",
    "Saved: steps that runs without the part took beyond those with all parts, of the same seed. Fitness gained is"
    " likewise with all parts less without. Means over runs with 95 % intervals.",
)


ABLATION = RunOptions(generations=3, final_seeds=3, repetitions=3)
QUICK_ABLATION = RunOptions(generations=2, candidates=3, seeds=1, final_seeds=1, env_steps=8_192)
"""The same in about a minute: shows that the parts can be left out, and little of what they are worth."""
PARTS: tuple[Ablation, ...] = get_args(Ablation)
"""What can be left out."""


class _Run(NamedTuple):
    """What one run came to.

    Attributes:
        trained: Candidates trained in the search.
        steps: Control steps of their trainings.
        fitness: Of the chosen reward on the fresh seeds.
    """

    trained: int
    steps: int
    fitness: float

    @property
    def told(self) -> str:
        """It in a line."""
        return f"{self.trained} candidates trained, {self.steps} steps, fitness {number(self.fitness)}"


def bench_ablation(options: RunOptions, say: Say, parts: Sequence[Ablation] = PARTS) -> Report:
    """Run the search with all parts and with each left out.

    Args:
        options: What to run.
        say: Told what goes on.
        parts: What to leave out, one at a time.

    Raises:
        RewardgenError: A run failed.
    """
    resolve_task(options.task)
    runs: dict[str, list[_Run]] = {_name(part): [] for part in (None, *parts)}
    for seed in range(options.repetitions):
        for part in (None, *parts):
            run = _run(options, seed, part)
            runs[_name(part)].append(run)
            say(f"run {seed + 1} of {options.repetitions}, {_name(part)}: {run.told}")
    gains = {name: each for part in parts for name, each in _gains(part, runs)}
    return Report(
        bench="ablation",
        settings=options.settings(),
        figures=tuple(figure for name, each in runs.items() for figure in _figures(options, name, each)),
        notes=(*_NOTES, *(told(name, each) for name, each in gains.items())),
        intervals=gains,
    )


def _name(part: Ablation | None) -> str:
    return f"without {part}" if part else "all parts"


def _run(options: RunOptions, seed: int, part: Ablation | None) -> _Run:
    config = options.config(seed, finalists=1, ablate=(part,) if part else ())
    with TemporaryDirectory(prefix="rewardgen-bench-") as runs:
        history = lifecycle.start(config, Path(runs).resolve(), SilentListener()).history
    slices = [each for (phase, _, _), each in history.trained.items() if phase == "search"]
    return _Run(
        trained=len({each.candidate_id for each in slices}),
        steps=sum(each.env_steps for each in slices),
        fitness=_chosen_fitness(history),
    )


def _chosen_fitness(history: History) -> float:
    rows = history.summary.rows if history.summary else ()
    for row in rows:
        if history.summary and row.candidate_id == history.summary.chosen and row.fitness:
            return row.fitness.value
    raise RewardgenError("no candidate of a run could be trained to the end", "give it more candidates or seeds")


def _figures(options: RunOptions, name: str, runs: Sequence[_Run]) -> Iterator[Figure]:
    measured = {
        "candidates trained": [run.trained for run in runs],
        "thousand steps": [run.steps / 1000 for run in runs],
        "fitness": [run.fitness for run in runs],
    }
    for what, values in measured.items():
        yield Figure(name=f"{name}: {what}", subject=options.subject, unit="", values=tuple(values))


def _gains(part: Ablation, runs: dict[str, list[_Run]]) -> Iterator[tuple[str, Interval]]:
    """What a part is worth, from runs of the same seed."""
    pairs = list(zip(runs[_name(None)], runs[_name(part)], strict=True))
    yield f"{part}: steps saved [%]", bootstrap_interval([100 * (1 - with_it.steps / b.steps) for with_it, b in pairs])
    yield f"{part}: fitness gained", bootstrap_interval([with_it.fitness - b.fitness for with_it, b in pairs])
