"""`python -m benchmarks train --stacking`: what it gains to train the slices of a process side by side."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from benchmarks.contender import contenders
from benchmarks.figures import Figure, Report, Say, ratio
from benchmarks.setups import setup_of
from benchmarks.trainers import task_settings, train_ours
from rewardgen.core.provenance import usable_cores
from rewardgen.store.records import RewardSpec, SliceResult, SliceSpec
from rewardgen.training.ppo.settings import PpoSettings

_GAIN_TARGET = 1.3
_MEMORY_TASK, _MEMORY_TARGET_MIB = "hopper", 1024.0


class StackingOptions(NamedTuple):
    """Options of the measurement.

    Attributes:
        task: Name of a task with a setup.
        slices: Slices, two for each candidate.
        workers: Processes at a time.
        repetitions: How often.
        steps: Control steps of each slice.
        memory_slices: Slices of hopper in the worker whose memory is measured.
    """

    task: str = "cartpole"
    slices: int = 16
    workers: int = usable_cores()
    repetitions: int = 3
    steps: int = 65_536
    memory_slices: int = 16

    def quick(self) -> StackingOptions:
        """The same in under a minute."""
        return self._replace(slices=8, repetitions=1, steps=8192)


def bench_stacking(options: StackingOptions, say: Say) -> Report:
    """Measure what stacking gains, and the memory that it takes.

    Args:
        options: What to measure.
        say: Told what goes on.

    Raises:
        UsageError: There is no setup for the task.
    """
    rewards = setup_of(options.task).rewards(-(-options.slices // 2))
    slices = [
        SliceSpec(candidate_id=rewards[number // 2].candidate_id, seed=number % 2) for number in range(options.slices)
    ]
    settings = task_settings(options.task).model_copy(update={"env_steps": options.steps, "evaluation_phases": 2})
    stacked, single = [], []
    for number in range(options.repetitions):
        say(f"repetition {number + 1}: {options.slices} slices stacked, then one at a time")
        stacked.append(_stacked(options, settings, rewards, slices))
        single.append(_one_at_a_time(options, settings, rewards, slices))
    say(f"memory of a worker with {options.memory_slices} slices of {_MEMORY_TASK}")
    return Report(
        bench="train",
        settings=options._asdict(),
        figures=(*_figures(options, stacked, single), _memory(options.memory_slices)),
        notes=("In workers: without starting processes, and without the final evaluations.",),
    )


class _Took(NamedTuple):
    """Wall clock of all slices, and the part of it that the workers trained, summed over workers [s]."""

    wall: float
    in_workers: float


def _stacked(
    options: StackingOptions, settings: PpoSettings, rewards: Sequence[RewardSpec], slices: Sequence[SliceSpec]
) -> _Took:
    trained = train_ours(options.task, settings, rewards, slices, options.workers)
    return _Took(trained.seconds, _summed(trained.results))


def _one_at_a_time(
    options: StackingOptions, settings: PpoSettings, rewards: Sequence[RewardSpec], slices: Sequence[SliceSpec]
) -> _Took:
    """The same slices, a process for each, as many processes at a time as there are workers."""
    by_id = {each.candidate_id: each for each in rewards}
    over = threading.Event()

    def train(spec: SliceSpec) -> list[SliceResult]:
        return train_ours(options.task, settings, [by_id[spec.candidate_id]], [spec], 1, over=over).results

    began = time.perf_counter()
    with ThreadPoolExecutor(options.workers) as pool:
        try:
            results = [result for found in pool.map(train, slices) for result in found]
        except BaseException:
            over.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return _Took(time.perf_counter() - began, _summed(results))


def _summed(results: Sequence[SliceResult]) -> float:
    return sum(each.wall_s for each in results)


def _figures(options: StackingOptions, stacked: Sequence[_Took], single: Sequence[_Took]) -> list[Figure]:
    sides = {"stacked": stacked, "one at a time": single}
    walls = {name: [each.wall for each in side] for name, side in sides.items()}
    inner = {name: [each.in_workers for each in side] for name, side in sides.items()}
    target = _GAIN_TARGET if options.slices == 16 else None
    return [
        *(Figure(name=name, subject=options.task, unit="s", values=tuple(values)) for name, values in walls.items()),
        ratio("gain of stacking", options.task, walls["one at a time"], walls["stacked"], target),
        ratio("the same, in workers", options.task, inner["one at a time"], inner["stacked"]),
    ]


def _memory(slices: int) -> Figure:
    with contenders({"memory": "memory"}) as found:
        peak = found["memory"].ask("train", task=_MEMORY_TASK, slices=slices)["mib"]
    return Figure(
        name=f"worker of {slices} slices",
        subject=_MEMORY_TASK,
        unit="MiB",
        values=(peak,),
        target=_MEMORY_TARGET_MIB if slices == 16 else None,
        at_most=True,
    )
