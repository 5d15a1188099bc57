"""Jobs on tasks in worker processes, for processes that load no simulator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rewardgen.core.errors import TaskError
from rewardgen.core.schema import Frozen
from rewardgen.sandbox.folders import scratch_folder
from rewardgen.sandbox.grants import declared_reads, included_reads
from rewardgen.sandbox.jobs import Job, register
from rewardgen.sandbox.process import Limits, run_worker
from rewardgen.store.records import TaskCard
from rewardgen.tasks.loading import load_task, resolve_task, shipped_tasks

TASK_FILES = "rewardgen.tasks.measure:task_files"
"""The `inputs` of any job whose payload names a `task`."""

MEASURE_TASK = register("measure", "rewardgen.tasks.card:measure_job", inputs=TASK_FILES)

MEASURING = Limits(wall_s=300.0)
"""Limits of the workers that measure a task or review rewards."""


class MeasuredTask(Frozen):
    """Everything that a run needs of a task, so that the run does not load it."""

    card: TaskCard
    baselines: dict[str, str] = {}
    """Sources of the task's own rewards, by `human` and `sparse`."""
    training: dict[str, dict[str, Any]] = {}
    """Settings of the task file as plain data, by name of the trainer."""
    environment: str = ""
    """Id of the Gymnasium environment, if it has one."""
    on_device: bool = False
    """True if the task can be simulated on a device other than the CPU."""
    varies: bool = False
    """True if the physics can change."""
    levels: tuple[float, ...] = ()
    """Difficulties of the task's easier starts."""
    files: dict[str, str]
    """Digests of the task's files: see `rewardgen.tasks.fingerprint`."""


def measure(
    job: Job,
    payload: dict[str, Any],
    limits: Limits = MEASURING,
    on_message: Callable[[dict[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Run a job in a worker whose folder is deleted afterwards; `on_message` receives the job's messages."""
    with scratch_folder() as scratch:
        return run_worker(job, payload, limits=limits, scratch=scratch, on_message=on_message)


def task_files(payload: dict[str, Any]) -> list[Path]:
    """Return the files that a worker reads for the task `payload["task"]`, besides those that every worker reads.

    The folder of a user's own task, files that its model includes, its `reads`, and files that it prepares. Other
    faults of the task are left to the job.
    """
    reference = payload["task"]
    try:
        folder = resolve_task(reference).parent
    except TaskError:
        return []
    try:
        task = load_task(reference)
    except TaskError:
        return [folder]
    if reference in shipped_tasks():
        return [*task.prepare()]
    sources = task.sources()
    included = included_reads(sources[0], sources) if sources else []
    return [folder, *included, *declared_reads(task.path, task.reads), *task.prepare()]
