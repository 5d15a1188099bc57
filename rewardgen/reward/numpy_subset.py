"""What `numpy` is in a reward: a small, pure subset over torch tensors, on whatever device they are.

Real numpy cannot be reached from a reward. Names and meanings are numpy's, with one exception: worlds lie along the
first axis, so a reduction without an axis, which would mix them, is an error that says so. Numbers stay numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from rewardgen.reward.numpy_arrays import Number, alike, array, concatenate, gathered, stack, to_dtype
from rewardgen.reward.numpy_reductions import REDUCTIONS, along, diff, norm_of_order, sort

# Elementwise.


def _operand(value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if isinstance(value, Number):
        # Without axes, a tensor does not change the dtype of those that have some.
        return torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)
    return array(value)


def _elementwise(function: Callable[..., Tensor]) -> Callable[..., Any]:
    def call(*operands: Any) -> Any:
        for each in operands:
            if type(each) is not Tensor:
                return mixed(operands)
        return function(*operands)

    def mixed(operands: Sequence[Any]) -> Any:
        result = function(*[_operand(each) for each in operands])
        return result.item() if all(isinstance(each, Number) for each in operands) else result

    return call


def _truth(value: Tensor) -> Tensor:
    return value if value.dtype == torch.bool else value != 0


def _isclose(a: Tensor, b: Tensor, rtol: float, atol: float) -> Tensor:
    return (a == b) | ((a - b).abs() <= atol + rtol * b.abs())


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8) -> Any:
    """Whether values are equal up to a tolerance."""
    return _elementwise(lambda x, y: _isclose(x, y, rtol, atol))(a, b)


def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """Values no lower than `a_min` and no higher than `a_max`."""
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    if type(a) is Tensor and a.is_floating_point() and type(low) is float and type(high) is float:
        return torch.clamp(a, low, high)
    raised = a if low is None else maximum(a, low)
    return copy(raised) if high is None else minimum(raised, high)


def round(a: Any, decimals: int = 0) -> Any:
    """To so many decimals; halves go to the even neighbour."""
    return _elementwise(lambda x: torch.round(x, decimals=decimals) if x.is_floating_point() else x.clone())(a)


def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """Values with NaN and infinities replaced."""
    return _elementwise(lambda value: torch.nan_to_num(value, nan, posinf, neginf))(x)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0.0) -> Tensor:
    """Of the choices, the first whose condition holds."""
    if len(condlist) == 0:  # as in numpy; without a choice, the result would be the default itself, not a copy
        raise ValueError("numpy's `select` with an empty list of conditions is not possible")
    result = default
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        result = where(condition, choice, result)
    return result


def interp(x: Any, xp: Sequence[float], fp: Sequence[float]) -> Tensor:
    """Linear interpolation between the points (xp, fp), constant beyond them."""
    value = _operand(x)
    points, values = (torch.as_tensor(each, dtype=value.dtype, device=value.device) for each in (xp, fp))
    right = torch.searchsorted(points, value.contiguous()).clamp(1, len(points) - 1)
    x0, x1, y0, y1 = points[right - 1], points[right], values[right - 1], values[right]
    return y0 + ((value - x0) / (x1 - x0)).clamp(0.0, 1.0) * (y1 - y0)


where: Callable[..., Any] = _elementwise(lambda condition, x, y: torch.where(_truth(condition), x, y))
maximum: Callable[..., Any] = _elementwise(torch.maximum)
minimum: Callable[..., Any] = _elementwise(torch.minimum)


# Products of vectors.


def dot(a: Any, b: Any) -> Tensor:
    """The vectors along the last axis of `a` times the constant vector or matrix `b`."""
    left, right = alike([a, b])
    if left.ndim < 2:
        raise ValueError("numpy's `dot` of two vectors would mix the worlds: write `np.sum(a * b, axis=-1)`")
    return torch.matmul(left, right)


def cross(a: Any, b: Any, axis: int = -1) -> Tensor:
    """Cross product of the vectors along an axis."""
    return torch.linalg.cross(*torch.broadcast_tensors(*alike([a, b])), dim=axis)


# Made and assembled.


class _Makers:
    """Makes arrays where the inputs of a call are."""

    def __init__(self, device: Callable[[], torch.device]) -> None:
        self._device = device

    def _array(self, object: Any, dtype: Any = None) -> Tensor:
        return array(object, dtype, self._device())

    def _full(self, shape: int | Sequence[int], fill_value: float, dtype: Any = None) -> Tensor:
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        return torch.full(sizes, fill_value, dtype=to_dtype(dtype), device=self._device())

    def _zeros(self, shape: int | Sequence[int], dtype: Any = float) -> Tensor:
        return self._full(shape, 0.0, dtype)

    def _ones(self, shape: int | Sequence[int], dtype: Any = float) -> Tensor:
        return self._full(shape, 1.0, dtype)

    def _eye(self, N: int) -> Tensor:  # noqa: N803
        return torch.eye(N, device=self._device())

    def _arange(self, *limits: float, dtype: Any = None) -> Tensor:
        start, stop, step = (0, *limits, 1) if len(limits) == 1 else (*limits, 1)[:3]
        return torch.arange(start, stop, step, dtype=to_dtype(dtype), device=self._device())

    def _linspace(self, start: float, stop: float, num: int = 50) -> Tensor:
        return torch.linspace(start, stop, num, device=self._device())


def column_stack(tup: Sequence[Any]) -> Tensor:
    """Values per world as the columns of (N, k)."""
    return concatenate([each if each.ndim > 1 else each.unsqueeze(-1) for each in alike(tup)], -1)


def zeros_like(a: Any, dtype: Any = None) -> Tensor:
    """Zeros of the same shape."""
    return torch.zeros_like(gathered(a), dtype=to_dtype(dtype))


def ones_like(a: Any, dtype: Any = None) -> Tensor:
    """Ones of the same shape."""
    return torch.ones_like(gathered(a), dtype=to_dtype(dtype))


def full_like(a: Any, fill_value: float, dtype: Any = None) -> Tensor:
    """One value of the same shape."""
    return torch.full_like(gathered(a), fill_value, dtype=to_dtype(dtype))


def astype(x: Any, dtype: Any) -> Any:
    """A copy of another dtype; `float` is single precision, as all inputs are."""
    return array(x, dtype)


def copy(a: Any) -> Any:
    """A copy of an array, or of a dict or list."""
    if isinstance(a, Tensor):
        return a.clone()
    return a if isinstance(a, Number) else a.copy()


def squeeze(a: Tensor, axis: int) -> Tensor:
    """Without an axis of size one."""
    return torch.squeeze(a, axis)


def expand_dims(a: Tensor, axis: int) -> Tensor:
    """With one more axis."""
    return torch.unsqueeze(a, axis)


def reshape(a: Tensor, shape: int | Sequence[int]) -> Tensor:
    """In another shape."""
    return torch.reshape(a, (shape,) if isinstance(shape, int) else tuple(shape))


_SAME_NAME = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "square", "sin", "cos", "tan", "arcsin"),
    *("arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "sinc", "deg2rad", "rad2deg"),
    *("abs", "sign", "floor", "ceil", "trunc", "negative", "positive", "reciprocal", "isfinite", "isinf", "isnan"),
    *("add", "subtract", "multiply", "divide", "true_divide", "floor_divide", "remainder", "fmod", "arctan2"),
    *("fmax", "fmin", "hypot", "copysign", "logaddexp", "logaddexp2", "float_power", "equal"),
    *("not_equal", "greater", "greater_equal", "less", "less_equal"),
    *("logical_and", "logical_or", "logical_not", "logical_xor"),
)

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _elementwise(getattr(torch, "eq" if name == "equal" else name)) for name in _SAME_NAME},
    "absolute": _elementwise(torch.abs),
    "fabs": _elementwise(torch.abs),
    "power": _elementwise(torch.pow),
    "mod": _elementwise(torch.remainder),
    "radians": _elementwise(torch.deg2rad),
    "degrees": _elementwise(torch.rad2deg),
    "rint": _elementwise(torch.round),
    "heaviside": _elementwise(lambda x, at_zero: torch.where(x == 0, at_zero, (x > 0).to(x.dtype))),
    "cbrt": _elementwise(lambda x: torch.sign(x) * torch.abs(x) ** (1.0 / 3.0)),
    **{name: function for name, function in REDUCTIONS.items() if name != "norm"},
    "linalg.norm": norm_of_order,
    "cumsum": along("cumsum", torch.cumsum),
    "cumprod": along("cumprod", torch.cumprod),
    **{
        function.__name__: function
        for function in (isclose, clip, round, nan_to_num, select, interp, diff, sort, dot, cross)
    },
    **{function.__name__: function for function in (stack, concatenate, column_stack, zeros_like, ones_like)},
    **{function.__name__: function for function in (full_like, astype, copy, squeeze, expand_dims, reshape)},
    "where": where,
    "maximum": maximum,
    "minimum": minimum,
}
"""The functions that need no device, by their name below `numpy`."""

VALUES: dict[str, Any] = {
    "pi": math.pi,
    "e": math.e,
    "inf": math.inf,
    "nan": math.nan,
    "newaxis": None,
    "float32": torch.float32,
    "float64": torch.float64,
    "int32": torch.int32,
    "int64": torch.int64,
    "bool_": torch.bool,
}
"""The names below `numpy` that are values."""


def numpy_names(device: Callable[[], torch.device]) -> dict[str, Any]:
    """All names below `numpy`, for one program.

    Args:
        device: Tells where the inputs of the running call are; what is made of numbers alone is made there.
    """
    makers = _Makers(device)
    made = (makers._array, makers._zeros, makers._ones, makers._full, makers._arange, makers._linspace, makers._eye)
    by_name = {function.__name__.removeprefix("_"): function for function in made}
    return {**FUNCTIONS, **VALUES, **by_name, "asarray": makers._array}
