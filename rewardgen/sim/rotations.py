"""Uprightness and heading of an orientation, a quaternion (w, x, y, z), (N, 4), of any length but zero."""

from __future__ import annotations

import torch
from torch import Tensor


def upright(quaternion: Tensor) -> Tensor:
    """Cosine of the angle between a body's own z axis and the world's, (N,): 1 upright, -1 upside down."""
    squares = quaternion.square()
    return 1.0 - 2.0 * (squares[:, 1] + squares[:, 2]) / squares.sum(1)


def heading(quaternion: Tensor) -> Tensor:
    """Angle of a body's own x axis about the world's z axis, (N,) [rad]: 0 along +x, positive to the left."""
    w, x, y, z = quaternion.unbind(1)
    return torch.atan2(2.0 * (w * z + x * y), w * w + x * x - y * y - z * z)
