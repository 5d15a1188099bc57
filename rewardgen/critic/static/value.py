"""A value in a reward as far as the text tells: how it came about, its bounds, its shape, what it depends on."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

WORLDS = -1
"""The size of the world axis in a shape."""
ONE = "one"
"""The term of a sum that is the same in every state."""


class Unknown:
    """The type of `UNKNOWN`."""


UNKNOWN = Unknown()
"""Instead of the constant of a value that is none."""

MAX_LISTED = 1000
"""Items of a list."""
Known = TypeVar("Known")
Shape = tuple[int, ...] | None
"""Sizes of the axes; None if not known."""


class Interval(NamedTuple):
    """Numbers between two bounds, which may be infinite."""

    low: float
    high: float


class Span(NamedTuple):
    """What was measured with trivial policies: the least, the typical and the largest value."""

    low: float
    middle: float
    high: float


_LEAST_OPERANDS = {
    **dict.fromkeys(["input", "tunable"], 0),
    **dict.fromkeys(["add", "subtract", "multiply", "divide", "power", "remainder", "maximum", "minimum"], 2),
    **dict.fromkeys(["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"], 2),
    **dict.fromkeys(["where", "clamp"], 3),
}
"""What detectors may take for granted of a value of this origin; one operand for all others."""

ANY = Interval(-math.inf, math.inf)
NON_NEGATIVE = Interval(0.0, math.inf)
UNIT = Interval(0.0, 1.0)


@dataclass(eq=False)
class Value:
    """One value, with the values it was made from.

    Attributes:
        op: What made it: `input`, `constant`, `tunable`, an operator such as `add`, or the name of a function.
        operands: What it was made from.
        node: Where.
        bounds: Proven bounds of its entries.
        span: Estimated range of its entries in the states that the card was measured on.
        inputs: Names of the inputs it depends on.
        shape: Its shape; () for a number.
        constant: The number, text or truth value it surely is.
        items: Parts of a list, tuple or dict.
        terms: It as a weighted sum: key of a value to its weight.
        variable: The input that it is, or is an entry of, as it was given.
        part: Name of the entry.
        unit: Its unit, where nothing changed it since it was read.
        key: Equal for values that are surely equal.
        mixes: Whether it takes different worlds together.
        stacked: The axis along which a stack put its operands.
        unscaled: It without its sign and constant factors; None if it has none.
    """

    op: str
    operands: tuple[Value, ...] = ()
    node: ast.AST | None = None
    bounds: Interval = ANY
    span: Span | None = None
    inputs: frozenset[str] = frozenset()
    shape: Shape = None
    constant: Any = UNKNOWN
    items: Items = None
    terms: Mapping[Any, float] = field(default_factory=dict)
    variable: str = ""
    part: str = ""
    unit: str = ""
    key: Any = None
    mixes: bool = False
    stacked: int | None = None
    unscaled: Value | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.key is None:
            self.key = hash((self.op, *(operand.key for operand in self.operands))) if self.operands else id(self)
        if not self.terms:
            number = self.number
            self.terms = {ONE: number} if number is not None else {self.key: 1.0}
        factor = self._scaled()
        if factor is not None:
            self.unscaled = factor.unscaled or factor

    def _scaled(self) -> Value | None:
        """The operand of which it is a constant multiple."""
        if self.op == "negative" or (self.op in ("multiply", "divide") and not self.operands[1].inputs):
            return self.operands[0]
        return self.operands[1] if self.op == "multiply" and not self.operands[0].inputs else None

    @property
    def number(self) -> float | None:
        """The number that it is in every state, with the defaults of tunable constants; None if it is none."""
        known = not self.inputs and self.bounds.low == self.bounds.high
        return self.bounds.low if known else None

    @property
    def line(self) -> int | None:
        """Line of the source where it was made."""
        return getattr(self.node, "lineno", None)

    @property
    def batched(self) -> bool:
        """Whether it surely has an entry for each world."""
        return self.shape is not None and WORLDS in self.shape

    def text(self, limit: int = 60) -> str:
        """Its expression in the source."""
        if isinstance(self.node, ast.expr):
            return ast.unparse(self.node)[:limit]
        return self.variable or self.op


Items = list[Value] | dict[Any, Value] | None
"""Parts of a list or a dict; None if they are not known, or for what has none."""


class Event(NamedTuple):
    """Something that surely goes wrong, or tells of it, when a place of the reward is run.

    Attributes:
        kind: `branch` for a tensor that must be one yes or no, `index` for a place that does not exist, `slice` for an
            empty one.
        node: Where.
        values: What was read there.
        detail: More, in words.
    """

    kind: str
    node: ast.AST | None
    values: tuple[Value, ...]
    detail: str = ""


def number_value(value: Any, node: ast.AST | None = None) -> Value:
    """A constant of the source: a number, a text, a truth value or None."""
    # No float is as large as an integer may be.
    known = isinstance(value, float) or (isinstance(value, int) and value.bit_length() <= 1000)
    number = float(value) if known else math.nan
    bounds = ANY if math.isnan(number) else Interval(number, number)
    span = None if math.isnan(number) else Span(number, number, number)
    key = ("constant", value if isinstance(value, str) or value is None else number)
    return Value("constant", (), node, bounds, span, shape=(), constant=value, key=key)


def opaque(op: str, operands: Sequence[Value], node: ast.AST | None = None) -> Value:
    """A value of which only the origin is known; of a call with too few arguments not even that."""
    known = len(operands) >= _LEAST_OPERANDS.get(op, 1)
    return Value(op if known else "unread", tuple(operands), node, inputs=merged_inputs(operands))


def merged_inputs(values: Sequence[Value]) -> frozenset[str]:
    """The inputs that any of the values depends on."""
    return frozenset().union(*(value.inputs for value in values)) if values else frozenset()


def ancestors(
    values: Value | Sequence[Value],
    enters: Callable[[Value, int], bool] = lambda value, place: True,
    seen: set[int] | None = None,
) -> Iterator[Value]:
    """Values and everything they were made from, each once.

    Args:
        values: One value or several.
        enters: Whether to go on into the operand at a place of a value.
        seen: Ids of values that are left out; those that are met are added. Several walks that share it take no longer
            than one.
    """
    seen = set() if seen is None else seen
    waiting = [values] if isinstance(values, Value) else list(reversed(values))
    while waiting:
        each = waiting.pop()
        if id(each) not in seen:
            seen.add(id(each))
            yield each
            waiting.extend(operand for place, operand in enumerate(each.operands) if enters(each, place))


def told_from_operands(
    value: Value, rule: Callable[[Value, Mapping[int, Known]], Known], known: dict[int, Known]
) -> Known:
    """What a rule tells of a value, once it has told of all that the value was made from.

    Operands first and each once: a value may be met on exponentially many ways, and lie deeper than Python recurses.

    Args:
        value: The value.
        rule: Gives what is known of a value from what is known of its operands by their ids.
        known: By id, what is known so far; calls that share it look at each value once. The values must live.
    """
    waiting = [value]
    while waiting:
        each = waiting[-1]
        missing = [operand for operand in each.operands if id(operand) not in known]
        waiting += missing
        if not missing:
            waiting.pop()
            if id(each) not in known:
                known[id(each)] = rule(each, known)
    return known[id(value)]
