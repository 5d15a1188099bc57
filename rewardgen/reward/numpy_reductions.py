"""Reductions of the subset of numpy that rewards use: over the parts of each world, never over the worlds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rewardgen.reward.numpy_arrays import NoAxisError, gathered, is_constant

Axis = int | tuple[int, ...] | None


def _reduction(name: str, function: Callable[..., Tensor]) -> Callable[..., Any]:
    def call(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
        x = gathered(a)
        if axis is None or axis == ():
            if x.ndim and not is_constant(a):
                raise NoAxisError(name)
            axis = tuple(range(x.ndim))
            return function(x, axis, False).item() if is_constant(a) else function(x.reshape(1), (0,), False)
        return function(x, axis, keepdims)

    return call


def _mean(x: Tensor, axis: Axis, keepdims: bool) -> Tensor:
    return torch.mean(x if x.is_floating_point() else x.to(torch.float32), axis, keepdims)


def _norm(x: Tensor, axis: Axis, keepdims: bool) -> Tensor:
    return torch.linalg.vector_norm(x if x.is_floating_point() else x.to(torch.float32), 2, axis, keepdims)


def _over_one_axis(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """For torch functions that take one axis: along several, their values are laid in a row."""

    def call(x: Tensor, axis: int | tuple[int, ...], keepdims: bool) -> Tensor:
        if isinstance(axis, int):
            return function(x, axis, keepdims)
        places = sorted(each % x.ndim for each in axis)
        moved = torch.movedim(x, places, list(range(-len(places), 0))).flatten(-len(places))
        reduced = function(moved, -1, False)
        for place in places if keepdims else ():
            reduced = reduced.unsqueeze(place)
        return reduced

    return call


def _median(x: Tensor, axis: int, keepdims: bool) -> Tensor:
    ordered = torch.sort(x, axis).values
    middle, size = x.shape[axis] // 2, x.shape[axis]
    pair = ordered.narrow(axis, middle - 1 + size % 2, 2 - size % 2)
    return pair.mean(axis, keepdims)


def norm_of_order(x: Any, ord: Any = None, axis: int | None = None, keepdims: bool = False) -> Any:
    """Norm of the vectors along an axis."""
    if axis is None:
        return REDUCTIONS["norm"](x, axis, keepdims)
    return torch.linalg.vector_norm(gathered(x), 2 if ord is None else ord, axis, keepdims)


def along(name: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A torch function that keeps the shape, with numpy's meaning of its axis."""

    def call(a: Any, axis: int | None = None) -> Tensor:
        if axis is None:
            raise NoAxisError(name)
        return function(gathered(a), axis)

    return call


def diff(a: Tensor, n: int = 1, axis: int = -1) -> Tensor:
    """Differences of neighbours along an axis."""
    if a.ndim < 2:
        raise NoAxisError("diff")
    return torch.diff(a, n, axis)


def sort(a: Tensor, axis: int = -1) -> Tensor:
    """Values in order along an axis."""
    if a.ndim < 2:
        raise NoAxisError("sort")
    return torch.sort(a, axis).values


REDUCTIONS: dict[str, Callable[..., Any]] = {
    name: _reduction(name, function)
    for name, function in {
        "sum": torch.sum,
        "mean": _mean,
        "prod": _over_one_axis(torch.prod),
        "max": torch.amax,
        "amax": torch.amax,
        "min": torch.amin,
        "amin": torch.amin,
        "std": lambda x, axis, keepdims: torch.std(x, axis, correction=0, keepdim=keepdims),
        "var": lambda x, axis, keepdims: torch.var(x, axis, correction=0, keepdim=keepdims),
        "median": _over_one_axis(_median),
        "any": _over_one_axis(lambda x, axis, keepdims: torch.any(x != 0, axis, keepdims)),
        "all": _over_one_axis(lambda x, axis, keepdims: torch.all(x != 0, axis, keepdims)),
        "argmax": _over_one_axis(torch.argmax),
        "argmin": _over_one_axis(torch.argmin),
        "count_nonzero": lambda x, axis, keepdims: torch.sum(x != 0, axis, keepdims),
        "norm": _norm,
    }.items()
}
