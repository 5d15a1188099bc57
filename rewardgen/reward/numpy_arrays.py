"""Making and joining arrays, for the subset of numpy that rewards use."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

Number = bool | int | float

_DTYPES: dict[Any, torch.dtype] = {float: torch.float32, int: torch.int64, bool: torch.bool}


class NoAxisError(ValueError):
    """A reduction that would mix worlds."""

    def __init__(self, name: str) -> None:
        super().__init__(f"numpy's `{name}` without an axis would mix the worlds: pass `axis=-1`")


def array(value: Any, dtype: Any = None, device: torch.device | None = None) -> Tensor:
    """A new array of numbers, or of tensors, which then lie along its first axis."""
    if isinstance(value, Tensor):
        return value.to(to_dtype(dtype) or value.dtype, copy=True)
    if is_constant(value):
        made = torch.tensor(value, device=device)
        return made.to(to_dtype(dtype) or made.dtype)
    return stack([each if isinstance(each, Tensor) else array(each, None, device) for each in value], dtype=dtype)


def stack(arrays: Sequence[Any], axis: int = 0, dtype: Any = None) -> Tensor:
    """Arrays along a new axis."""
    parts = torch.broadcast_tensors(*alike(arrays))
    made = torch.stack(parts, axis)
    return made.to(to_dtype(dtype) or made.dtype)


def concatenate(arrays: Sequence[Any], axis: int | None = None) -> Tensor:
    """Arrays joined along an axis."""
    if axis is None:
        raise NoAxisError("concatenate")
    parts = alike(arrays)
    return torch.cat(parts, axis)


def alike(arrays: Sequence[Any]) -> list[Tensor]:
    """Arrays of one dtype on one device."""
    if isinstance(arrays, Tensor):
        return list(arrays.unbind(0))
    like = next((each for each in arrays if isinstance(each, Tensor)), None)
    device = None if like is None else like.device
    parts = [each if isinstance(each, Tensor) else array(each, None, device) for each in arrays]
    dtype = functools.reduce(torch.promote_types, [each.dtype for each in parts])
    return [each.to(dtype) for each in parts]


def gathered(values: Any) -> Tensor:
    """A list of terms as one tensor, the terms along its first axis."""
    return values if isinstance(values, Tensor) else array(values)


def is_constant(values: Any) -> bool:
    """Whether no tensor is in a number or in a list, so that nothing in it can belong to a world."""
    if isinstance(values, list | tuple):
        return all(is_constant(each) for each in values)
    return isinstance(values, Number)


def to_dtype(dtype: Any) -> torch.dtype | None:
    """The dtype that a reward names; `float` is single precision, as all inputs are."""
    if dtype is None or isinstance(dtype, torch.dtype):
        return dtype
    if dtype not in _DTYPES:
        raise TypeError("numpy's `dtype` is `float`, `int`, `bool` or such as `np.float32`")
    return _DTYPES[dtype]
