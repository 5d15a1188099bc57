"""Reading calls: functions of modules, methods, and Python's own functions."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rewardgen.critic.static import operators
from rewardgen.critic.static.containers import changed_container, is_key, listed, mapped, shape_value, unlisted
from rewardgen.critic.static.elementwise import CLAMPS, IDENTITIES, chosen, clamped, elementwise, extreme
from rewardgen.critic.static.reductions import REDUCTIONS, along, is_along, rearranged, reduction
from rewardgen.critic.static.shapes import MAX_SIZE
from rewardgen.critic.static.value import (
    ANY,
    WORLDS,
    Event,
    Interval,
    Shape,
    Value,
    number_value,
    opaque,
)
from rewardgen.reward.vocabulary import CHANGING_METHODS

if TYPE_CHECKING:
    from rewardgen.critic.static.expressions import ExpressionReader, Names

_ARITHMETIC = {
    **{name: name for name in ("add", "subtract", "multiply", "divide", "pow", "remainder", "floor_divide")},
    **{"sub": "subtract", "mul": "multiply", "div": "divide", "true_divide": "divide", "fmod": "remainder"},
    **{"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"},
    **{name: name for name in operators.COMPARISONS},
    **{"logical_and": "and", "logical_or": "or", "logical_xor": "xor", "matmul": "matmul", "mm": "matmul"},
    **{"pow": "power", "power": "power", "float_power": "power"},
}
_FILLED = {"ones": 1.0, "zeros": 0.0, "ones_like": 1.0, "zeros_like": 0.0, "new_ones": 1.0, "new_zeros": 0.0}
_MAX_PLACES = 100
"""Of a range; loops over so many are not followed anyway."""
_SETTINGS = ("dtype", "device")
_LOSSES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")


def module_call(
    reader: ExpressionReader, dotted: str, arguments: list[Value], keywords: Mapping[str, Value], node: ast.Call
) -> Value:
    """The value of a call of a module's function, such as `torch.exp`."""
    name = dotted.rsplit(".", 1)[-1]
    for keyword in ("input", "x", "a", "tensors"):
        if keyword in keywords and not arguments:
            arguments = [keywords[keyword]]
    return _function(reader, name, arguments, keywords, node)


def method_call(
    reader: ExpressionReader,
    name: str,
    values: list[Value],
    keywords: Mapping[str, Value],
    node: ast.Call,
    names: Names,
) -> Value:
    """The value of a call of a method; one that changes its object changes the name too."""
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    items = values[0].items
    if items is not None and name in CHANGING_METHODS:
        made, changed = changed_container(values, name, keywords, node)
        reader.complete &= changed is not None and isinstance(owner, ast.Name)
        if isinstance(owner, ast.Name):
            names[owner.id] = changed if changed is not None else opaque("item", values, node)
        return made
    if isinstance(items, dict):
        made = _dict_method(reader, name, values, node)
    elif name in CHANGING_METHODS:
        made = _changed(reader, name, values, keywords, node)
    else:
        return _function(reader, name, values, keywords, node)
    if name in CHANGING_METHODS and isinstance(owner, ast.Name):
        names[owner.id] = made
    return made


def builtin_call(
    reader: ExpressionReader, name: str, arguments: list[Value], keywords: Mapping[str, Value], node: ast.Call
) -> Value:
    """The value of a call of one of Python's functions, or of `tolerance`."""
    if name == "dict":
        given = arguments[0].items if arguments else None
        return mapped({**(given if isinstance(given, dict) else {}), **keywords}, node)
    if name == "tolerance" and "x" in keywords:
        arguments = [keywords["x"], *arguments]
    if not arguments:
        return opaque(name, [*keywords.values()], node)
    first = arguments[0]
    if name == "print":
        return number_value(None, node)
    if name == "slice":
        return _slice(arguments, node)
    if name == "abs":
        return elementwise("abs", [first], node) or first
    if name in ("float", "int", "bool"):
        return _converted(reader, name, first, node)
    if name in ("list", "tuple", "sorted", "reversed", "set", "enumerate", "zip", "range", "len"):
        return _python_list(reader, name, arguments, node)
    if name in ("sum", "max", "min"):
        return _folded_items(reader, name, arguments, node)
    if name == "tolerance":
        return elementwise("tolerance", [*arguments, *keywords.values()], node) or first
    return opaque(name, arguments, node)


def _function(
    reader: ExpressionReader, name: str, values: Sequence[Value], keywords: Mapping[str, Value], node: ast.Call
) -> Value:
    """The value of a function that is the same as a method and of a module."""
    given = {key: value for key, value in keywords.items() if key not in _SETTINGS}
    everything = [*values, *given.values()]
    if not values and name not in _FILLED:
        return opaque(name, everything, node)
    if name in IDENTITIES:
        return values[0]
    made = (
        _made(name, values, given, node)
        or _bounded(name, values, given, node)
        or _combined(name, values, given, node)
        or rearranged(name, values, given, node)
        or elementwise(name, [*values, *given.values()] if name not in _LOSSES else values, node)
    )
    if made is not None:
        return made
    return opaque(name, everything, node)


