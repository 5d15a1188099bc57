"""The worker job that trains rewards with PPO, all slices in one batch."""

from __future__ import annotations

from typing import Any

import torch

from rewardgen.tasks.loading import load_task
from rewardgen.training.ppo.batch import Report, SliceBatch
from rewardgen.training.ppo.settings import PpoJob


def train_job(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Train all slices of one job in one batch.

    Args:
        payload: A `PpoJob`.
        report: Called with the progress of each slice at each evaluation.

    Returns:
        `slices`: one `SliceResult` per slice, without the final fitness.
    """
    torch.set_num_threads(1)
    job = PpoJob.model_validate(payload)
    results = SliceBatch(load_task(job.task), job, report).run()
    return {"slices": [result.model_dump(mode="json") for result in results]}
