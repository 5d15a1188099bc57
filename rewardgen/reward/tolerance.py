"""Reward primitive of the DeepMind Control Suite for torch tensors, in scope of every generated reward."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

BOTH_BOUNDS = "tolerance: both bounds are given as one argument"


def tolerance(
    x: Tensor,
    lower: float | Tensor = 0.0,
    upper: float | Tensor = 0.0,
    margin: float | Tensor = 0.0,
    sigmoid: str = "gaussian",
    value_at_margin: float = 0.1,
) -> Tensor:
    """1 inside [lower, upper], falling to `value_at_margin` at a distance of `margin` outside.

    Same meaning as `dm_control.utils.rewards.tolerance` (Tassa et al. 2018, arXiv:1801.00690), whose `bounds` are
    `lower` and `upper` here.

    Args:
        x: Any shape.
        lower: Lower bound, in the unit of x.
        upper: Upper bound, in the unit of x.
        margin: Distance at which the value is `value_at_margin`, in the unit of x; 0 for a hard edge.
        sigmoid: `gaussian`, `linear`, `hyperbolic`, `long_tail`, `reciprocal`, `cosine`, `quadratic`, `tanh_squared`.
        value_at_margin: Between 0 and 1; 0 is allowed for `linear`, `cosine` and `quadratic`.

    Returns:
        Values in [0, 1], the shape of x.

    Raises:
        TypeError: Both bounds in one argument, as dm_control has them.
        ValueError: Bounds in the wrong order, a negative margin, an unknown sigmoid, or `value_at_margin` out of range.
    """
    if isinstance(lower, tuple | list):
        raise TypeError(BOTH_BOUNDS)
    _check(lower, upper, margin, sigmoid, value_at_margin)
    below, above = lower - x, x - upper
    outside = torch.clamp(torch.maximum(below, above), min=0.0)
    inside = outside <= 0.0
    if isinstance(margin, Tensor):
        soft = _SIGMOIDS[sigmoid](outside / margin.clamp(min=torch.finfo(margin.dtype).tiny), value_at_margin)
        soft = torch.where(margin > 0.0, soft, torch.zeros_like(soft))
    elif margin > 0.0:
        soft = _SIGMOIDS[sigmoid](outside / margin, value_at_margin)
    else:
        soft = torch.zeros_like(outside)
    return torch.where(inside, torch.ones_like(soft), soft)


def _check(
    lower: float | Tensor, upper: float | Tensor, margin: float | Tensor, sigmoid: str, value_at_margin: float
) -> None:
    if not isinstance(lower, Tensor) and not isinstance(upper, Tensor) and lower > upper:
        raise ValueError(f"tolerance: lower ({lower}) is above upper ({upper})")
    if not isinstance(margin, Tensor) and margin < 0.0:
        raise ValueError(f"tolerance: margin ({margin}) is negative")
    if sigmoid not in _SIGMOIDS:
        raise ValueError(f"tolerance: unknown sigmoid `{sigmoid}`; it is one of {', '.join(_SIGMOIDS)}")
    lowest_allowed = value_at_margin >= 0.0 if sigmoid in _REACHES_ZERO else value_at_margin > 0.0
    if not (lowest_allowed and value_at_margin < 1.0):
        raise ValueError(f"tolerance: value_at_margin ({value_at_margin}) is out of range for `{sigmoid}`")


_SIGMOIDS: dict[str, Callable[[Tensor, float], Tensor]] = {
    "gaussian": lambda d, value: torch.exp(math.log(value) * d.square()),
    "linear": lambda d, value: torch.clamp(1.0 - d * (1.0 - value), min=0.0),
    "hyperbolic": lambda d, value: 1.0 / torch.cosh(d * math.acosh(1.0 / value)),
    "long_tail": lambda d, value: 1.0 / (d.square() * (1.0 / value - 1.0) + 1.0),
    "reciprocal": lambda d, value: 1.0 / (d.abs() * (1.0 / value - 1.0) + 1.0),
    "cosine": lambda d, value: _cosine(d * (math.acos(2.0 * value - 1.0) / math.pi)),
    "quadratic": lambda d, value: torch.clamp(1.0 - d.square() * (1.0 - value), min=0.0),
    "tanh_squared": lambda d, value: 1.0 - torch.tanh(d * math.atanh(math.sqrt(1.0 - value))).square(),
}
"""Name to a function of the distance [margins] and the value at distance 1."""
_REACHES_ZERO = ("cosine", "linear", "quadratic")


def _cosine(scaled: Tensor) -> Tensor:
    return torch.where(scaled.abs() < 1.0, (1.0 + torch.cos(math.pi * scaled)) / 2.0, 0.0)
