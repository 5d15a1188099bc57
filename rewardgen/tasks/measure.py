"""Measuring tasks in worker processes, on behalf of a process that loads no simulator."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from rewardgen.sandbox.jobs import Job, register
from rewardgen.sandbox.process import Limits, run_worker

TASK_FILES = "rewardgen.tasks.files:task_files"
"""The `inputs` of any job whose payload names a `task`."""

CARD = register("card", "rewardgen.tasks.card:card_job", inputs=TASK_FILES)
BASELINES = register("baselines", "rewardgen.tasks.card:baselines_job", inputs=TASK_FILES)

MEASURING = Limits(wall_s=300.0)
"""Limits of the workers that measure a task or review rewards."""


def measure(job: Job, payload: dict[str, Any], limits: Limits = MEASURING) -> dict[str, Any]:
    """Run a job in a worker whose folder is deleted afterwards.

    Args:
        job: What to do.
        payload: What it is given; JSON.
        limits: Of the worker.

    Raises:
        RewardgenError: As for `run_worker`.
    """
    with tempfile.TemporaryDirectory(prefix="rewardgen-") as scratch:
        return run_worker(job, payload, limits=limits, scratch=Path(scratch))
