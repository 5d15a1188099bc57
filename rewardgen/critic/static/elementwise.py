"""Values of functions that work on each entry by itself."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence

from rewardgen.critic.static import intervals
from rewardgen.critic.static.operators import power
from rewardgen.critic.static.shapes import broadcast
from rewardgen.critic.static.value import ANY, NON_NEGATIVE, UNIT, Interval, Span, Value, merged_inputs, number_value

IDENTITIES = frozenset(
    [
        "float",
        "double",
        "half",
        "to",
        "clone",
        "detach",
        "contiguous",
        "type_as",
        "as_tensor",
        "asarray",
        "astype",
        "copy",
        "long",
        "int",
        "positive",
    ]
)
"""Functions whose result is their argument, as far as anything here asks."""
CLAMPS = frozenset(["clamp", "clip", "clamp_min", "clamp_max"])
EXPONENTIALS = frozenset(["exp", "exp2", "expm1"])
EVEN = frozenset(["abs", "fabs", "absolute", "square", "cosh"])


def _softplus(x: float) -> float:
    return math.log1p(math.exp(x)) if x < 30.0 else x


def _sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x > -700.0 else 0.0


_RISING: dict[str, tuple[Callable[[float], float], Interval]] = {
    "exp": (math.exp, NON_NEGATIVE),
    "exp2": (lambda x: 2.0**x, NON_NEGATIVE),
    "expm1": (math.expm1, Interval(-1.0, math.inf)),
    "log": (math.log, ANY),
    "log2": (math.log2, ANY),
    "log10": (math.log10, ANY),
    "log1p": (math.log1p, ANY),
    "sqrt": (math.sqrt, NON_NEGATIVE),
    "tanh": (math.tanh, Interval(-1.0, 1.0)),
    "sigmoid": (_sigmoid, UNIT),
    "relu": (lambda x: max(x, 0.0), NON_NEGATIVE),
    "softplus": (_softplus, NON_NEGATIVE),
    "sign": (lambda x: math.copysign(1.0, x) if x else 0.0, Interval(-1.0, 1.0)),
    "atan": (math.atan, Interval(-math.pi / 2, math.pi / 2)),
    "arctan": (math.atan, Interval(-math.pi / 2, math.pi / 2)),
    "asin": (math.asin, Interval(-math.pi / 2, math.pi / 2)),
    "arcsin": (math.asin, Interval(-math.pi / 2, math.pi / 2)),
    "sinh": (math.sinh, ANY),
    "asinh": (math.asinh, ANY),
    "erf": (math.erf, Interval(-1.0, 1.0)),
    "floor": (math.floor, ANY),
    "ceil": (math.ceil, ANY),
    "round": (round, ANY),
    "deg2rad": (math.radians, ANY),
    "rad2deg": (math.degrees, ANY),
    "radians": (math.radians, ANY),
    "degrees": (math.degrees, ANY),
}
"""Functions that never fall, with the bounds of their values."""
_RISING["relu6"] = (lambda x: min(max(x, 0.0), 6.0), Interval(0.0, 6.0))
RISING = frozenset(_RISING) | {"elu", "leaky_relu", "celu", "selu", "logit", "cumsum", "softsign"}

_RANGES: dict[str, Interval] = {
    **dict.fromkeys(["sin", "cos", "softsign", "erf", "normalize"], Interval(-1.0, 1.0)),
    **dict.fromkeys(["acos", "arccos"], Interval(0.0, math.pi)),
    **dict.fromkeys(["atan2", "arctan2"], Interval(-math.pi, math.pi)),
    **dict.fromkeys(["hypot", "dist", "huber_loss", "smooth_l1_loss", "mse_loss", "l1_loss"], NON_NEGATIVE),
    **dict.fromkeys(["softmax", "hardsigmoid", "isclose", "isfinite", "isnan", "isinf"], UNIT),
    **dict.fromkeys(["tolerance", "logical_not", "bool", "heaviside", "not"], UNIT),
}
_MIDDLES: dict[str, Callable[[float], float]] = {"sin": math.sin, "cos": math.cos}


def elementwise(name: str, arguments: Sequence[Value], node: ast.AST) -> Value | None:
    """The value of a function of one or more tensors of the same shape; None if the function is not known.

    Args:
        name: The function, such as `exp`.
        arguments: What it is given.
        node: Where.
    """
    first = arguments[0] if arguments else None
    if first is None:
        return None
    if name in ("square", "pow", "float_power", "reciprocal", "rsqrt"):
        exponent = {"square": 2.0, "reciprocal": -1.0, "rsqrt": -0.5}.get(name)
        if exponent is None and len(arguments) < 2:
            return None
        return power(first, number_value(exponent) if exponent else arguments[1], node)
    if name in _RISING:
        return _rising(name, first, node)
    if name in EVEN:
        return _even(name, first, node)
    if name in _RANGES:
        return _ranged(name, arguments, node)
    return None


def clamped(value: Value, low: Value | None, high: Value | None, node: ast.AST) -> Value:
    """The value of `value.clamp(low, high)`; a bound may be absent."""
    name = "clamp"
    bounds, span = Interval(*value.bounds), value.span
    if low is not None and low.number is None and low.inputs:
        bounds = Interval(max(bounds.low, low.bounds.low), max(bounds.high, low.bounds.high))
    elif low is not None and low.number is not None:
        bounds, span = _limited(bounds, span, low.number, math.inf)
    if high is not None and high.number is not None:
        bounds, span = _limited(bounds, span, -math.inf, high.number)
    ends = [each if each is not None else number_value(None) for each in (low, high)]
    inputs = merged_inputs((value, *ends))
    return Value(name, (value, *ends), node, bounds, span, inputs, value.shape, unit=value.unit)


def extreme(name: str, a: Value, b: Value, node: ast.AST) -> Value:
    """The value of `maximum(a, b)` or `minimum(a, b)`."""
    choose = max if name == "maximum" else min
    bounds = Interval(choose(a.bounds.low, b.bounds.low), choose(a.bounds.high, b.bounds.high))
    span = Span(*(choose(x, y) for x, y in zip(a.span, b.span, strict=True))) if a.span and b.span else None
    return Value(name, (a, b), node, bounds, span, merged_inputs((a, b)), broadcast(a.shape, b.shape))


def chosen(condition: Value, a: Value, b: Value, node: ast.AST) -> Value:
    """The value of `where(condition, a, b)`."""
    values = (condition, a, b)
    shape = broadcast(broadcast(condition.shape, a.shape), b.shape)
    return Value("where", values, node, intervals.hull(a.bounds, b.bounds), None, merged_inputs(values), shape)


def _limited(bounds: Interval, span: Span | None, low: float, high: float) -> tuple[Interval, Span | None]:
    limited = Interval(*(min(max(each, low), high) for each in bounds))
    return limited, Span(*(min(max(each, low), high) for each in span)) if span else None


def _rising(name: str, value: Value, node: ast.AST) -> Value:
    function, range_ = _RISING[name]
    bounds = _within(intervals.mapped(value.bounds, function), range_)
    span = None
    if value.span is not None:
        ends = _within(intervals.mapped(Interval(value.span.low, value.span.high), function), range_)
        middle = intervals.mapped(Interval(value.span.middle, value.span.middle), function)
        span = intervals.span_of(ends, middle.low)
    return Value(name, (value,), node, bounds, span, value.inputs, value.shape)


def _even(name: str, value: Value, node: ast.AST) -> Value:
    if name == "cosh":
        return Value(name, (value,), node, Interval(1.0, math.inf), None, value.inputs, value.shape)
    span = None
    if value.span is not None:
        ends = intervals.even(Interval(value.span.low, value.span.high))
        span = intervals.span_of(ends, abs(value.span.middle))
    bounds = intervals.even(value.bounds)
    return Value("abs", (value,), node, bounds, span, value.inputs, value.shape, unit=value.unit)


def _ranged(name: str, arguments: Sequence[Value], node: ast.AST) -> Value:
    shape = arguments[0].shape
    for other in arguments[1:] if name != "tolerance" else ():
        shape = broadcast(shape, other.shape)
    first, span = arguments[0], None
    if name in _MIDDLES and first.span is not None and math.isfinite(first.span.middle):
        span = Span(-1.0, _MIDDLES[name](first.span.middle), 1.0)
    return Value(name, tuple(arguments), node, _RANGES[name], span, merged_inputs(arguments), shape)


def _within(interval: Interval, limits: Interval) -> Interval:
    return Interval(min(max(interval.low, limits.low), limits.high), max(min(interval.high, limits.high), limits.low))
