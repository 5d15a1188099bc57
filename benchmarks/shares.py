"""`python -m benchmarks shares`: share of a training that is simulation, learning, and evaluation, by task."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from benchmarks.figures import Figure, Report, Say
from benchmarks.trainers import task_settings
from rewardgen.core.errors import TaskError
from rewardgen.store.measurements import STARTS
from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.members import baseline_sources
from rewardgen.training.evaluation import evaluate_job
from rewardgen.training.ppo.learner import Learner
from rewardgen.training.ppo.settings import PpoJob
from rewardgen.training.shared.batch import SliceBatch

DEFAULT_TASKS = ("cartpole", "reacher", "hopper", "walker2d", "half_cheetah", "ant")


class SharesOptions(NamedTuple):
    """Options of the measurement.

    Attributes:
        seeds: Seeds that train side by side, as in a generation.
        part: Share of the training that is done. Policies that do not fall yet make evaluations longer later on.
    """

    seeds: int = 4
    part: float = 1.0

    def quick(self) -> SharesOptions:
        """The same in about a minute for two tasks."""
        return self._replace(part=0.25)


class _Stopwatch:
    """Seconds by part."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def timed(self, part: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function so that its time counts for a part."""

        def wrapped(*args: Any, **named: Any) -> Any:
            began = time.perf_counter()
            try:
                return call(*args, **named)
            finally:
                self.seconds[part] = self.seconds.get(part, 0.0) + time.perf_counter() - began

        return wrapped


def bench_shares(tasks: Sequence[str], options: SharesOptions, say: Say) -> Report:
    """Train the human reward of tasks for a part of their budget, in this process.

    Args:
        tasks: Names of shipped tasks.
        options: What to measure.
        say: Told what goes on.

    Raises:
        TaskError: A task is unknown or has no human reward.
    """
    figures: list[Figure] = []
    for name in tasks or DEFAULT_TASKS:
        seconds = _seconds(name, options)
        whole = sum(seconds.values())
        say(f"{name}: {whole:.0f} s")
        figures += [
            Figure(name=part, subject=name, unit="%", values=(100.0 * part_s / whole,))
            for part, part_s in seconds.items()
        ]
    note = f"{options.seeds} seeds side by side; `simulation` is physics, variables, actions and pricing."
    return Report(bench="shares", settings=options._asdict(), figures=tuple(figures), notes=(note,))


def _seconds(name: str, options: SharesOptions) -> dict[str, float]:
    task, watch = load_task(name), _Stopwatch()
    sources = baseline_sources(task)
    if "human" not in sources:
        raise TaskError(f"{name} has no `human_reward` to train with", "name other tasks")
    shipped = task_settings(name)
    phases = max(1, round(shipped.evaluation_phases * options.part))
    part = phases / shipped.evaluation_phases
    fewer = {"env_steps": round(shipped.env_steps * part), "evaluation_phases": phases}
    reward = RewardSpec(candidate_id="human", source=sources["human"], is_baseline=True)
    slices = tuple(SliceSpec(candidate_id="human", seed=seed) for seed in range(options.seeds))

    def learner(*args: Any) -> Learner:
        made = Learner(*args)
        made.learn = watch.timed("learning", made.learn)
        return made

    with tempfile.TemporaryDirectory() as folder:
        settings = shipped.model_copy(update=fewer)
        job = PpoJob(task=name, rewards=(reward,), slices=slices, settings=settings, folder=folder)
        batch = SliceBatch(task, job, lambda message: None, learner)
        batch._slices.evaluate = watch.timed("evaluation", batch._slices.evaluate)
        watch.timed("training", batch.run)()
        payload = {"task": name, "folder": folder, "seed": 0, "episodes": STARTS}
        payload["slices"] = [each.model_dump() for each in slices]
        watch.timed("clean evaluation", evaluate_job)(payload, lambda message: None)
    seconds = watch.seconds
    simulation = seconds["training"] - seconds["learning"] - seconds["evaluation"]
    return {
        "simulation": simulation,
        "learning": seconds["learning"],
        "evaluation": seconds["evaluation"],
        "clean evaluation": part * seconds["clean evaluation"],
    }
