"""The worker job of SAC: trains a batch of slices."""

from __future__ import annotations

from typing import Any

from rewardgen.training.sac.learner import SacLearner
from rewardgen.training.sac.settings import SacJob
from rewardgen.training.shared.batch import train_batch
from rewardgen.training.shared.slices import Report


def train_sac_job(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Train all slices of a `SacJob`; see `train_batch`."""
    return train_batch(SacJob.model_validate(payload), SacLearner, report)
