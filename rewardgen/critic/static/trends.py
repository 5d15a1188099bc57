"""Which way a value moves with the quantities it is made of: growing, falling, or neither for sure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rewardgen.critic.static.elementwise import RISING
from rewardgen.critic.static.value import UNIT, Value, told_from_operands


class Quantity(NamedTuple):
    """Something of an input.

    Attributes:
        kind: `value`, `size` for its absolute value, `error` for its distance from a constant, `step` for the size of
            its change since the step before, `gain` for that change where only one direction counts.
        name: The input.
    """

    kind: str
    name: str


Trends = dict[Quantity, int]
"""1 where a value never falls with a quantity, -1 where it never grows, 0 where it does both."""

_KEEPING = RISING | frozenset(
    [
        "sum",
        "mean",
        "amax",
        "amin",
        "max",
        "min",
        "median",
        "clamp",
        "maximum",
        "minimum",
        "float",
        "bool",
        "squeeze",
        "unsqueeze",
        "reshape",
        "view",
        "flatten",
        "entry",
        "unbind",
        "expand",
        "full",
        "nan_to_num",
        "select",
        "and",
        "or",
        "assigned",
        "join",
        "stack",
        "list",
        "cat",
    ]
)
_SIZES = frozenset(["abs", "norm", "vector_norm", "hypot", "std", "var"])


def trends(value: Value, known: dict[int, Trends]) -> Trends:
    """The trends of a value.

    Args:
        value: The value.
        known: The trends found so far, by the ids of values; those that are found are added.
    """
    return told_from_operands(value, _found, known)


def stepped(value: Value) -> str | None:
    """The name of the quantity of which a value is the change since the step before; None if it is none."""
    value = unscaled(value)
    if value.op != "subtract":
        return None
    now, before = ({name.removeprefix("prev_") for name in operand.inputs} for operand in value.operands)
    previous = [any(name.startswith("prev_") for name in operand.inputs) for operand in value.operands]
    moved = {name for operand in value.operands for name in operand.inputs if name.startswith("prev_")}
    names = sorted(name.removeprefix("prev_") for name in moved)
    return ", ".join(names) if now == before and now and previous[0] != previous[1] else None


def unscaled(value: Value) -> Value:
    """A value without its sign and constant factors."""
    return value.unscaled or value


def _found(value: Value, known: Mapping[int, Trends]) -> Trends:
    operands = value.operands
    if value.op in ("input", "part") and value.variable:
        return {Quantity("value", value.variable): 1}
    if value.op in _SIZES or (value.op == "power" and _is_even(operands[1])):
        inner = operands[0]
        if inner.bounds.low < 0.0 < inner.bounds.high:
            return _size(inner)
        return known[id(inner)] if inner.bounds.low >= 0.0 else _flipped(known[id(inner)])
    step = stepped(operands[0]) if value.op == "relu" or (value.op == "clamp" and value.bounds.low >= 0.0) else None
    if step is not None:
        return {Quantity("gain", step): 1}
    of = [known[id(each)] for each in operands]
    return _merged(of) if value.op in _KEEPING else _of_operator(value, of)


def _of_operator(value: Value, of: list[Trends]) -> Trends:
    """The trends of a value from those of its operands."""
    if value.op in ("negative", "not"):
        return _flipped(of[0])
    if value.op == "add":
        return _merged(of)
    if value.op in ("subtract", "greater", "greater_equal"):
        return _merged([of[0], _flipped(of[1])])
    if value.op in ("less", "less_equal"):
        return _merged([_flipped(of[0]), of[1]])
    if value.op in ("exp", "exp2", "expm1"):
        return of[0]
    rule = _OF_OPERATOR.get(value.op)
    return rule(value, of) if rule is not None else {}


def _of_equality(value: Value, of: list[Trends]) -> Trends:
    """For what is 0 or 1: to be 1 grows with it, to be 0 falls with it."""
    a, b = value.operands
    held, constant, moves = (a, b.number, of[0]) if b.number is not None else (b, a.number, of[1])
    if held.bounds != UNIT or constant not in (0.0, 1.0):
        return {}
    return moves if constant else _flipped(moves)


def _of_product(value: Value, of: list[Trends]) -> Trends:
    a, b = value.operands
    of_b = of[1] if value.op == "multiply" else _flipped(of[1])
    return _merged([_signed(of[0], b), _signed(of_b, a)])


def _of_power(value: Value, of: list[Trends]) -> Trends:
    base, exponent = value.operands
    number = base.number
    if number is not None and number > 0.0 and exponent.inputs:
        return of[1] if number > 1.0 else _flipped(of[1])
    if exponent.number is None or (base.bounds.low < 0.0 and exponent.number % 2 != 1):
        return {}
    return of[0] if exponent.number > 0.0 else _flipped(of[0])


def _of_choice(value: Value, of: list[Trends]) -> Trends:
    _, a, b = value.operands
    if a.bounds.low >= b.bounds.high:
        return _merged(of)
    if a.bounds.high <= b.bounds.low:
        return _merged([_flipped(of[0]), *of[1:]])
    return _merged(of[1:])


_OF_OPERATOR = {
    "equal": _of_equality,
    "where": _of_choice,
    "multiply": _of_product,
    "divide": _of_product,
    "power": _of_power,
}


def _size(value: Value) -> Trends:
    """The trend of the size of a value with what it is the size of."""
    inner = unscaled(value)
    step = stepped(inner)
    if step is not None:
        return {Quantity("step", step): 1}
    if inner.variable:
        return {Quantity("size", inner.variable): 1}
    if inner.op in ("entry", "select", "clamp", "abs") and inner.operands[0].variable:
        return {Quantity("size", inner.operands[0].variable): 1}
    if inner.op in ("subtract", "add") and any(not operand.inputs for operand in inner.operands):
        shifted = [unscaled(operand) for operand in inner.operands if operand.inputs]
        return {Quantity("error", shifted[0].variable): 1} if shifted and shifted[0].variable else {}
    if inner.op == "multiply" and "action" in inner.inputs:
        return {Quantity("size", "action"): 1}
    return {}


def _is_even(exponent: Value) -> bool:
    return exponent.number is not None and exponent.number > 0.0 and exponent.number % 2 == 0


def _signed(moves: Trends, factor: Value) -> Trends:
    if factor.bounds.low >= 0.0:
        return moves
    return _flipped(moves) if factor.bounds.high <= 0.0 else dict.fromkeys(moves, 0)


def _flipped(moves: Trends) -> Trends:
    return {quantity: -sign for quantity, sign in moves.items()}


def _merged(several: Iterable[Trends]) -> Trends:
    merged: Trends = {}
    for moves in several:
        for quantity, sign in moves.items():
            merged[quantity] = sign if merged.get(quantity, sign) == sign else 0
    return merged
