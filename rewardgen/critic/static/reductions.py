"""Values of functions that take several entries together, and of those that only rearrange them."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence

from rewardgen.critic.static import intervals
from rewardgen.critic.static.operators import binary
from rewardgen.critic.static.shapes import inserted, over_worlds, reduced, removed, squeezed
from rewardgen.critic.static.value import (
    ANY,
    MAX_LISTED,
    NON_NEGATIVE,
    ONE,
    UNIT,
    UNKNOWN,
    WORLDS,
    Interval,
    Shape,
    Span,
    Value,
    merged_inputs,
    number_value,
)

_AXIS_AT = {
    **dict.fromkeys(
        [
            "sum",
            "mean",
            "amax",
            "amin",
            "max",
            "min",
            "nansum",
            "nanmean",
            "prod",
            "any",
            "all",
            "argmax",
            "argmin",
            "median",
            "std",
            "var",
        ],
        1,
    ),
    **dict.fromkeys(["count_nonzero", "logsumexp"], 1),
    **dict.fromkeys(["norm", "vector_norm"], 2),
}
REDUCTIONS = frozenset(_AXIS_AT)
"""Functions that take entries together to one."""
_PAIRED = frozenset(["max", "min", "median"])
"""Reductions that also give the places, if they are given an axis."""
_ALONG = frozenset(["cumsum", "cumprod", "cummax", "cummin", "softmax", "log_softmax", "sort", "argsort", "topk"])
"""Functions whose every entry depends on others along an axis."""
_KEEPING = frozenset(["sum", "mean", "amax", "amin", "max", "min", "median", "nansum", "nanmean"])


def reduction(name: str, arguments: Sequence[Value], keywords: Mapping[str, Value], node: ast.AST) -> Value:
    """The value of a reduction.

    Args:
        name: One of `REDUCTIONS`.
        arguments: What is reduced, and what else is given by position.
        keywords: What is given by name.
        node: Where.
    """
    value = arguments[0]
    given = _given(arguments, keywords, _AXIS_AT[name], "dim", "axis")
    keep_value = _given(arguments, keywords, _AXIS_AT[name] + 1, "keepdim", "keepdims")
    axes, known = axes_of(given)
    keep = bool(keep_value is not None and keep_value.constant is True)
    count = removed(value.shape, axes) if known else None
    result = Value(
        name,
        (value,),
        node,
        _reduced_bounds(name, value.bounds, count),
        _reduced_span(name, value.span, count),
        value.inputs,
        reduced(value.shape, axes, keep) if known else None,
        terms=_reduced_terms(name, value, axes) if known else {},
        unit=value.unit if name in _KEEPING and name != "sum" else "",
        key=hash((name, value.key, str(axes), keep)),
    )
    result.mixes = known and over_worlds(value.shape, axes)
    if name == "sum" and value.stacked is not None and known and axes == (value.stacked,):
        return _sum_of_stack(value, result)
    if name in _PAIRED and given is not None and known and len(axes or ()) == 1:
        places = Value("places", (value,), node, NON_NEGATIVE, inputs=value.inputs, shape=result.shape)
        return Value(name, (result, places), node, inputs=value.inputs, items=[result, places])
    return result


def along(name: str, arguments: Sequence[Value], keywords: Mapping[str, Value], node: ast.AST) -> Value:
    """The value of a function along an axis, such as a cumulative sum."""
    value = arguments[0]
    given = _given(arguments, keywords, 2 if name == "topk" else 1, "dim", "axis")
    axes, known = axes_of(given if given is not None else number_value(-1))
    bounds = UNIT if name == "softmax" else value.bounds if name in ("sort", "topk") else ANY
    result = Value(name, (value,), node, bounds, inputs=value.inputs, shape=None if name == "topk" else value.shape)
    result.mixes = known and over_worlds(value.shape, axes)
    return Value(name, (result, result), node, items=[result, result]) if name in ("sort", "topk") else result


def is_along(name: str) -> bool:
    """Whether a function works along an axis without removing it."""
    return name in _ALONG


def rearranged(name: str, arguments: Sequence[Value], keywords: Mapping[str, Value], node: ast.AST) -> Value | None:
    """The value of a function that gives the same entries another shape; None if the function is not known."""
    if not arguments:
        return None
    value = arguments[0]
    axes, known = axes_of(_given(arguments, keywords, 1, "dim", "axis"))
    axis = axes[0] if known and axes else None
    if name == "unsqueeze" or name == "expand_dims":
        return reshaped(value, inserted(value.shape, axis, 1) if axis is not None else None, name, node)
    if name == "squeeze":
        return reshaped(value, squeezed(value.shape, axis) if known else None, name, node)
    if name in ("reshape", "view", "flatten", "ravel"):
        return reshaped(value, _viewed(name, value.shape, arguments[1:]), name, node)
    if name in ("stack", "cat", "concat", "concatenate", "column_stack", "hstack"):
        return _assembled(name, value, 0 if axis is None else axis, node)
    if name == "unbind":
        return _unbound(value, 0 if axis is None else axis, node)
    if name in ("expand_as", "view_as"):
        return reshaped(value, arguments[1].shape if len(arguments) > 1 else None, name, node)
    known_names = [
        "expand",
        "transpose",
        "permute",
        "swapaxes",
        "movedim",
        "split",
        "chunk",
        "broadcast_to",
        "unflatten",
        "T",
        "mT",
        "flip",
        "roll",
    ]
    return reshaped(value, None, name, node) if name in known_names else None


def reshaped(value: Value, shape: Shape, name: str, node: ast.AST) -> Value:
    """A value in another shape."""
    key = hash((name, value.key, shape))
    return Value(
        name, (value,), node, value.bounds, value.span, value.inputs, shape, terms=_tagged(value, key), unit=value.unit,
        key=key,
    )  # fmt: skip


def axes_of(given: Value | None) -> tuple[tuple[int, ...] | None, bool]:
    """The axes that an argument names, None for all, and whether they are known."""
    if given is None or given.constant is None:
        return None, True
    if isinstance(given.constant, int):
        return (int(given.constant),), True
    if isinstance(given.items, list) and all(isinstance(each.constant, int) for each in given.items):
        return tuple(int(each.constant) for each in given.items), True
    return None, False


def _sum_of_stack(stack: Value, result: Value) -> Value:
    """A sum along the axis of a stack is the sum of what was stacked."""
    total = stack.operands[0]
    for each in stack.operands[1:]:
        total = binary("add", total, each, result.node)
    return total


def _given(arguments: Sequence[Value], keywords: Mapping[str, Value], place: int, *names: str) -> Value | None:
    for name in names:
        if name in keywords:
            return keywords[name]
    return arguments[place] if len(arguments) > place else None


def _reduced_bounds(name: str, bounds: Interval, count: int | None) -> Interval:
    if name in ("any", "all"):
        return UNIT
    if name == "prod" and bounds.low >= 0.0:
        return UNIT if bounds.high <= 1.0 else NON_NEGATIVE
    if name in ("norm", "vector_norm", "std", "var", "count_nonzero", "argmax", "argmin"):
        largest = max(abs(bounds.low), abs(bounds.high))
        root = math.sqrt(count) * largest if count and name in ("norm", "vector_norm") else math.inf
        return Interval(0.0, root)
    if name in ("sum", "nansum"):
        if count is None:
            return Interval(0.0 if bounds.low >= 0.0 else -math.inf, 0.0 if bounds.high <= 0.0 else math.inf)
        return intervals.multiplied(bounds, Interval(count, count))
    return bounds if name in _KEEPING else ANY


def _reduced_span(name: str, span: Span | None, count: int | None) -> Span | None:
    if span is None:
        return None
    if name in ("sum", "nansum") and count is not None:
        return Span(*(count * each for each in span))
    if name in ("norm", "vector_norm") and count is not None:
        ends = intervals.even(Interval(span.low, span.high))
        return Span(*(math.sqrt(count) * each for each in (ends.low, abs(span.middle), ends.high)))
    return span if name in _KEEPING and name not in ("sum", "nansum") else None


def _reduced_terms(name: str, value: Value, axes: object) -> Mapping[object, float]:
    """A sum of weighted terms is the weighted sum of their sums."""
    if name not in ("sum", "mean") or ONE in value.terms:
        return {}
    return {hash((name, key, str(axes))): weight for key, weight in value.terms.items()}


def _tagged(value: Value, key: object) -> Mapping[object, float]:
    return {} if ONE in value.terms else {hash((key, term)): weight for term, weight in value.terms.items()}


def _viewed(name: str, shape: Shape, sizes: Sequence[Value]) -> Shape:
    if shape is None:
        return None
    wanted = [each.constant if each.op != "worlds" else WORLDS for each in sizes]
    if name == "flatten" and wanted == [1]:
        return (shape[0], math.prod(shape[1:])) if len(shape) > 1 else shape
    if len(shape) == 1 and name in ("reshape", "view") and wanted == [-1]:
        return shape
    if wanted == [-1, 1] and len(shape) == 1:
        return (*shape, 1)
    return None


def _assembled(name: str, parts: Value, axis: int, node: ast.AST) -> Value | None:
    items = parts.items
    if not isinstance(items, list) or not items:
        return None
    bounds = items[0].bounds
    for each in items[1:]:
        bounds = intervals.hull(bounds, each.bounds)
    shapes = {each.shape for each in items}
    shape = inserted(items[0].shape, axis, len(items)) if name == "stack" and len(shapes) == 1 else None
    made = Value(name, tuple(items), node, bounds, None, merged_inputs(items), shape)
    made.stacked = axis if name == "stack" else None
    return made


def _unbound(value: Value, axis: int, node: ast.AST) -> Value | None:
    if value.shape is None or not -len(value.shape) <= axis < len(value.shape) or value.shape[axis] == WORLDS:
        return None
    shape, size = reduced(value.shape, (axis,), False), value.shape[axis]
    if size > MAX_LISTED:
        return None
    keys = [hash(("entry", value.key, place)) for place in range(size)]
    items = [
        Value("entry", (value,), node, value.bounds, value.span, value.inputs, shape, unit=value.unit, key=key,
              variable=value.variable)
        for key in keys
    ]  # fmt: skip
    return Value("unbind", (value,), node, inputs=value.inputs, items=items, constant=UNKNOWN)
