"""The files that a worker reads for a task, besides what every worker reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rewardgen.core.errors import TaskError
from rewardgen.sandbox.grants import declared_reads, included_reads
from rewardgen.tasks.loading import load_task, resolve_task


def task_files(payload: dict[str, Any]) -> list[Path]:
    """The folder of a user's own task, what its model includes, and what it says it reads.

    What is wrong with the rest of it is for the job to tell.

    Args:
        payload: Of a job, with `task`, the task's reference.
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
    model = task.model_files()
    included = included_reads(model[0], model) if model else []
    return [folder, *included, *declared_reads(task.path, task.reads), *task.prepare()]
