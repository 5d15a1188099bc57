"""Independent random streams from one seed, by purpose."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import torch


def derive_seed(seed: int, purpose: str) -> int:
    """A seed for one purpose, unrelated to those for other purposes and to other seeds.

    Args:
        seed: The slice's (or the run's) seed.
        purpose: Such as `train envs`; different words give unrelated streams.

    Returns:
        An integer in [0, 2**31).
    """
    digest = hashlib.sha256(f"{seed}/{purpose}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def slice_generators(seeds: Iterable[int], purpose: str, device: torch.device) -> list[torch.Generator]:
    """One generator per slice, so that a slice draws the same numbers alone and among others.

    Args:
        seeds: The slices' seeds, in the order of the slices.
        purpose: What is drawn from them.
        device: Where they draw.
    """
    return [torch.Generator(device).manual_seed(derive_seed(seed, purpose)) for seed in seeds]
