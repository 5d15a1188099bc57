"""Reading subscripts: entries and slices of tensors, lists and dicts."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rewardgen.critic.static.containers import is_key, listed
from rewardgen.critic.static.value import WORLDS, Event, Shape, Value, merged_inputs, opaque
from rewardgen.critic.static.wording import part_of

if TYPE_CHECKING:
    from rewardgen.critic.static.expressions import ExpressionReader, Names

_ALL = slice(None)
_OTHER = object()


def subscript(reader: ExpressionReader, value: Value, node: ast.Subscript, names: Names) -> Value:
    """The value of `value[...]`.

    Args:
        reader: What reads the reward.
        value: What is subscripted.
        node: The subscript.
        names: What the names hold.
    """
    if isinstance(value.items, dict):
        return _item(reader, value, node, names)
    places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    keys, chosen = [], []
    for place in places:
        key, used = _key(reader, place, names)
        keys.append(key)
        chosen += used
    if isinstance(value.items, list):
        found = _of_list(value, keys, node)
        if found is not None:
            return found
    if chosen:
        return Value("select", (value, *chosen), node, value.bounds, value.span, merged_inputs((value, *chosen)),
                     _selected(value, keys, chosen), unit=value.unit)  # fmt: skip
    return entry(reader, value, keys, node)


def entry(reader: ExpressionReader, value: Value, keys: Sequence[object], node: ast.AST | None) -> Value:
    """The value of a subscript with constant places.

    Args:
        reader: What reads the reward.
        value: What is subscripted.
        keys: An integer, a slice, None or Ellipsis for each axis.
        node: Where.
    """
    keys = _spread(keys, value.shape)
    key = hash(("entry", value.key, str(keys)))
    if value.shape is None or _OTHER in keys:
        return Value("entry", (value,), node, value.bounds, value.span, value.inputs, None, unit=value.unit, key=key)
    fault = _fault(value.shape, keys)
    if fault:
        reader.events.append(Event("index", node, (value,), fault))
        return opaque("entry", (value,), node)
    if value.op == "input" and 0 in (_shape(value.shape, keys) or ()):
        reader.events.append(Event("slice", node, (value,)))
    made = _part(reader, value, keys, node)
    if made is None:
        shape = _shape(value.shape, keys)
        made = Value("entry", (value,), node, value.bounds, value.span, value.inputs, shape, unit=value.unit, key=key)
        made.variable = value.variable if len(keys) <= 1 or all(each in (_ALL, None) for each in keys) else ""
    # The first axis holds the worlds: one of them is nobody's quantity.
    first = next((each for each in keys if each is not None), _ALL)
    made.mixes = value.shape[:1] == (WORLDS,) and isinstance(first, int)
    return made


def _part(reader: ExpressionReader, value: Value, keys: Sequence[object], node: ast.AST | None) -> Value | None:
    """A named entry of an input."""
    axes = [each for each in keys if each is not None]
    plain = value.op == "input" and len(keys) == len(axes) == 2 and axes[0] == _ALL and isinstance(axes[1], int)
    if not plain or value.shape is None:
        return None
    place = int(str(axes[1])) % value.shape[1]
    made = part_of(reader.card, value, place)
    made.node = node
    return made


def _key(reader: ExpressionReader, node: ast.expr, names: Names) -> tuple[object, list[Value]]:
    """A constant place, or what chooses the places."""
    if isinstance(node, ast.Slice):
        ends = [None if each is None else reader.read(each, names).constant for each in (node.lower, node.upper)]
        step = node.step is None
        known = all(each is None or isinstance(each, int) for each in ends) and step
        return (slice(*ends) if known else _OTHER), []
    value = reader.read(node, names)
    if value.constant is None or value.constant is Ellipsis:
        return value.constant, []
    if isinstance(value.constant, int | slice) and not isinstance(value.constant, bool):
        return value.constant, []
    return _OTHER, [value]


def _item(reader: ExpressionReader, value: Value, node: ast.Subscript, names: Names) -> Value:
    key = reader.read(node.slice, names).constant
    if isinstance(value.items, dict) and is_key(key) and key in value.items:
        return value.items[key]
    reader.complete = False
    return opaque("item", (value,), node)


def _of_list(value: Value, keys: Sequence[object], node: ast.AST) -> Value | None:
    items, key = value.items, keys[0]
    if not isinstance(items, list) or len(keys) != 1:
        return None
    if isinstance(key, int) and -len(items) <= key < len(items):
        return items[key]
    return listed(items[key], node) if isinstance(key, slice) else None


def _spread(keys: Sequence[object], shape: Shape) -> list[object]:
    """The keys with an ellipsis written out."""
    if Ellipsis not in keys:
        return list(keys)
    if shape is None:
        return [_OTHER]
    place = list(keys).index(Ellipsis)
    missing = len(shape) - sum(1 for each in keys if each is not None) + 1
    return [*keys[:place], *[_ALL] * max(missing, 0), *keys[place + 1 :]]


def _fault(shape: tuple[int, ...], keys: Sequence[object]) -> str:
    """What is surely wrong with the places."""
    axes = [each for each in keys if each is not None]
    if len(axes) > len(shape):
        return f"it has {len(shape)} {'axis' if len(shape) == 1 else 'axes'}, the worlds first"
    for size, key in zip(shape, axes, strict=False):
        if isinstance(key, int) and size != WORLDS and not -size <= key < size:
            return f"it has {size} entries, 0 to {size - 1}"
    return ""


def _shape(shape: tuple[int, ...], keys: Sequence[object]) -> Shape:
    sizes: list[int] = []
    rest = list(shape)
    for key in keys:
        if key is None:
            sizes.append(1)
            continue
        size = rest.pop(0)
        if isinstance(key, slice):
            whole = key == _ALL or size == WORLDS
            sizes.append(size if whole else len(range(size)[key]))
    return (*sizes, *rest)


def _selected(value: Value, keys: Sequence[object], chosen: Sequence[Value]) -> Shape:
    """The shape of what a list of columns chooses: `x[:, [0, 2]]`."""
    columns = chosen[0].items
    if (
        value.shape is None
        or len(value.shape) != 2
        or len(keys) != 2
        or keys[0] != _ALL
        or not isinstance(columns, list)
    ):
        return None
    return (value.shape[0], len(columns))
