"""Situations that a task declares as pairs, set into inputs of rewards."""

from __future__ import annotations

import torch
from torch import Tensor

from rewardgen.sim.variables import Pair, Setting


def differing(pair: Pair) -> set[str]:
    """The variables in which a pair's situations differ."""
    return {name for name, value in pair.better.items() if pair.worse[name] != value}


def between(rows: dict[str, Tensor], pair: Pair, shares: Tensor) -> dict[str, Tensor]:
    """Rows with the variables of a pair set to points of the way from worse to better.

    Args:
        rows: Inputs, (n, ...).
        pair: The pair.
        shares: Which points, (p,): 0 for worse, 1 for better.

    Returns:
        Inputs, (p * n, ...), the points one after the other; a variable and its `prev_` are equal.
    """
    count = len(next(iter(rows.values())))
    placed = {name: value.repeat(len(shares), *[1] * (value.dim() - 1)) for name, value in rows.items()}
    for name, value in placed.items():
        variable = name.removeprefix("prev_")
        if variable in pair.better:
            low, high = (_setting(each[variable], value) for each in (pair.worse, pair.better))
            share = shares.repeat_interleave(count).view(-1, *[1] * (value.dim() - 1))
            value.copy_(low + share * (high - low))
    return placed


def _setting(value: Setting, like: Tensor) -> Tensor:
    return torch.as_tensor(value, dtype=torch.float32).expand(like.shape[1:])
