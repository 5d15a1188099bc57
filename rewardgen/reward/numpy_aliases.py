"""Aliases of torch functions under their names in numpy. Real numpy is out of reach of rewards.

Numbers stay numbers, and `float` is single precision, as all inputs are.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from rewardgen.reward.vocabulary import NUMPY_ELEMENTWISE, NUMPY_RENAMED, NUMPY_VALUES

_DTYPES = {float: torch.float32, int: torch.int64, bool: torch.bool}


def _array(value: Any, dtype: Any = None) -> Tensor:
    """Make a tensor from a number, from lists of numbers, or from tensors, stacked along the first axis."""
    if isinstance(value, list | tuple) and any(isinstance(part, Tensor) for part in value):
        value = torch.stack(tuple(value))
    return torch.as_tensor(value, dtype=_DTYPES.get(dtype, dtype))


def _operand(value: Any) -> Any:
    # A tensor without axes does not change the dtype of other operands.
    return torch.tensor(value, dtype=torch.float64) if isinstance(value, float) else _array(value)


def _elementwise(function: Callable[..., Tensor]) -> Callable[..., Any]:
    """Accept numbers and tensors; for numbers alone, return a number."""

    def call(*operands: Any) -> Any:
        result = function(*map(_operand, operands))
        return result.item() if all(isinstance(operand, int | float) for operand in operands) else result

    return call


def _reduction(function: Callable[..., Tensor], **fixed: Any) -> Callable[..., Tensor]:
    """Reduce over an axis, by default over all elements."""

    def call(a: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
        x = _array(a)
        x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
        return function(x, dim=axis, keepdim=keepdims, **fixed)

    return call


def _mean(x: Tensor, dim: Any, keepdim: bool) -> Tensor:
    return torch.mean(x if x.is_floating_point() else x.float(), dim=dim, keepdim=keepdim)


def _norm(x: Tensor, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    return torch.linalg.vector_norm(x, 2 if ord is None else ord, dim=axis, keepdim=keepdims)


def _clip(a: Any, a_min: Any = None, a_max: Any = None) -> Any:
    bounds = [None if bound is None else _operand(bound) for bound in (a_min, a_max)]
    clipped = torch.clamp(_operand(a), *bounds)
    return clipped.item() if isinstance(a, int | float) else clipped


NUMPY = SimpleNamespace(
    **{name: _elementwise(getattr(torch, name)) for name in NUMPY_ELEMENTWISE},
    **{name: _elementwise(getattr(torch, alias)) for name, alias in NUMPY_RENAMED.items()},
    **{name: getattr(torch, alias) for name, alias in NUMPY_VALUES.items()},
    newaxis=None,
    nan_to_num=lambda x, nan=0.0, posinf=None, neginf=None: torch.nan_to_num(_operand(x), nan, posinf, neginf),
    where=_elementwise(lambda condition, x, y: torch.where(condition != 0, x, y)),
    clip=_clip,
    sum=_reduction(torch.sum),
    prod=_reduction(torch.prod),
    mean=_reduction(_mean),
    max=_reduction(torch.amax),
    amax=_reduction(torch.amax),
    min=_reduction(torch.amin),
    amin=_reduction(torch.amin),
    std=_reduction(torch.std, correction=0),
    var=_reduction(torch.var, correction=0),
    any=_reduction(torch.any),
    all=_reduction(torch.all),
    linalg=SimpleNamespace(norm=_norm),
    array=_array,
    asarray=_array,
    zeros=lambda shape: torch.zeros(shape),
    ones=lambda shape: torch.ones(shape),
    zeros_like=lambda a: torch.zeros_like(a),
    ones_like=lambda a: torch.ones_like(a),
    stack=lambda arrays, axis=0: torch.stack(tuple(arrays), axis),
    concatenate=lambda arrays, axis=0: torch.cat(tuple(arrays), axis),
)