def _combined(name: str, values: Sequence[Value], given: Mapping[str, Value], node: ast.Call) -> Value | None:
    """Arithmetic by name, comparisons, reductions, and functions along an axis."""
    other = [*values[1:], *(given[key] for key in ("other", "exponent") if key in given)]
    if name in _ARITHMETIC and other:
        return operators.binary(_ARITHMETIC[name], values[0], other[0], node)
    if name in ("neg", "negative"):
        return operators.negative(values[0], node)
    if name in REDUCTIONS:
        if name in ("max", "min") and len(values) == 2 and values[1].shape != ():
            return extreme(f"{name}imum", values[0], values[1], node)
        return reduction(name, values, given, node)
    if is_along(name):
        return along(name, values, given, node)
    if name in ("dot", "vdot"):
        product = operators.binary("multiply", values[0], other[0], node) if other else values[0]
        return reduction("sum", [product], {"dim": number_value(-1)}, node)
    if name in _LOSSES:
        reduces = "reduction" not in given or given["reduction"].constant != "none"
        loss = elementwise(name, values, node)
        return reduction("mean", [loss], {}, node) if loss is not None and reduces else loss
    if name in ("cosine_similarity", "vecdot", "pairwise_distance") and other:
        axis = given.get("dim", number_value(1 if name == "cosine_similarity" else -1))
        summed = reduction("sum", [operators.binary("multiply", values[0], other[0], node)], {"dim": axis}, node)
        limits = {"cosine_similarity": Interval(-1.0, 1.0), "pairwise_distance": Interval(0.0, float("inf"))}
        return Value(name, (summed,), node, limits.get(name, ANY), inputs=summed.inputs, shape=summed.shape)
    return None


def _bounded(name: str, values: Sequence[Value], given: Mapping[str, Value], node: ast.Call) -> Value | None:
    if name in CLAMPS:
        places = {"clamp_min": ("min",), "clamp_max": ("max",)}.get(name, ("min", "max"))
        bounds = dict(zip(places, values[1:], strict=False)) | dict(given)
        low, high = (bounds.get(key, bounds.get(f"a_{key}")) for key in ("min", "max"))
        present = [each if each is not None and each.constant is not None else None for each in (low, high)]
        return clamped(values[0], present[0], present[1], node)
    if name in ("maximum", "minimum", "fmax", "fmin") and len(values) > 1:
        return extreme({"fmax": "maximum", "fmin": "minimum"}.get(name, name), values[0], values[1], node)
    if name == "where" and len(values) == 3:
        # As a method, `a.where(condition, b)`.
        method = isinstance(node.func, ast.Attribute) and len(node.args) == 2
        condition, kept = (values[1], values[0]) if method else (values[0], values[1])
        return chosen(condition, kept, values[2], node)
    if name == "nan_to_num":
        value = values[0]
        return Value(name, (value,), node, value.bounds, value.span, value.inputs, value.shape)
    if name == "masked_fill" and len(values) == 3:
        return chosen(values[1], values[2], values[0], node)
    return None


def _made(name: str, values: Sequence[Value], given: Mapping[str, Value], node: ast.Call) -> Value | None:
    """A tensor of constants."""
    if name in _FILLED:
        like = name.endswith("_like")
        if like and not values:
            return None
        return _filled(number_value(_FILLED[name]), values[0].shape if like else _sizes(values), node)
    if name in ("full_like", "full", "new_full"):
        filling = given.get("fill_value", values[-1])
        return _filled(filling, values[0].shape if name == "full_like" else _sizes(values[:1]), node)
    if name in ("tensor", "array", "new_tensor", "scalar_tensor"):
        return _tensor(values[-1] if name == "new_tensor" else values[0], node)
    if name == "size":
        sizes = shape_value(values[0], node)
        place = values[1].constant if len(values) > 1 else None
        known = (
            isinstance(sizes.items, list) and isinstance(place, int) and -len(sizes.items) <= place < len(sizes.items)
        )
        return sizes.items[place] if known and isinstance(sizes.items, list) and isinstance(place, int) else sizes
    if name in ("dim", "numel", "ndim"):
        return Value(name, (), node, Interval(0.0, float("inf")), shape=())
    return None


def _filled(filling: Value, shape: Shape, node: ast.AST) -> Value:
    return Value("full", (filling,), node, filling.bounds, filling.span, filling.inputs, shape, terms=filling.terms)


def _tensor(value: Value, node: ast.AST) -> Value:
    if not isinstance(value.items, list):
        return value
    return Value(
        "list", value.operands, node, value.bounds, value.span, value.inputs, (len(value.items),), items=value.items
    )


def _sizes(values: Sequence[Value]) -> Shape:
    sizes = values[0].items if len(values) == 1 and isinstance(values[0].items, list) else list(values)
    known = [each.constant for each in sizes if each.op != "worlds"]
    if not all(isinstance(each, int) and 0 <= each <= MAX_SIZE for each in known):
        return None
    return tuple(WORLDS if each.op == "worlds" else int(each.constant) for each in sizes)


