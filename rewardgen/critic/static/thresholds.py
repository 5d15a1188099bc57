"""Detectors of constants that do not fit the range of what they are compared with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from rewardgen.critic.static.exponentials import exponent_of
from rewardgen.critic.static.finding import component_of, finding, is_first, number
from rewardgen.critic.static.operators import COMPARISONS
from rewardgen.critic.static.reading import ParsedReward
from rewardgen.critic.static.trends import Quantity, unscaled
from rewardgen.critic.static.value import Span, Value, ancestors, told_from_operands
from rewardgen.critic.static.wording import is_switch, quantities, variable_cards
from rewardgen.store.records import Finding, VariableCard

_FAR = 10.0
_DEGREES = 2.0 * math.pi * 1.05
_DISCRETE = frozenset(["sign", "floor", "ceil", "round", "bool", "places", "argmax", "argmin", "full", "not", "and"])


def distant_thresholds(reading: ParsedReward) -> Iterator[Finding]:
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
        if is_first(told, value):
            yield _out_of_range(reading, value, held, constant, message)


def float_equalities(reading: ParsedReward) -> Iterator[Finding]:
    """Comparisons for equality of what is measured, which is never quite equal."""
    rule = _discrete_by(variable_cards(reading.card))
    discrete: dict[int, bool] = {}
    told: set[object] = set()
    for value in reading.values:
        if value.op not in ("equal", "not_equal") or not value.inputs:
            continue
        continuous = [each for each in value.operands if each.inputs and not told_from_operands(each, rule, discrete)]
        if continuous and not _is_choice_of_zero(value) and is_first(told, value):
            what = f"tests `{value.text()}` for equality, which a measured value hardly ever meets"
            hint = "test a distance: `(x - target).abs() < 0.05`"
            yield finding("float-equality", value, what, hint, component_of(reading, value))


def early_clamps(reading: ParsedReward) -> Iterator[Finding]:
    """Terms that stop growing below what success asks for."""
    early = {id(value): found for value in reading.values if (found := _early(reading, value)) is not None}
    told: set[object] = set()
    for name, component in reading.components.items() if early else ():
        for value in ancestors(component):
            if id(value) not in early:
                continue
            limit, wanted = early[id(value)]
            variable = value.operands[0].variable
            if reading.trends[name].get(Quantity("value", variable)) == 1 and is_first(told, value):
                what = f"stops paying for `{variable}` at {number(limit)}, but success asks for {number(wanted)}"
                hint = "raise the upper bound well above that"
                evidence = {"bound": limit, "success": wanted}
                yield finding("early-clamp", value, what, hint, name, evidence=evidence)


def _early(reading: ParsedReward, value: Value) -> tuple[float, float] | None:
    """The upper bound that a clamp sets to a variable, and what success asks for, where that is more."""
    limit = _upper_limit(value)
    if limit is None or not value.operands[0].variable:
        return None
    wanted = _wanted(reading, value.operands[0])
    return (limit, wanted) if wanted is not None and 0.0 < limit < 0.9 * wanted else None


def dead_clamps(reading: ParsedReward) -> Iterator[Finding]:
    """Clamps whose lower bound is above everything measured: the result is that bound."""
    told: set[object] = set()
    for value in reading.values:
        low = value.operands[1].number if value.op == "clamp" else None
        span = value.operands[0].span if low is not None else None
        high = value.operands[2].number if low is not None else None
        if low is None or high is None or span is None or not value.inputs or low == 0.0 or span.high >= low:
            continue
        if not is_first(told, value):
            continue
        what = f"clamps `{value.operands[0].text()}` to at least {number(low)}, above all that was measured"
        evidence = {"bound": low, "measured maximum": span.high}
        hint = "check the bounds: the result is the same in every state"
        yield finding("dead-clamp", value, what, hint, component_of(reading, value), evidence=evidence)


def squashed_degrees(reading: ParsedReward) -> Iterator[Finding]:
    """Angles in radians that are divided by a number of degrees before they are squashed, which leaves nothing."""
    told: set[object] = set()
    seen: set[int] = set()
    for value in reading.values:
        squashed = value.operands[0] if value.op == "tanh" else exponent_of(value)
        for each in ancestors(squashed, _is_scaling, seen) if squashed is not None else ():
            held, scale = each.operands if each.op == "divide" else (each, each)
            if scale.number is None or not _is_degrees(held, scale.number) or not is_first(told, each):
                continue
            what = f"divides `{held.text()}`, which is in radians, by {number(scale.number)} in `{value.text()}`"
            hint = f"in radians that is {scale.number * math.pi / 180:.3g}, if degrees were meant"
            name = component_of(reading, value)
            yield finding("angle-in-degrees", each, what, hint, name, evidence={"divisor": scale.number})


def _is_scaling(value: Value, place: int) -> bool:
    return value.op in ("negative", "multiply", "square", "power", "abs") or (value.op == "divide" and place == 0)


def _against_constants(reading: ParsedReward) -> Iterator[tuple[Value, Value, float]]:
    """Comparisons and differences of an input, or a part or the size of one, with a constant."""
    for value in reading.values:
        if value.op not in COMPARISONS and value.op != "subtract":
            continue
        left, right = value.operands
        for held, constant in ((left, right.number), (right, left.number)):
            if constant is not None and held.inputs:
                yield value, held, constant


def _targets(reading: ParsedReward) -> set[int]:
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


def _is_far(reading: ParsedReward, held: Value, constant: float) -> bool:
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


def _out_of_range(reading: ParsedReward, value: Value, held: Value, constant: float, message: str) -> Finding:
    evidence = {"constant": constant}
    if held.span is not None:
        message += f" ({number(held.span.low)} to {number(held.span.high)} with trivial policies)"
        evidence |= {"measured minimum": held.span.low, "measured maximum": held.span.high}
    hint = "take the constant from the variable's range and unit on the task card"
    if held.unit == "rad" and abs(constant) > _DEGREES:
        hint = f"write it in radians: {constant * math.pi / 180:.3g}, if degrees were meant"
    name = component_of(reading, value)
    return finding("threshold-out-of-range", value, message, hint, name, evidence=evidence)


def _discrete_by(cards: Mapping[str, VariableCard]) -> Callable[[Value, Mapping[int, bool]], bool]:
    """The rule that tells whether a value only takes some values: a switch, an outcome, a count."""

    def is_discrete(value: Value, known: Mapping[int, bool]) -> bool:
        if value.op in _DISCRETE | COMPARISONS or not value.inputs:
            return True
        if value.op in ("input", "part"):
            return value.variable not in cards or is_switch(cards[value.variable])
        return bool(value.operands) and all(known[id(each)] for each in value.operands)

    return is_discrete


def _is_choice_of_zero(value: Value) -> bool:
    """Whether zero is tested, which contacts and clamped values do reach."""
    return any(operand.number == 0.0 for operand in value.operands)


def _upper_limit(value: Value) -> float | None:
    if value.op == "clamp":
        return value.operands[2].number
    return value.operands[1].number if value.op == "minimum" else None


def _wanted(reading: ParsedReward, held: Value) -> float | None:
    """The least of this unit that the words on success ask for; None where they name none, or several."""
    card = variable_cards(reading.card).get(held.variable)
    found = [each.number for each in quantities(reading.card.success) if card and each.unit == card.unit]
    return found[0] if len(found) == 1 and held.unit else None
