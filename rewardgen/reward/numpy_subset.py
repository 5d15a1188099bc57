"""What `numpy` is in a reward: a small, pure subset over torch tensors, on whatever device they are.

Real numpy cannot be reached from a reward. Names and meanings are numpy's, with one exception: envs lie along the
first axis, so a reduction without an axis, which would mix them, is an error that says so. Numbers stay numbers, and
`float` is single precision, as all inputs are.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from rewardgen.reward.growth import leaves
from rewardgen.reward.vocabulary import NUMPY_ELEMENTWISE, NUMPY_RENAMED

_Function = Callable[..., Any]
_DTYPES: dict[Any, torch.dtype | None] = {None: None, float: torch.float32, int: torch.int64, bool: torch.bool}


def _unmixed(name: str, value: Any, mixes: bool) -> Any:
    if mixes:
        raise ValueError(f"numpy's `{name}` without an axis would mix the envs: pass `axis=-1`")
    return value


def _along(name: str, function: _Function, value: Any, axis: int | None) -> Tensor:
    return function(_unmixed(name, value, axis is None), axis)


def _dtype(named: Any) -> torch.dtype | None:
    if isinstance(named, torch.dtype):
        return named
    if named not in _DTYPES:
        raise TypeError("numpy's `dtype` is `float`, `int`, `bool` or such as `np.float32`")
    return _DTYPES[named]


def _is_constant(value: Any) -> bool:
    """Whether no tensor is in a number or in a list, so that nothing in it can belong to an env."""
    return all(map(_is_constant, value)) if isinstance(value, list | tuple) else isinstance(value, int | float)


def _array(value: Any, dtype: Any = None, device: torch.device | None = None) -> Tensor:
    """A new array of numbers, or of tensors, which then lie along its first axis."""
    leaves(value)  # raises where there are too many
    if isinstance(value, Tensor):
        made = value.clone()
    elif _is_constant(value):
        made = torch.tensor(value, device=device)
    else:
        made = _stack([each if isinstance(each, Tensor) else _array(each, None, device) for each in value])
    return made.to(_dtype(dtype) or made.dtype)


def _as_tensor(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else _array(value)


def _alike(arrays: Any) -> list[Tensor]:
    """Arrays of one dtype on one device."""
    device = next((each.device for each in arrays if isinstance(each, Tensor)), None)
    parts = [each if isinstance(each, Tensor) else _array(each, None, device) for each in arrays]
    dtype = functools.reduce(torch.promote_types, [each.dtype for each in parts])
    return [each.to(dtype) for each in parts]


# Elementwise.


def _operand(value: Any) -> Any:
    if isinstance(value, int | float):
        # Without axes, a tensor does not change the dtype of those that have some.
        return torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)
    return value if value is None else _as_tensor(value)


def _elementwise(function: _Function) -> _Function:
    def call(*operands: Any) -> Any:
        if all(type(each) is Tensor for each in operands):
            return function(*operands)
        result = function(*map(_operand, operands))
        return result.item() if all(each is None or isinstance(each, int | float) for each in operands) else result

    return call


def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    return _elementwise(torch.clamp)(a, a_min if min is None else min, a_max if max is None else max)


def _isclose(x: Tensor, y: Tensor, rtol: float, atol: float) -> Tensor:
    return (x == y) | ((x - y).abs() <= atol + rtol * y.abs())


def _round(x: Tensor, decimals: int) -> Tensor:
    return torch.round(x, decimals=decimals) if x.is_floating_point() else x.clone()


_where = _elementwise(lambda condition, x, y: torch.where(condition != 0, x, y))


def _select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0.0) -> Any:
    if len(condlist) == 0:  # as in numpy; without a choice, the result would be the default itself, not a copy
        raise ValueError("numpy's `select` with an empty list of conditions is not possible")
    pairs = reversed(list(zip(condlist, choicelist, strict=True)))
    return functools.reduce(lambda result, pair: _where(*pair, result), pairs, default)


def _interp(x: Any, xp: Sequence[float], fp: Sequence[float]) -> Tensor:
    value = _operand(x)
    points, values = (torch.as_tensor(each, dtype=value.dtype, device=value.device) for each in (xp, fp))
    right = torch.searchsorted(points, value.contiguous()).clamp(1, len(points) - 1)
    x0, x1, y0, y1 = points[right - 1], points[right], values[right - 1], values[right]
    return y0 + ((value - x0) / (x1 - x0)).clamp(0.0, 1.0) * (y1 - y0)


# Over the parts of each env, never over the envs.


def _reduction(name: str, function: Callable[[Tensor, int, bool], Tensor]) -> _Function:
    """A reduction of torch over one axis; several are laid in a row."""

    def call(a: Any, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Any:
        x = _as_tensor(a)
        if axis is None or axis == ():
            constant = _is_constant(a)
            reduced = function(_unmixed(name, x, x.ndim > 0 and not constant).reshape(-1), 0, False)
            return reduced.item() if constant else reduced
        if isinstance(axis, int):
            return function(x, axis, keepdims)
        places = sorted(each % x.ndim for each in axis)
        reduced = function(torch.movedim(x, places, list(range(-len(places), 0))).flatten(-len(places)), -1, False)
        return functools.reduce(torch.unsqueeze, places if keepdims else (), reduced)

    return call


def _of_floats(function: _Function) -> Callable[[Tensor, int, bool], Tensor]:
    return lambda x, axis, keepdims: function(x if x.is_floating_point() else x.float(), dim=axis, keepdim=keepdims)


def _median(x: Tensor, axis: int, keepdims: bool) -> Tensor:
    ordered, size = torch.sort(x, axis).values, x.shape[axis]
    return ordered.narrow(axis, (size - 1) // 2, 2 - size % 2).mean(axis, keepdims)


def _norm(x: Any, ord: Any = None, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Any:
    norm = functools.partial(torch.linalg.vector_norm, ord=2 if ord is None else ord)
    return _reduction("norm", _of_floats(norm))(x, axis, keepdims)


def _dot(a: Any, b: Any) -> Tensor:
    """The vectors along the last axis of `a` times the constant vector or matrix `b`."""
    left, right = _alike([a, b])
    if left.ndim < 2:
        raise ValueError("numpy's `dot` of two vectors would mix the envs: write `np.sum(a * b, axis=-1)`")
    return torch.matmul(left, right)


# Made and assembled.


def _stack(arrays: Any, axis: int = 0) -> Tensor:
    parts = _alike(arrays)
    shape = max(parts, key=lambda each: each.ndim).shape
    return torch.stack([each if each.ndim else each.expand(shape) for each in parts], axis)


def _copy(a: Any) -> Any:
    """Of a dict or list, too."""
    return a.clone() if isinstance(a, Tensor) else a if isinstance(a, int | float) else a.copy()


def _sizes(shape: int | Sequence[int]) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


FUNCTIONS: dict[str, _Function] = {
    **{name: _elementwise(getattr(torch, name)) for name in NUMPY_ELEMENTWISE},
    **{name: _elementwise(getattr(torch, other)) for name, other in NUMPY_RENAMED.items()},
    "heaviside": _elementwise(lambda x, at_zero: torch.where(x == 0, at_zero, (x > 0).to(x.dtype))),
    "cbrt": _elementwise(lambda x: torch.sign(x) * torch.abs(x) ** (1.0 / 3.0)),
    **{"where": _where, "clip": _clip, "select": _select, "interp": _interp},
    "isclose": lambda a, b, rtol=1e-5, atol=1e-8: _elementwise(lambda x, y: _isclose(x, y, rtol, atol))(a, b),
    "round": lambda a, decimals=0: _elementwise(lambda x: _round(x, decimals))(a),
    "nan_to_num": lambda x, copy=True, nan=0.0, posinf=None, neginf=None: _elementwise(
        lambda value: torch.nan_to_num(value, nan, posinf, neginf)
    )(x),
    **{
        name: _reduction(name, function)
        for name, function in {
            **{"sum": torch.sum, "mean": _of_floats(torch.mean), "prod": torch.prod, "median": _median},
            **{"max": torch.amax, "amax": torch.amax, "min": torch.amin, "amin": torch.amin},
            **{"argmax": torch.argmax, "argmin": torch.argmin},
            "std": lambda x, axis, keepdims: torch.std(x, axis, correction=0, keepdim=keepdims),
            "var": lambda x, axis, keepdims: torch.var(x, axis, correction=0, keepdim=keepdims),
            "any": lambda x, axis, keepdims: torch.any(x != 0, axis, keepdims),
            "all": lambda x, axis, keepdims: torch.all(x != 0, axis, keepdims),
            "count_nonzero": lambda x, axis, keepdims: torch.sum(x != 0, axis, keepdims),
        }.items()
    },
    "linalg.norm": _norm,
    "cumsum": lambda a, axis=None: _along("cumsum", torch.cumsum, _as_tensor(a), axis),
    "cumprod": lambda a, axis=None: _along("cumprod", torch.cumprod, _as_tensor(a), axis),
    "diff": lambda a, n=1, axis=-1: torch.diff(_unmixed("diff", a, a.ndim < 2), n, axis),
    "sort": lambda a, axis=-1: torch.sort(_unmixed("sort", a, a.ndim < 2), axis).values,
    "concatenate": lambda arrays, axis=None: _along("concatenate", torch.cat, _alike(arrays), axis),
    "dot": _dot,
    "cross": lambda a, b, axis=-1: torch.linalg.cross(*torch.broadcast_tensors(*_alike([a, b])), dim=axis),
    **{"stack": _stack, "copy": _copy, "astype": _array},
    "column_stack": lambda tup: torch.cat([x if x.ndim > 1 else x.unsqueeze(-1) for x in _alike(tup)], -1),
    "zeros_like": lambda a, dtype=None: torch.zeros_like(_as_tensor(a), dtype=_dtype(dtype)),
    "ones_like": lambda a, dtype=None: torch.ones_like(_as_tensor(a), dtype=_dtype(dtype)),
    "full_like": lambda a, fill_value, dtype=None: torch.full_like(_as_tensor(a), fill_value, dtype=_dtype(dtype)),
    "squeeze": lambda a, axis: torch.squeeze(a, axis),
    "expand_dims": lambda a, axis: torch.unsqueeze(a, axis),
    "reshape": lambda a, shape: torch.reshape(a, _sizes(shape)),
}
"""The functions that need no device, by their name below `numpy`."""

VALUES: dict[str, Any] = {
    **{"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None, "bool_": torch.bool},
    **{name: getattr(torch, name) for name in ("float32", "float64", "int32", "int64")},
}
"""The names below `numpy` that are values."""


def numpy_names(device: Callable[[], torch.device]) -> dict[str, Any]:
    """All names below `numpy`, for one program.

    Args:
        device: Tells where the inputs of the running call are; what is made of numbers alone is made there.
    """

    def array(object: Any, dtype: Any = None) -> Tensor:
        return _array(object, dtype, device())

    def full(shape: int | Sequence[int], fill_value: float, dtype: Any = None) -> Tensor:
        return torch.full(_sizes(shape), fill_value, dtype=_dtype(dtype), device=device())

    return {
        **FUNCTIONS,
        **VALUES,
        **{"array": array, "asarray": array, "full": full},
        "zeros": lambda shape, dtype=float: full(shape, 0.0, dtype),
        "ones": lambda shape, dtype=float: full(shape, 1.0, dtype),
        "arange": lambda *limits, dtype=None: torch.arange(*limits, dtype=_dtype(dtype), device=device()),
        "eye": lambda N: torch.eye(N, device=device()),  # noqa: N803
        "linspace": lambda start, stop, num=50: torch.linspace(start, stop, num, device=device()),
    }
