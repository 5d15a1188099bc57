"""What one call of a reward returns, and how its parts add up to it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

RESIDUAL = "residual"
_ROUNDING = 1e-5
LARGE_RESIDUAL = 1e-3
"""Root of the mean square of a residual over that of the total, above which it is surely no rounding."""


class Components(dict[str, Tensor]):
    """What one call of a reward returns: component name to (N,) float32, already weighted.

    Attributes:
        total: Their sum, (N,) float32: the reward.
    """

    __slots__ = ("total",)
    total: Tensor


def added_up(values: Sequence[Tensor]) -> Tensor:
    """The sum of components, (N,), one after the other.

    A reduction over stacked components adds them up in another order near the end of the batch, and a slice would be
    priced otherwise among others than alone.

    Args:
        values: At least one, (N,) each.
    """
    total = values[0] + values[1] if len(values) > 1 else values[0].clone()
    for value in values[2:]:
        total += value
    return total


def may_be_rounding(squares: float, total: Tensor) -> bool:
    """Whether a residual is so small that it may come from adding up the same numbers in another order.

    In the usual cases no or one operation tells: a reward that adds up its components in their order has no residual to
    the last bit, and one that leaves out a term has a large one.

    Args:
        squares: The sum of the squares of the residual.
        total: The total, (N,).
    """
    return 0.0 < squares <= LARGE_RESIDUAL**2 * total.dot(total).item()


def drop_rounding(residual: Tensor, values: Sequence[Tensor]) -> None:
    """Set to zero what is no more than the rounding of a sum.

    Args:
        residual: The total less the components, (N,), changed in place.
        values: The components, (N,) each.
    """
    rounding = torch.stack(list(values)).abs_().amax(0).mul_(_ROUNDING)
    residual.masked_fill_(residual.abs() <= rounding, 0.0)
