"""Values of lists, tuples, dicts and shapes."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from rewardgen.critic.static.value import WORLDS, Interval, Span, Value, merged_inputs, number_value

MAX_LISTED = 1000
"""Items of a list."""


def listed(items: Sequence[Value], node: ast.AST | None) -> Value:
    """A list of values, or an array of numbers; nothing is known of one that is very long."""
    if len(items) > MAX_LISTED:
        return Value("list", (), node, inputs=merged_inputs(items))
    bounds = Interval(min((e.bounds.low for e in items), default=0.0), max((e.bounds.high for e in items), default=0.0))
    spans = [each.span for each in items if each.span is not None]
    span = None
    if spans and len(spans) == len(items):
        middles = sorted(each.middle for each in spans)
        span = Span(min(s.low for s in spans), middles[len(middles) // 2], max(s.high for s in spans))
    return Value("list", tuple(items), node, bounds, span, merged_inputs(items), items=list(items))


def mapped(items: dict[object, Value], node: ast.AST | None) -> Value:
    """A dict of values."""
    return Value("dict", tuple(items.values()), node, inputs=merged_inputs(list(items.values())), items=items)


def shape_value(value: Value, node: ast.AST) -> Value:
    """The value of `x.shape`, as far as the shape is known."""
    if value.shape is None:
        return Value("shape", (), node, shape=())
    sizes = [Value("worlds", (), node, shape=()) if size == WORLDS else number_value(size) for size in value.shape]
    return listed(sizes, node)