def _changed(
    reader: ExpressionReader, name: str, values: list[Value], keywords: Mapping[str, Value], node: ast.Call
) -> Value:
    plain = name.removesuffix("_")
    if plain in ("fill", "zero"):
        return _filled(values[1] if plain == "fill" and len(values) > 1 else number_value(0.0), values[0].shape, node)
    return _function(reader, plain, values, keywords, node)


def _dict_method(reader: ExpressionReader, name: str, values: list[Value], node: ast.Call) -> Value:
    items = values[0].items
    assert isinstance(items, dict)
    if name == "items":
        return listed([listed([number_value(key), value], node) for key, value in items.items()], node)
    if name in ("keys", "values"):
        return listed([*map(number_value, items)] if name == "keys" else [*items.values()], node)
    if name == "get" and len(values) > 1 and is_key(values[1].constant):
        return items.get(values[1].constant, values[2] if len(values) > 2 else number_value(None))
    if name == "copy":
        return values[0]
    reader.complete = False
    return opaque(name, values, node)


def _converted(reader: ExpressionReader, name: str, value: Value, node: ast.AST) -> Value:
    """The value of `float(x)`, `int(x)` and `bool(x)`, which a tensor with an entry per world cannot become."""
    if isinstance(value.constant, str) and name == "float":
        try:
            return number_value(float(value.constant), node)
        except ValueError:
            return opaque(name, (value,), node)
    if value.batched:
        reader.events.append(Event("branch", node, (value,), name))
    if isinstance(value.constant, bool | int | float):
        convert = {"float": float, "int": int, "bool": bool}[name]
        # Neither infinity nor what is not a number is an integer.
        known = name != "int" or math.isfinite(value.constant)
        return number_value(convert(value.constant), node) if known else opaque(name, (value,), node)
    return value


def _slice(limits: list[Value], node: ast.AST) -> Value:
    ends = [each.constant for each in limits]
    if len(ends) > 3 or ends[2:] == [0] or not all(each is None or isinstance(each, int) for each in ends):
        return opaque("slice", limits, node)
    made = slice(*ends)
    return Value("slice", (), node, shape=(), constant=made, key=("slice", str(made)))


def _python_list(reader: ExpressionReader, name: str, arguments: list[Value], node: ast.AST) -> Value:
    if name == "range":
        places = _places([each.constant for each in arguments])
        return listed([*map(number_value, places)], node) if places is not None else opaque(name, arguments, node)
    lists = [reader.unfold(each) for each in arguments]
    first = lists[0]
    if first is None:
        reader.complete &= name in ("len", "enumerate")
        return Value(name, tuple(arguments), node, Interval(1.0, float("inf")) if name == "len" else ANY, shape=())
    if name == "len":
        return number_value(len(first), node)
    if name == "enumerate":
        start = arguments[1].constant if len(arguments) > 1 else 0
        if not isinstance(start, int):
            return opaque(name, arguments, node)
        return listed([listed([number_value(place), item], node) for place, item in enumerate(first, start)], node)
    if name == "zip":
        known = [each for each in lists if each is not None]
        reader.complete &= len(known) == len(lists)
        return listed([listed(list(group), node) for group in zip(*known, strict=False)], node)
    if name in ("sorted", "set"):
        return _ordered(name, first, node)
    return listed(first[::-1] if name == "reversed" else first, node)


def _ordered(name: str, items: list[Value], node: ast.AST) -> Value:
    """What `sorted` and `set` make of a list."""
    constants = [each.constant for each in items]
    alike = all(isinstance(each, int | float) for each in constants) or all(isinstance(each, str) for each in constants)
    if not alike or (name == "sorted" and isinstance(node, ast.Call) and node.keywords):
        return unlisted(items, node)
    return listed([*map(number_value, sorted(constants) if name == "sorted" else dict.fromkeys(constants))], node)


def _places(ends: list[Any]) -> range | None:
    """What a loop over a range meets; None if it is not known, far too long, or no range."""
    if not 1 <= len(ends) <= 3 or ends[2:] == [0] or not all(isinstance(each, int) for each in ends):
        return None
    places = range(*ends)
    return places if len(places[: _MAX_PLACES + 1]) <= _MAX_PLACES else None


def _folded_items(reader: ExpressionReader, name: str, arguments: list[Value], node: ast.AST) -> Value:
    """Python's `sum`, `max` and `min`, the last two of which ask tensors for one yes or no."""
    items = reader.unfold(arguments[0]) if name == "sum" or len(arguments) == 1 else list(arguments)
    if not items:
        return opaque(name, arguments, node)
    if name != "sum":
        if any(each.batched for each in items) and len(items) > 1:
            reader.events.append(Event("branch", node, tuple(items), name))
        made = items[0]
        for each in items[1:]:
            made = extreme(f"{name}imum", made, each, node)
        numbers = [each.constant for each in items]
        if all(isinstance(each, int | float) for each in numbers):
            return number_value((max if name == "max" else min)(numbers), node)
        return made
    made = arguments[1] if len(arguments) > 1 else number_value(0, node)
    for each in items:
        made = operators.binary("add", made, each, node)
    return made
