"""`python -m benchmarks search`: the share of a run's wall clock in which nothing is simulated, learned or designed."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest.mock import patch

from benchmarks.figures import Figure, Report, Say
from rewardgen.core.config import RunConfig
from rewardgen.core.provenance import usable_cores
from rewardgen.sandbox.jobs import Job
from rewardgen.sandbox.process import run_worker
from rewardgen.search import lifecycle
from rewardgen.store.events import Event
from rewardgen.store.history import History
from rewardgen.store.journal import SilentListener
from rewardgen.tasks.loading import resolve_task

_TARGET_PERCENT = 5.0
_MEASURING, _REVIEWING, _TRAINING = ("measure", "transitions"), ("review",), ("train", "evaluate")

_NOTES = (
    "Outside: no worker trains or evaluates. The built-in designer makes no model calls, and counts as outside.",
    "A training counts from its first update to its last evaluation, as its worker measured it, and the final"
    " evaluation with its worker's start.",
    "Idle cores: from the first to the last training or evaluation of a generation, or of the finals.",
)


class RunOptions(NamedTuple):
    """Options of the run.

    Attributes:
        task: Task reference.
        generations: Generations.
        candidates: Candidates of each.
        seeds: Seeds of each candidate.
        final_seeds: Fresh seeds of the winner and the task's own rewards.
        workers: Training processes.
        env_steps: Control steps of each training; the task's own if None.
        repetitions: How many runs of each kind, each with a seed of its own.
    """

    task: str = "cartpole"
    generations: int = 2
    candidates: int = 6
    seeds: int = 2
    final_seeds: int = 5
    workers: int = usable_cores()
    env_steps: int | None = None
    repetitions: int = 1

    @property
    def subject(self) -> str:
        """The task's name."""
        return Path(self.task).stem

    def config(self, seed: int) -> RunConfig:
        """The configuration of a run with this seed that no plateau ends before its last generation."""
        fields = {name: value for name, value in self._asdict().items() if name in RunConfig.model_fields}
        return RunConfig.model_validate({**fields, "patience": self.generations, "seed": seed})

    def settings(self) -> dict[str, str | int | float | bool]:
        """Settings in the report."""
        return {name: value for name, value in self._asdict().items() if value is not None}


SEARCH = RunOptions()
QUICK_SEARCH = RunOptions(generations=1, candidates=4, final_seeds=2, env_steps=16_384)
"""The same in under a minute: short trainings, next to which everything else looks large."""


def bench_search(options: RunOptions, say: Say) -> Report:
    """Measure whole runs.

    Args:
        options: What to run.
        say: Told what goes on.

    Raises:
        RewardgenError: The run failed.
    """
    resolve_task(options.task)
    runs = []
    for number in range(options.repetitions):
        say(f"run {number + 1} of {options.repetitions}: {options.subject}")
        runs.append(_watch_run(options, number))
    return Report(bench="search", settings=options.settings(), figures=tuple(_figures(options, runs)), notes=_NOTES)


class Span(NamedTuple):
    """From when to when [s]."""

    began: float
    ended: float

    @property
    def length(self) -> float:
        """Seconds."""
        return self.ended - self.began


def covered(spans: Iterable[Span]) -> float:
    """Seconds that lie in at least one span."""
    total, reached = 0.0, float("-inf")
    for span in sorted(spans):
        total += max(0.0, span.ended - max(span.began, reached))
        reached = max(reached, span.ended)
    return total


def idle_share(phases: Iterable[Sequence[Span]], cores: int) -> float:
    """Share of the cores' time that is in no span, from the first beginning to the last end of each phase.

    Args:
        phases: The spans of each phase, one span at a time on a core.
        cores: How many there are.
    """
    busy, whole = 0.0, 0.0
    for spans in filter(None, phases):
        busy += sum(span.length for span in spans)
        whole += cores * (max(span.ended for span in spans) - min(span.began for span in spans))
    return 1.0 - busy / whole if whole else 0.0


class _Job(NamedTuple):
    """A worker's job: what it was, when it was asked for and answered, and what it answered."""

    name: str
    span: Span
    answer: dict[str, Any]


class _Run(NamedTuple):
    """Observations of one run.

    Attributes:
        seconds: Its wall clock.
        phases: The jobs of each generation, those before the first among them, and of the finals.
    """

    seconds: float
    phases: list[list[_Job]]

    def share(self, *kinds: str) -> float:
        """Percentage of the wall clock in which a job of these kinds was under way."""
        spans = [job.span for jobs in self.phases for job in jobs if job.name in kinds]
        return 100.0 * covered(spans) / self.seconds

    def busy(self) -> list[list[Span]]:
        """When workers trained, without their start, or evaluated, in each phase."""
        return [[_working(job) for job in jobs if job.name in _TRAINING] for jobs in self.phases]


def _working(job: _Job) -> Span:
    """When a worker trained, of which each slice has its part, or evaluated."""
    if job.name != "train":
        return job.span
    seconds = sum(float(each["wall_s"]) for each in job.answer["slices"])
    return Span(max(job.span.began, job.span.ended - seconds), job.span.ended)


class _Clock(SilentListener):
    """Notes when jobs run. A listener of the run, and a stand-in for `run_worker`."""

    def __init__(self) -> None:
        self.phases: list[list[_Job]] = [[]]
        self._lock = threading.Lock()

    def timed(self, run_worker: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
        """The same function, noted."""

        def run(job: Job, *arguments: Any, **options: Any) -> dict[str, Any]:
            began = time.perf_counter()
            answer = run_worker(job, *arguments, **options)
            with self._lock:
                self.phases[-1].append(_Job(job.name, Span(began, time.perf_counter()), answer))
            return answer

        return run

    def event(self, event: Event, history: History) -> None:
        """A generation that is done ends a phase."""
        if event.kind == "generation-finished":
            self.phases.append([])


@contextmanager
def _noting(clock: _Clock) -> Iterator[None]:
    with ExitStack() as stack:
        for module in [each for each in sys.modules.values() if each.__dict__.get("run_worker") is run_worker]:
            stack.enter_context(patch.object(module, "run_worker", clock.timed(run_worker)))
        yield


def _watch_run(options: RunOptions, seed: int) -> _Run:
    clock = _Clock()
    with TemporaryDirectory(prefix="rewardgen-bench-") as runs, _noting(clock):
        began = time.perf_counter()
        lifecycle.start(options.config(seed), Path(runs).resolve(), clock)
        return _Run(time.perf_counter() - began, clock.phases)


def _figures(options: RunOptions, runs: Sequence[_Run]) -> list[Figure]:
    busy = [each.busy() for each in runs]
    outside = [
        100.0 * (1.0 - covered(span for phase in phases for span in phase) / run.seconds)
        for run, phases in zip(runs, busy, strict=True)
    ]
    rows = {
        "outside training": outside,
        "measuring the task": [each.share(*_MEASURING) for each in runs],
        "reviewing rewards": [each.share(*_REVIEWING) for each in runs],
        "idle cores": [100.0 * idle_share(phases, options.workers) for phases in busy],
    }
    figures = [Figure(name="whole run", subject=options.subject, unit="s", values=tuple(run.seconds for run in runs))]
    for name, values in rows.items():
        target = _TARGET_PERCENT if name == "outside training" else None
        figures.append(
            Figure(
                name=name,
                subject=options.subject,
                unit="%",
                values=tuple(values),
                target=target,
                at_most=bool(target),
            )
        )
    return figures
