"""Detectors of constants that do not fit the range of what they are compared with."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rewardgen.critic.static.exponentials import exponent_of
from rewardgen.critic.static.finding import component_of, finding, number
from rewardgen.critic.static.operators import COMPARISONS
from rewardgen.critic.static.reading import Reading
from rewardgen.critic.static.trends import Quantity, unscaled
from rewardgen.critic.static.value import Span, Value, ancestors
from rewardgen.critic.static.wording import is_switch, quantities, variable_cards
from rewardgen.records import Finding, VariableCard

_FAR = 10.0
_DEGREES = 2.0 * math.pi * 1.05
_DISCRETE = frozenset(["sign", "floor", "ceil", "round", "bool", "places", "argmax", "argmin", "full", "not", "and"])


def distant_thresholds(reading: Reading) -> Iterator[Finding]:
    """Limits and targets that no state comes near."""
    told: set[object] = set()
    targets = _targets(reading)
    for value, held, constant in _against_constants(reading):
        if value.op in COMPARISONS and value.bounds.low == value.bounds.high and value.inputs:
            answer = "holds" if value.bounds.low else "never holds"
            message = f"compares `{held.text()}` with {number(constant)}, which always {answer}".replace(
                "always never holds", "can never hold"
            )
        elif held.span is not None and _is_degrees(held, constant):
            message = f"sets `{held.text()}`, which is in radians, against {number(constant)}"
        elif _is_far(reading, held, constant) and (id(value) in targets or _is_never(value, held, constant)):
            message = f"sets `{held.text()}` against {number(constant)}, far from anything measured"
        else:
            continue
        if value.key not in told:
            told.add(value.key)
            yield _out_of_range(reading, value, held, constant, message)


def float_equalities(reading: Reading) -> Iterator[Finding]:
    """Comparisons for equality of what is measured, which is never quite equal."""
    cards = variable_cards(reading.card)
    for value in reading.values:
        if value.op not in ("equal", "not_equal") or not value.inputs:
            continue
        continuous = [each for each in value.operands if each.inputs and not _is_discrete(each, cards)]
        if continuous and not _is_choice_of_zero(value):
            what = f"tests `{value.text()}` for equality, which a measured value hardly ever meets"
            hint = "test a distance: `(x - target).abs() < 0.05`"
            yield finding("float-equality", value, what, hint, component_of(reading, value))


def early_clamps(reading: Reading) -> Iterator[Finding]:
    """Terms that stop growing below what success asks for."""
    for name, component in reading.components.items():
        moves = reading.trends[name]
        for value in ancestors(component):
            limit = _upper_limit(value)
            held = value.operands[0] if limit is not None else value
            if limit is None or not held.variable or moves.get(Quantity("value", held.variable)) != 1:
                continue
            wanted = _wanted(reading, held)
            if wanted is not None and 0.0 < limit < 0.9 * wanted:
                what = f"stops paying for `{held.variable}` at {number(limit)}, but success asks for {number(wanted)}"
                hint = "raise the upper bound well above that"
                evidence = {"bound": limit, "success": wanted}
                yield finding("early-clamp", value, what, hint, name, evidence=evidence)


def dead_clamps(reading: Reading) -> Iterator[Finding]:
    """Clamps whose lower bound is above everything measured: the result is that bound."""
    for value in reading.values:
        low = value.operands[1].number if value.op == "clamp" else None
        span = value.operands[0].span if low is not None else None
        high = value.operands[2].number if low is not None else None
        if low is None or high is None or span is None or not value.inputs or low == 0.0 or span.high >= low:
            continue
        what = f"clamps `{value.operands[0].text()}` to at least {number(low)}, above all that was measured"
        evidence = {"bound": low, "measured maximum": span.high}
        hint = "check the bounds: the result is the same in every state"
        yield finding("dead-clamp", value, what, hint, component_of(reading, value), evidence=evidence)


def squashed_degrees(reading: Reading) -> Iterator[Finding]:
    """Angles in radians that are divided by a number of degrees before they are squashed, which leaves nothing."""
    told: set[object] = set()
    for value in reading.values:
        squashed = value.operands[0] if value.op == "tanh" else exponent_of(value)
        for each in ancestors(squashed, _is_scaling) if squashed is not None else ():
            held, scale = each.operands if each.op == "divide" else (each, each)
            if scale.number is None or not _is_degrees(held, scale.number) or each.key in told:
                continue
            told.add(each.key)
            what = f"divides `{held.text()}`, which is in radians, by {number(scale.number)} in `{value.text()}`"
            hint = f"in radians that is {scale.number * math.pi / 180:.3g}, if degrees were meant"
            name = component_of(reading, value)
            yield finding("angle-in-degrees", each, what, hint, name, evidence={"divisor": scale.number})


def _is_scaling(value: Value, place: int) -> bool:
    return value.op in ("negative", "multiply", "square", "power", "abs") or (value.op == "divide" and place == 0)


def _against_constants(reading: Reading) -> Iterator[tuple[Value, Value, float]]:
    """Comparisons and differences of an input, or a part or the size of one, with a constant."""
    for value in reading.values:
        if value.op not in COMPARISONS and value.op != "subtract":
            continue
        left, right = value.operands
        for held, constant in ((left, right.number), (right, left.number)):
            if constant is not None and held.inputs:
                yield value, held, constant


def _targets(reading: Reading) -> set[int]:
    """The differences that an error is made of, by their ids."""
    errors = [value for value in reading.values if value.op in ("abs", "power", "norm", "vector_norm")]
    return {id(unscaled(value.operands[0])) for value in errors}


def _is_never(value: Value, held: Value, constant: float) -> bool:
    """Whether a comparison fails on everything measured; one that always holds may be an open end."""
    span, first = held.span, value.operands[0] is held
    if span is None or value.op not in COMPARISONS:
        return False
    above = value.op in (("greater", "greater_equal") if first else ("less", "less_equal"))
    return constant > span.high if above else constant < span.low


def _is_degrees(held: Value, constant: float) -> bool:
    span = held.span
    largest = max(abs(span.low), abs(span.high)) if span else math.inf
    return held.unit == "rad" and abs(constant) > _DEGREES and abs(constant) > 3.0 * largest


def _is_far(reading: Reading, held: Value, constant: float) -> bool:
    source = held.operands[0] if held.op == "abs" else held
    card = variable_cards(reading.card).get(source.variable)
    if card is None or held.span is None or not held.unit or not math.isfinite(constant):
        return False
    if any(word in card.meaning for word in ("begin", "how far", "travelled")):
        return False
    return _distance(held.span, constant) > _room(held.span, card.unit)


def _distance(span: Span, constant: float) -> float:
    return max(constant - span.high, span.low - constant, 0.0)


def _room(span: Span, unit: str) -> float:
    """How far beyond the measured range a trained policy may get."""
    width, size = span.high - span.low, max(abs(span.low), abs(span.high))
    if unit == "m" and span.low > 0.5 * span.high:
        return size
    return _FAR * max(width, 0.3 * size, 1.0 if "/s" in unit else 0.0)


def _out_of_range(reading: Reading, value: Value, held: Value, constant: float, message: str) -> Finding:
    evidence = {"constant": constant}
    if held.span is not None:
        message += f" ({number(held.span.low)} to {number(held.span.high)} with trivial policies)"
        evidence |= {"measured minimum": held.span.low, "measured maximum": held.span.high}
    hint = "take the constant from the variable's range and unit on the task card"
    if held.unit == "rad" and abs(constant) > _DEGREES:
        hint = f"write it in radians: {constant * math.pi / 180:.3g}, if degrees were meant"
    name = component_of(reading, value)
    return finding("threshold-out-of-range", value, message, hint, name, evidence=evidence)


def _is_discrete(value: Value, cards: dict[str, VariableCard]) -> bool:
    """Whether a value only takes some values: a switch, an outcome, a count."""
    if value.op in _DISCRETE | COMPARISONS or not value.inputs:
        return True
    if value.op in ("input", "part"):
        return value.variable not in cards or is_switch(cards[value.variable])
    return bool(value.operands) and all(_is_discrete(each, cards) for each in value.operands)


def _is_choice_of_zero(value: Value) -> bool:
    """Whether zero is tested, which contacts and clamped values do reach."""
    return any(operand.number == 0.0 for operand in value.operands)


def _upper_limit(value: Value) -> float | None:
    if value.op == "clamp":
        return value.operands[2].number
    return value.operands[1].number if value.op == "minimum" else None


def _wanted(reading: Reading, held: Value) -> float | None:
    """The least of this unit that the words on success ask for; None where they name none, or several."""
    card = variable_cards(reading.card).get(held.variable)
    found = [each.number for each in quantities(reading.card.success) if card and each.unit == card.unit]
    return found[0] if len(found) == 1 and held.unit else None
