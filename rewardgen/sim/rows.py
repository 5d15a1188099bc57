"""Rows of some of N envs: by their numbers, (n,) int64, or by a mask, (N,) bool, which needs no wait for a GPU."""

from __future__ import annotations

import torch
from torch import Tensor


def rows_of(values: Tensor, which: Tensor) -> Tensor:
    """The values (N, ...) of some envs: (n, ...) by their numbers, and all of them by a mask."""
    return values if which.dtype == torch.bool else values[which]


def put_rows(target: Tensor, which: Tensor, values: Tensor | float) -> None:
    """Write a number, or values as `rows_of` returns them, into the rows of some envs in place."""
    if which.dtype != torch.bool:
        target[which] = values
    elif isinstance(values, Tensor):
        target.copy_(torch.where(as_column(which, target), values.to(target.dtype), target))
    else:
        target.masked_fill_(as_column(which, target), values)


def as_column(mask: Tensor, like: Tensor) -> Tensor:
    """A mask (N,) that spreads over the further axes of a tensor (N, ...)."""
    return mask.view(-1, *[1] * (like.dim() - 1))
