"""What the wording of a task card tells of its variables: proven bounds, wrapped angles, costs, and thresholds."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from rewardgen.critic.static.value import ANY, NON_NEGATIVE, UNIT, WORLDS, Interval, Span, Value
from rewardgen.store.records import TaskCard, VariableCard

_WRAPPED = re.compile(r"[\[(]\s*-\s*(pi|π)\s*,\s*(pi|π)\s*[\])]")
_SWITCH = re.compile(r"\b1 (while|if|when|where)\b.*\b0\b|\b0 or 1\b")
_COSINE = re.compile(r"^(co)?sine\b")
_SIZE = re.compile(r"^(size|magnitude|norm|length|distance|sum of the squares|sum of squared|absolute)\b")
_COST = re.compile(
    r"\b(error|distance (to|from|between)|deviation|torque|effort|energy|power|load|cost|penalty|jerk|violation)\b"
)
_GOOD = re.compile(r"\b1 (upright|level|standing|while|if|when|aligned)\b")
_NUMBER = re.compile(r"(?<![\w.])(-?\d+(?:\.\d+)?)\s*(degrees|deg|°|%|cm|mm|m/s|rad/s|rad|m|s|N|kg)?(?![\w/])")
_SCALES = {"cm": ("m", 0.01), "mm": ("m", 0.001), "degrees": ("rad", math.pi / 180), "°": ("rad", math.pi / 180)}
_QUATERNION = ({"w", "x", "y", "z"}, {"qw", "qx", "qy", "qz"})


class Quantity(NamedTuple):
    """A number of a text with its unit, in SI units."""

    number: float
    unit: str


def input_values(card: TaskCard) -> dict[str, Value]:
    """What is known of each input that a reward may take, by name."""
    now = {variable.name: _of_variable(variable) for variable in card.variables} | {"action": _of_action(card)}
    return now | {f"prev_{name}": _renamed(value, f"prev_{name}") for name, value in now.items()}


def variable_cards(card: TaskCard) -> dict[str, VariableCard]:
    """The variables by the names of inputs, previous values too."""
    cards = {variable.name: variable for variable in card.variables}
    return cards | {f"prev_{name}": variable for name, variable in cards.items()}


def part_names(card: TaskCard, variable: str) -> tuple[str, ...]:
    """Names of the entries of an input; empty for a scalar."""
    if variable in ("action", "prev_action"):
        return card.action_parts if len(card.action_parts) == card.action_size else ("",) * card.action_size
    found = variable_cards(card).get(variable)
    return found.parts if found else ()


def part_of(card: TaskCard, value: Value, index: int) -> Value:
    """One entry of a vector input, as a value per world.

    Args:
        card: The task.
        value: The input.
        index: Place of the entry, within its parts.
    """
    parts = part_names(card, value.variable)
    measured = variable_cards(card).get(value.variable)
    span = _span(measured, index) if measured else value.span
    return Value(
        "part",
        (value,),
        bounds=value.bounds,
        span=span,
        inputs=value.inputs,
        shape=(WORLDS,),
        variable=value.variable,
        part=parts[index] if index < len(parts) else "",
        unit=value.unit,
        key=("part", value.variable, index),
    )


def is_wrapped(variable: VariableCard) -> bool:
    """Whether a variable is an angle that jumps from one side of the circle to the other."""
    reaches = (
        variable.unit == "rad"
        and min(variable.minimum, default=0.0) < -3.0
        and max(variable.maximum, default=0.0) > 3.0
    )
    return variable.unit == "rad" and (
        bool(_WRAPPED.search(variable.meaning)) or (reaches and not _is_unwrapped(variable))
    )


def turns_over(variable: VariableCard) -> bool:
    """Whether an angle that is not wrapped was seen beyond half a turn."""
    largest = max((abs(each) for each in (*variable.minimum, *variable.maximum)), default=0.0)
    return variable.unit == "rad" and not is_wrapped(variable) and largest > math.pi + 0.1


def is_quaternion(variable: VariableCard) -> bool:
    """Whether a variable is an orientation as four numbers of which the negative is the same orientation."""
    parts = {part.lower().rsplit("_", 1)[-1] for part in variable.parts}
    return len(variable.parts) == 4 and (parts in _QUATERNION or "quaternion" in variable.meaning.lower())


def is_cost(variable: VariableCard) -> bool:
    """Whether the name or the meaning says that little of it is wanted."""
    return bool(_COST.search(f"{variable.name.replace('_', ' ')}; {variable.meaning}".lower()))


def is_good(variable: VariableCard) -> bool:
    """Whether the meaning says that its largest value is the wanted state."""
    return variable.unit == "1" and bool(_GOOD.search(variable.meaning))


def quantities(text: str) -> Iterator[Quantity]:
    """Numbers with units in a text."""
    for number, unit in _NUMBER.findall(text):
        base, scale = _SCALES.get(unit, (unit, 1.0))
        yield Quantity(float(number) * scale, base)


def _of_variable(variable: VariableCard) -> Value:
    return Value(
        "input",
        bounds=_bounds(variable),
        span=_span(variable),
        inputs=frozenset([variable.name]),
        shape=(WORLDS, *variable.shape),
        variable=variable.name,
        unit=variable.unit,
        key=("input", variable.name),
    )


def _of_action(card: TaskCard) -> Value:
    low, high = min(card.action_low, default=-1.0), max(card.action_high, default=1.0)
    return Value(
        "input",
        bounds=Interval(low, high),
        span=Span(low, (low + high) / 2.0, high),
        inputs=frozenset(["action"]),
        shape=(WORLDS, card.action_size),
        variable="action",
        key=("input", "action"),
    )


def _renamed(value: Value, name: str) -> Value:
    return Value(
        "input",
        bounds=value.bounds,
        span=value.span,
        inputs=frozenset([name]),
        shape=value.shape,
        variable=name,
        unit=value.unit,
        key=("input", name),
    )


def _bounds(variable: VariableCard) -> Interval:
    meaning, least = variable.meaning.lower(), min(variable.minimum, default=0.0)
    if variable.unit == "1" and _SWITCH.search(meaning):
        return UNIT
    if variable.unit == "1" and _COSINE.search(meaning):
        return Interval(-1.0, 1.0)
    if variable.unit == "rad" and _WRAPPED.search(meaning):
        return Interval(-math.pi, math.pi)
    return NON_NEGATIVE if _SIZE.search(meaning) and least >= 0.0 else ANY


def is_switch(variable: VariableCard) -> bool:
    """Whether a variable is 0 or 1."""
    return variable.unit == "1" and bool(_SWITCH.search(variable.meaning.lower()))


def _span(variable: VariableCard, index: int | None = None) -> Span | None:
    if not (variable.minimum and variable.median and variable.maximum):
        return None
    if index is not None and index < len(variable.minimum):
        return Span(variable.minimum[index], variable.median[index], variable.maximum[index])
    middles = sorted(variable.median)
    return Span(min(variable.minimum), middles[len(middles) // 2], max(variable.maximum))


def _is_unwrapped(variable: VariableCard) -> bool:
    return "not wrapped" in variable.meaning or "unwrapped" in variable.meaning
