"""File names that the training worker and the orchestrator agree on."""

from __future__ import annotations

from rewardgen.store.records import SliceSpec


def policy_names(spec: SliceSpec) -> tuple[str, str]:
    """Names of a slice's policy files: the final one, and the one of the evaluation phase before."""
    stem = f"{spec.candidate_id}-s{spec.seed}"
    return f"{stem}.npz", f"{stem}-prev.npz"


def episodes_name(spec: SliceSpec) -> str:
    """Name of a slice's file of kept episodes."""
    return f"{spec.candidate_id}-s{spec.seed}-episodes.npz"
