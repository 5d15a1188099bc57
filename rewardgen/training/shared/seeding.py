"""Independent random streams from one seed, by purpose."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import torch


def derive_seed(seed: int, purpose: str) -> int:
    """Return a seed in [0, 2**31) for one purpose, such as `train envs`, unrelated to those of other purposes."""
    digest = hashlib.sha256(f"{seed}/{purpose}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def slice_generators(seeds: Iterable[int], purpose: str, device: torch.device) -> list[torch.Generator]:
    """Make one generator per slice, so that a slice draws the same numbers alone and among others."""
    return [torch.Generator(device).manual_seed(derive_seed(seed, purpose)) for seed in seeds]
