"""Payload of a training worker, and the names of the files it writes."""

from __future__ import annotations

from typing import Generic, TypeVar

from pydantic import SerializeAsAny

from rewardgen.core.schema import Frozen
from rewardgen.store.records import RewardSpec, SliceSpec, TrainerSettings

Settings = TypeVar("Settings", bound=TrainerSettings)


class TrainJob(Frozen, Generic[Settings]):
    """Payload of one training worker, which trains all slices in one batch."""

    task: str
    rewards: tuple[RewardSpec, ...]
    slices: tuple[SliceSpec, ...]
    settings: SerializeAsAny[Settings]
    folder: str
    """Folder for the policies, under `policy_names`."""
    kernels: str | None = None
    """Folder of kernels compiled for the device, if it needs any."""


def policy_names(spec: SliceSpec) -> tuple[str, str]:
    """Names of a slice's policy files: the final policy, and the one of the evaluation phase before."""
    stem = f"{spec.candidate_id}-s{spec.seed}"
    return f"{stem}.npz", f"{stem}-prev.npz"


EVALUATION_SEED = 0
"""Seed from which the starts of the clean evaluation are derived, in all runs."""


def evaluation_starts(seed: int) -> str:
    """Purpose of the starts on which policies of a training seed are measured; see `derive_seed`."""
    return f"final evaluation {seed}"


def episodes_name(spec: SliceSpec) -> str:
    """Name of a slice's file of recorded episodes."""
    return f"{spec.candidate_id}-s{spec.seed}-episodes.npz"
