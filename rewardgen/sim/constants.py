"""Numbers of a model or a task on the device of a simulation, sent there once: sending makes the host wait."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Numbers = float | Sequence[float] | NDArray[np.generic]


def constant(values: Numbers, device: torch.device) -> Tensor:
    """A new tensor of numbers: float64, int64 where all are whole by their type, or bool."""
    numbers = np.ascontiguousarray(values)
    kind = {"f": np.float64, "b": np.bool_}.get(numbers.dtype.kind, np.int64)
    return _sent(numbers.astype(kind).tobytes(), kind, np.shape(values), device).clone()


@lru_cache(maxsize=1024)
def _sent(content: bytes, kind: type, shape: tuple[int, ...], device: torch.device) -> Tensor:
    return torch.from_numpy(np.frombuffer(content, kind).reshape(shape).copy()).to(device)
