"""Which way a value moves with the quantities it is made of: growing, falling, or neither for sure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rewardgen.critic.static.elementwise import RISING
from rewardgen.critic.static.value import UNIT, Value


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


def trends(value: Value) -> Trends:
    """The trends of a value.

    Args:
        value: The value.
    """
    return _Trends().of(value)


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
    while True:
        if value.op == "negative" or (value.op in ("multiply", "divide") and not value.operands[1].inputs):
            value = value.operands[0]
        elif value.op == "multiply" and not value.operands[0].inputs:
            value = value.operands[1]
        else:
            return value


class _Trends:
    def __init__(self) -> None:
        self._known: dict[int, Trends] = {}

    def of(self, value: Value) -> Trends:
        if id(value) not in self._known:
            self._known[id(value)] = {}
            self._known[id(value)] = self._found(value)
        return self._known[id(value)]

    def _found(self, value: Value) -> Trends:
        operands = value.operands
        if value.op in ("input", "part") and value.variable:
            return {Quantity("value", value.variable): 1}
        if value.op in _SIZES or (value.op == "power" and _is_even(operands[1])):
            inner = operands[0]
            if inner.bounds.low < 0.0 < inner.bounds.high:
                return _size(inner)
            return self.of(inner) if inner.bounds.low >= 0.0 else _flipped(self.of(inner))
        if value.op == "clamp" and value.bounds.low >= 0.0 and stepped(operands[0]) is not None:
            return {Quantity("gain", stepped(operands[0]) or ""): 1}
        if value.op == "relu" and stepped(operands[0]) is not None:
            return {Quantity("gain", stepped(operands[0]) or ""): 1}
        if value.op in _KEEPING:
            return _merged(map(self.of, operands))
        return self._of_operator(value)

    def _of_operator(self, value: Value) -> Trends:
        operands = value.operands
        if value.op in ("negative", "not"):
            return _flipped(self.of(operands[0]))
        if value.op == "add":
            return _merged(map(self.of, operands))
        if value.op in ("subtract", "greater", "greater_equal"):
            return _merged([self.of(operands[0]), _flipped(self.of(operands[1]))])
        if value.op in ("less", "less_equal"):
            return _merged([_flipped(self.of(operands[0])), self.of(operands[1])])
        if value.op == "equal":
            return self._of_equality(*operands)
        if value.op in ("exp", "exp2", "expm1"):
            return self.of(operands[0])
        if value.op == "where":
            return self._of_choice(*operands)
        if value.op in ("multiply", "divide"):
            return self._of_product(value)
        return self._of_power(*operands) if value.op == "power" else {}

    def _of_equality(self, a: Value, b: Value) -> Trends:
        """For what is 0 or 1: to be 1 grows with it, to be 0 falls with it."""
        held, constant = (a, b.number) if b.number is not None else (b, a.number)
        if held.bounds != UNIT or constant not in (0.0, 1.0):
            return {}
        return self.of(held) if constant else _flipped(self.of(held))

    def _of_product(self, value: Value) -> Trends:
        a, b = value.operands
        of_b = self.of(b) if value.op == "multiply" else _flipped(self.of(b))
        return _merged([_signed(self.of(a), b), _signed(of_b, a)])

    def _of_power(self, base: Value, exponent: Value) -> Trends:
        number = base.number
        if number is not None and number > 0.0 and exponent.inputs:
            return self.of(exponent) if number > 1.0 else _flipped(self.of(exponent))
        if exponent.number is None or (base.bounds.low < 0.0 and exponent.number % 2 != 1):
            return {}
        return self.of(base) if exponent.number > 0.0 else _flipped(self.of(base))

    def _of_choice(self, condition: Value, a: Value, b: Value) -> Trends:
        if a.bounds.low >= b.bounds.high:
            return _merged([self.of(condition), self.of(a), self.of(b)])
        if a.bounds.high <= b.bounds.low:
            return _merged([_flipped(self.of(condition)), self.of(a), self.of(b)])
        return _merged([self.of(a), self.of(b)])


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
