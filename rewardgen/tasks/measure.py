"""Measuring tasks in worker processes, on behalf of a process that loads no simulator."""

from __future__ import annotations

from typing import Any

from rewardgen.core.schema import Frozen
from rewardgen.sandbox.folders import scratch_folder
from rewardgen.sandbox.jobs import Job, register
from rewardgen.sandbox.process import Limits, run_worker
from rewardgen.store.records import TaskCard

TASK_FILES = "rewardgen.tasks.files:task_files"
"""The `inputs` of any job whose payload names a `task`."""

MEASURE_TASK = register("measure", "rewardgen.tasks.card:measure_job", inputs=TASK_FILES)

MEASURING = Limits(wall_s=300.0)
"""Limits of the workers that measure a task or review rewards."""


class MeasuredTask(Frozen):
    """All that a run has to know of a task, so that it need not be loaded."""

    card: TaskCard
    baselines: dict[str, str] = {}
    """Source of the task's own rewards: `human` and `sparse`, where it has them."""
    training: dict[str, dict[str, Any]] = {}
    """The settings that the task file gives, as plain data: name of a trainer to its own."""
    environment: str = ""
    """Gymnasium's id of the environment, if it has one."""
    on_device: bool = False
    """Whether it can be simulated on a device other than the CPU."""
    solved_fitness: float | None = None
    """The fitness from which it counts as solved, if it says so."""
    files: dict[str, str]
    """What it is made of: `rewardgen.tasks.fingerprint.digests`."""


def measure(job: Job, payload: dict[str, Any], limits: Limits = MEASURING) -> dict[str, Any]:
    """Run a job in a worker whose folder is deleted afterwards.

    Args:
        job: What to do.
        payload: What it is given; JSON.
        limits: Of the worker.

    Raises:
        RewardgenError: As for `run_worker`.
    """
    with scratch_folder() as scratch:
        return run_worker(job, payload, limits=limits, scratch=scratch)
