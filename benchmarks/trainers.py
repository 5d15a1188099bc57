"""A generation by our trainer, and by Stable-Baselines3 in a process for each core; every evaluation is timed."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from benchmarks.contender import contenders
from benchmarks.curves import Point, times_to
from benchmarks.setups import Sb3Settings
from rewardgen.core.errors import WorkerError
from rewardgen.reward.signature import read_signature
from rewardgen.sandbox.folders import scratch_folder
from rewardgen.sandbox.process import Limits, WorkerCancelled
from rewardgen.store.records import RewardSpec, SliceResult, SliceSpec, TrainerSettings
from rewardgen.tasks.loading import lasting_reference
from rewardgen.training.cache import get_or_measure
from rewardgen.training.ppo.settings import PpoSettings
from rewardgen.training.protocol import TRAINERS, TrainerSetup
from rewardgen.training.setup import settings_for

LIMITS = Limits(wall_s=3600.0)
"""Limits of a training worker: as long as in a run, for many rewards on a busy processor."""


class Trained(NamedTuple):
    """Outcome of a generation.

    Attributes:
        curves: Name of a slice to its evaluations; seconds count from the call, start of the processes included.
        results: The slices that went on to the end.
        seconds: How long it all took.
    """

    curves: dict[str, list[Point]]
    results: list[SliceResult]
    seconds: float


def slice_name(spec: SliceSpec | SliceResult) -> str:
    """Name of a slice in the output."""
    return f"{spec.candidate_id} seed {spec.seed}"


def task_settings(task: str) -> PpoSettings:
    """The settings that a task ships for its training.

    Raises:
        TaskError: There is no such task.
    """
    settings = settings_for("ppo", get_or_measure(lasting_reference(task)))
    assert isinstance(settings, PpoSettings)
    return settings


def train_ours(
    task: str,
    settings: TrainerSettings,
    rewards: Sequence[RewardSpec],
    slices: Sequence[SliceSpec],
    workers: int,
    *,
    trainer: str = "ppo",
    target: float | None = None,
    over: threading.Event | None = None,
) -> Trained:
    """Train a generation with our trainer.

    Args:
        task: Task reference.
        settings: Settings of the training.
        rewards: The candidates.
        slices: Their slices.
        workers: Processes.
        trainer: Name of the trainer, `ppo` or `sac`.
        target: The training is over when every slice has reached this fitness once.
        over: Ends the training when set.

    Raises:
        WorkerError: A slice failed.
    """
    over = over or threading.Event()
    curves: dict[str, list[Point]] = {slice_name(each): [] for each in slices}
    results: list[SliceResult] = []
    began = time.perf_counter()

    def note(message: dict[str, Any]) -> None:
        point = Point(message["env_steps"], time.perf_counter() - began, message["fitness"])
        curves[slice_name(SliceSpec(candidate_id=message["candidate_id"], seed=message["seed"]))].append(point)
        if target is not None and not times_to(curves, target, budget_s=0.0).missed:
            over.set()

    with scratch_folder() as place, suppress(WorkerCancelled):  # held, or others sweep it away
        folder = place.resolve()
        made = TRAINERS.get(trainer).make(TrainerSetup(task, settings, workers, folder / "scratch", LIMITS))
        made.train(rewards, slices, folder=folder, on_progress=note, on_slice=results.append, cancel=over)
    for each in results:
        if each.failure is not None:
            raise WorkerError(f"{slice_name(each)} failed: {each.failure.message}", "run `rewardgen doctor`")
    return Trained(curves, results, time.perf_counter() - began)


def train_sb3(
    task: str,
    settings: Sb3Settings,
    rewards: Sequence[RewardSpec],
    slices: Sequence[SliceSpec],
    workers: int,
    *,
    steps: int,
    evaluate_every: int,
    episodes: int,
    target: float | None = None,
) -> dict[str, list[Point]]:
    """Train slices with Stable-Baselines3.

    Args:
        task: Name of the task.
        settings: How its PPO is set up.
        rewards: The candidates.
        slices: Their slices.
        workers: Processes.
        steps: Control steps of each slice at most.
        evaluate_every: Control steps between two evaluations.
        episodes: Episodes per evaluation.
        target: A slice that reaches this fitness is finished.

    Returns:
        Name of a slice to its evaluations; seconds count from the slice's own beginning, imports excluded.
    """
    constants = {each.candidate_id: read_signature(each.source).tunables for each in rewards}
    parts = [part for number in range(workers) if (part := list(slices)[number::workers])]
    asked = {"settings": settings._asdict(), "steps": steps, "evaluate_every": evaluate_every, "episodes": episodes}
    curves: dict[str, list[Point]] = {}
    with contenders({f"process {number}": "sb3-training" for number in range(len(parts))}) as found:
        for process, part in zip(found.values(), parts, strict=True):
            own = [{"constants": constants[each.candidate_id], "seed": each.seed} for each in part]
            process.begin("train", task=task, slices=own, target=target, **asked)
        for process, part in zip(found.values(), parts, strict=True):
            measured = process.answer()["curves"]
            curves |= {
                slice_name(each): [Point(*point) for point in curve] for each, curve in zip(part, measured, strict=True)
            }
    return curves
