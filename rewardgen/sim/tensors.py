"""Small operations on batched tensors: constants on a device, rows of some envs, orientations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Numbers = float | Sequence[float] | NDArray[np.generic]


def constant(values: Numbers, device: torch.device) -> Tensor:
    """Return numbers as a tensor: float64, int64 if all are whole by their type, or bool.

    The numbers are sent to the device once, because sending makes the host wait for a GPU.
    """
    numbers = np.ascontiguousarray(values)
    kind = {"f": np.float64, "b": np.bool_}.get(numbers.dtype.kind, np.int64)
    return _sent(numbers.astype(kind).tobytes(), kind, np.shape(values), device).clone()


@lru_cache(maxsize=1024)
def _sent(content: bytes, kind: type, shape: tuple[int, ...], device: torch.device) -> Tensor:
    return torch.from_numpy(np.frombuffer(content, kind).reshape(shape).copy()).to(device)


def rows_of(values: Tensor, which: Tensor) -> Tensor:
    """Rows of values (N, ...): (n, ...) for ids (n,) int64; all rows for a mask (N,) bool, so that no GPU must wait."""
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
    """Reshape a mask (N,) to broadcast over the further axes of a tensor (N, ...)."""
    return mask.view(-1, *[1] * (like.dim() - 1))


def upright(quaternion: Tensor) -> Tensor:
    """Cosine of the angle between a body's own z axis and the world's, (N,): 1 upright, -1 upside down.

    Takes orientations (w, x, y, z), (N, 4), of any length but zero.
    """
    squares = quaternion.square()
    return 1.0 - 2.0 * (squares[:, 1] + squares[:, 2]) / squares.sum(1)


def heading(quaternion: Tensor) -> Tensor:
    """Angle of a body's own x axis about the world's z axis, (N,) [rad]: 0 along +x, positive to the left.

    Takes orientations as `upright`.
    """
    w, x, y, z = quaternion.unbind(1)
    return torch.atan2(2.0 * (w * z + x * y), w * w + x * x - y * y - z * z)
