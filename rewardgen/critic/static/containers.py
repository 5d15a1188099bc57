"""Values of lists, tuples, dicts and shapes."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from rewardgen.critic.static.value import (
    MAX_LISTED,
    UNKNOWN,
    WORLDS,
    Interval,
    Span,
    Value,
    merged_inputs,
    number_value,
    opaque,
)


def listed(items: Sequence[Value], node: ast.AST | None) -> Value:
    """A list of values, or an array of numbers; nothing is known of one that is very long."""
    if len(items) > MAX_LISTED:
        return unlisted(items, node)
    bounds = Interval(min((e.bounds.low for e in items), default=0.0), max((e.bounds.high for e in items), default=0.0))
    spans = [each.span for each in items if each.span is not None]
    span = None
    if spans and len(spans) == len(items):
        middles = sorted(each.middle for each in spans)
        span = Span(min(s.low for s in spans), middles[len(middles) // 2], max(s.high for s in spans))
    return Value("list", tuple(items), node, bounds, span, merged_inputs(items), items=list(items))


def unlisted(items: Sequence[Value], node: ast.AST | None) -> Value:
    """A list of which only some items are known, and not how many there are."""
    return Value("list", (), node, inputs=merged_inputs(items), items=None)


def mapped(items: dict[object, Value], node: ast.AST | None) -> Value:
    """A dict of values."""
    return Value("dict", tuple(items.values()), node, inputs=merged_inputs(list(items.values())), items=items)


def is_key(constant: object) -> bool:
    """Whether a constant is known and may be a key of a dict."""
    return constant is None or isinstance(constant, str | int | float)


def changed_container(
    values: Sequence[Value], name: str, keywords: Mapping[str, Value], node: ast.AST
) -> tuple[Value, Value | None]:
    """What a method that changes a list or a dict gives, and the container as it is then.

    Args:
        values: The container and what the method is given.
        name: The method.
        keywords: What it is given by name.
        node: Where.

    Returns:
        The container is None where it is not known what becomes of it.
    """
    nothing, items, given = number_value(None, node), values[0].items, values[1:]
    if isinstance(items, list):
        changed = _changed_list(items, name, given)
        last = items[-1] if name == "pop" and not given and items else opaque("item", values, node)
        return last if name == "pop" else nothing, listed(changed, node) if changed is not None else None
    assert isinstance(items, dict)
    if name == "update":
        more = given[0].items if given else {}
        return nothing, mapped({**items, **more, **keywords}, node) if isinstance(more, dict) else None
    key = given[0].constant if given else UNKNOWN
    if name not in ("pop", "setdefault") or not is_key(key):
        return opaque("item", values, node), None
    default = given[1] if len(given) > 1 else nothing
    if name == "pop":
        return items.get(key, default), mapped({each: held for each, held in items.items() if each != key}, node)
    return items.get(key, default), mapped({key: default, **items} if key not in items else items, node)


def _changed_list(items: list[Value], name: str, given: Sequence[Value]) -> list[Value] | None:
    if name == "append" and len(given) == 1:
        return [*items, given[0]]
    if name == "extend" and len(given) == 1 and isinstance(given[0].items, list):
        return [*items, *given[0].items]
    if name == "insert" and len(given) == 2 and isinstance(given[0].constant, int):
        place = given[0].constant
        return [*items[:place], given[1], *items[place:]]
    return items[:-1] if name == "pop" and not given and items else None


def shape_value(value: Value, node: ast.AST) -> Value:
    """The value of `x.shape`, as far as the shape is known."""
    if value.shape is None:
        return Value("shape", (), node, shape=())
    sizes = [Value("worlds", (), node, shape=()) if size == WORLDS else number_value(size) for size in value.shape]
    return listed(sizes, node)
