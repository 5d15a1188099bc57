"""Values of arithmetic, comparisons and joined branches."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any

from rewardgen.critic.static import intervals
from rewardgen.critic.static.shapes import broadcast
from rewardgen.critic.static.value import (
    MAX_LISTED,
    ONE,
    UNIT,
    UNKNOWN,
    Interval,
    Items,
    Span,
    Value,
    merged_inputs,
    number_value,
)

_NAMES: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Pow: "power",
    ast.Mod: "remainder",
    ast.FloorDiv: "floor_divide",
    ast.MatMult: "matmul",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
}
COMPARISONS = frozenset(["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"])
LOGICAL = frozenset(["and", "or", "xor", "not"])
MAX_JOINED_DEPTH = 2
"""A total with a dict of components is followed."""
_MAX_TERMS = 1000
"""Of a sum; a longer one is a term of its own."""
_MAX_BITS = 512
"""Of an integer that is computed."""


def operator_name(node: ast.AST) -> str:
    """The name of an operator, as the function of torch is called that does the same."""
    return _NAMES.get(type(node), type(node).__name__.lower())


def binary(name: str, left: Value, right: Value, node: ast.AST | None) -> Value:
    """The value of `left op right`.

    Args:
        name: As by `operator_name`.
        left: The left operand.
        right: The right operand.
        node: Where.
    """
    folded = _folded(name, left, right, node)
    if folded is not None:
        return folded
    if name == "power":
        return power(left, right, node)
    rule = _RULES.get(name)
    inputs = merged_inputs((left, right))
    shape = broadcast(left.shape, right.shape)
    if name in COMPARISONS or name in LOGICAL:
        return Value(name, (left, right), node, _truth(name, left, right), inputs=inputs, shape=shape)
    if rule is None:
        return Value(name, (left, right), node, inputs=inputs, shape=shape if name != "matmul" else None)
    if name == "multiply":
        # `c * x * x` is read from the left.
        while left.op == "multiply" and left.operands[1].key == right.key:
            left, right = left.operands[0], power(right, number_value(2.0), node)
        square = _square(left, right, node)
        if square is not None:
            return square
        inputs, shape = merged_inputs((left, right)), broadcast(left.shape, right.shape)
    if name == "subtract" and left.key == right.key and left.inputs:
        zero, span = Interval(0.0, 0.0), Span(0.0, 0.0, 0.0)
        return Value("nothing", (), node, zero, span, shape=shape, key=("nothing", left.key))
    keeps = name in ("add", "subtract") and left.unit == right.unit
    unit = left.unit if keeps or (name in ("add", "subtract") and not right.unit) else ""
    return Value(
        name,
        (left, right),
        node,
        rule(left.bounds, right.bounds),
        _spanned(rule, _ON_NUMBERS[name], left, right),
        inputs,
        shape,
        terms=_terms(name, left, right),
        unit=unit,
    )


def _square(left: Value, right: Value, node: ast.AST | None) -> Value | None:
    """The value of `x * x` and of `-x * x`."""
    if left.key == right.key:
        return power(left, number_value(2.0), node)
    if left.op == "negative" and left.operands[0].key == right.key:
        return negative(power(right, number_value(2.0), node), node)
    return None


def power(base: Value, exponent: Value, node: ast.AST | None) -> Value:
    """The value of `base ** exponent`."""
    inputs, shape = merged_inputs((base, exponent)), broadcast(base.shape, exponent.shape)
    bounds, span, number = intervals.ANY, None, exponent.number
    if number is not None:
        bounds = intervals.raised(base.bounds, number)
        if base.span is not None:
            ends = intervals.raised(Interval(base.span.low, base.span.high), number)
            span = intervals.span_of(ends, _power(base.span.middle, number))
    elif base.number is not None and base.number > 0.0:
        # A positive number to a variable power is an exponential.
        rate = math.log(base.number)
        exponents = intervals.multiplied(exponent.bounds, Interval(rate, rate))
        bounds = intervals.mapped(exponents, math.exp)
        bounds = Interval(max(bounds.low, 0.0), bounds.high)
    elif base.bounds.low >= 0.0:
        bounds = Interval(0.0, math.inf)
    return Value("power", (base, exponent), node, bounds, span, inputs, shape)


def negative(value: Value, node: ast.AST | None) -> Value:
    """The value of `-value`."""
    if isinstance(value.constant, bool | int | float):
        return number_value(-value.constant, node)
    span = Span(-value.span.high, -value.span.middle, -value.span.low) if value.span else None
    terms = {key: -weight for key, weight in value.terms.items()}
    return Value(
        "negative",
        (value,),
        node,
        intervals.negated(value.bounds),
        span,
        value.inputs,
        value.shape,
        terms=terms,
        unit=value.unit,
    )


def joined(a: Value, b: Value, depth: int = MAX_JOINED_DEPTH) -> Value:
    """The value of a name that is one or the other.

    Args:
        a: The one.
        b: The other.
        depth: How deep containers in containers are followed; nothing is known of what lies deeper.
    """
    if a is b:
        return a
    constant = a.constant if a.constant == b.constant and type(a.constant) is type(b.constant) else UNKNOWN
    items = _joined_items(a.items, b.items, depth - 1) if depth and held(a) + held(b) <= MAX_LISTED else None
    shape = a.shape if a.shape == b.shape else None
    bounds = intervals.hull(a.bounds, b.bounds)
    return Value("join", (a, b), b.node, bounds, None, merged_inputs((a, b)), shape, constant, items)


def held(value: Value) -> int:
    """How many values a container and those in it hold."""
    return sum(1 + len(each.items or ()) for each in values_in(value.items))


def values_in(items: Items) -> list[Value]:
    """The values of a container."""
    return [*items.values()] if isinstance(items, dict) else items or []


def _joined_items(a: Items, b: Items, depth: int) -> Items:
    if isinstance(a, dict) and isinstance(b, dict):
        return {key: joined(a.get(key, each), b.get(key, each), depth) for key, each in (a | b).items()}
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [joined(one, other, depth) for one, other in zip(a, b, strict=True)]
    return None


def scaled_terms(value: Value, factor: float) -> Mapping[Any, float]:
    """The terms of a value times a number."""
    return {key: weight * factor for key, weight in value.terms.items()}


def _folded(name: str, left: Value, right: Value, node: ast.AST | None) -> Value | None:
    """The constant that two constants make."""
    a, b = left.constant, right.constant
    if name not in _ON_CONSTANTS or not isinstance(a, int | float | str) or not isinstance(b, int | float | str):
        return None
    if not _is_cheap(name, a, b):
        return None
    try:
        made = _ON_CONSTANTS[name](a, b)
    except (ArithmeticError, TypeError, ValueError):
        return None
    return None if isinstance(made, complex) or len(str(made)) > 200 else number_value(made, node)


def _is_cheap(name: str, a: Any, b: Any) -> bool:
    """Whether no long text and no integer of a million digits is made: a hostile text gets this far."""
    if isinstance(a, str) or isinstance(b, str):
        return name not in ("multiply", "remainder")
    powers = name == "power" and isinstance(a, int) and isinstance(b, int)
    return not powers or abs(b) * a.bit_length() <= _MAX_BITS


def _spanned(rule: _Rule, on_numbers: Callable[[float, float], float], left: Value, right: Value) -> Span | None:
    if left.span is None or right.span is None:
        return None
    ends = rule(Interval(left.span.low, left.span.high), Interval(right.span.low, right.span.high))
    try:
        return intervals.span_of(ends, on_numbers(left.span.middle, right.span.middle))
    except ArithmeticError:
        return None


def _terms(name: str, left: Value, right: Value) -> Mapping[Any, float]:
    if name in ("add", "subtract") and len(left.terms) + len(right.terms) > _MAX_TERMS:
        return {}
    if name in ("add", "subtract"):
        sign = 1.0 if name == "add" else -1.0
        merged = dict(left.terms)
        for key, weight in right.terms.items():
            merged[key] = merged.get(key, 0.0) + sign * weight
        return {key: weight for key, weight in merged.items() if weight} or {ONE: 0.0}
    number = right.number
    if number is not None and (name == "multiply" or (name == "divide" and number)):
        return scaled_terms(left, number if name == "multiply" else 1.0 / number)
    if name == "multiply" and left.number is not None:
        return scaled_terms(right, left.number)
    return {}


def _truth(name: str, left: Value, right: Value) -> Interval:
    """0 or 1 where the bounds of the operands decide a comparison, [0, 1] otherwise."""
    a, b = left.bounds, right.bounds
    if name in ("greater", "greater_equal"):
        a, b, name = b, a, {"greater": "less", "greater_equal": "less_equal"}[name]
    if name == "less" and (a.high < b.low or a.low >= b.high):
        return Interval(1.0, 1.0) if a.high < b.low else Interval(0.0, 0.0)
    if name == "less_equal" and (a.high <= b.low or a.low > b.high):
        return Interval(1.0, 1.0) if a.high <= b.low else Interval(0.0, 0.0)
    return UNIT


def _power(base: float, exponent: float) -> float:
    try:
        value = base**exponent
    except (ArithmeticError, ValueError):
        return math.nan
    return math.nan if isinstance(value, complex) else value


def _quotient(a: Interval, b: Interval) -> Interval:
    return intervals.multiplied(a, intervals.inverted(b))


_Rule = Callable[[Interval, Interval], Interval]
_RULES: dict[str, _Rule] = {
    "add": intervals.added,
    "subtract": lambda a, b: intervals.added(a, intervals.negated(b)),
    "multiply": intervals.multiplied,
    "divide": _quotient,
}
_ON_NUMBERS: dict[str, Callable[[float, float], float]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
}
_ON_CONSTANTS: dict[str, Callable[[Any, Any], Any]] = {
    **_ON_NUMBERS,
    "floor_divide": lambda a, b: a // b,
    "remainder": lambda a, b: a % b,
    "power": _power,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
}
