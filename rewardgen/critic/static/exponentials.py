"""Detectors of exponentials that explode, vanish, or are taken twice."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from rewardgen.critic.static.elementwise import EXPONENTIALS
from rewardgen.critic.static.finding import component_of, finding, is_first, number
from rewardgen.critic.static.operators import COMPARISONS
from rewardgen.critic.static.reading import ParsedReward
from rewardgen.critic.static.value import Span, Value, ancestors, told_from_operands
from rewardgen.critic.static.wording import variable_cards
from rewardgen.store.records import Finding, Severity

_TAMING = COMPARISONS | EXPONENTIALS | {
    *("log", "log1p", "log2", "log10", "tanh", "sigmoid", "sign", "atan", "arctan", "softsign", "minimum"),
    *("nan_to_num", "softmax", "softplus", "logsumexp", "normalize"),
}  # fmt: skip
_LARGE = 5.0
_DEAD, _FAINT = -30.0, -300.0
_NARROW, _NARROWEST = -1000.0, -5000.0
_RATE, _PLACE = 10.0, 3.0
"""How many times further than trivial policies a trained one may take a speed or a force, and anything else."""
_HINT = "negate it, as in `torch.exp(-error / temperature)`, or bound it with `.clamp(max=...)`"


def positive_exponents(reading: ParsedReward) -> Iterator[Finding]:
    """Exponentials of what has no bound above."""
    told: set[object] = set()
    held = _held(reading)
    for call, exponent in _untamed(reading):
        if not exponent.inputs or exponent.bounds.high <= _LARGE:
            continue
        reach = _reach(reading, exponent)
        evidence = {"exponent within reach": reach if math.isfinite(reach) else _LARGE}
        grown = f"exponent `{exponent.text()}`"
        if exponent.bounds.low >= 0.0 and math.isinf(exponent.bounds.high):
            what = f"takes the exponential of a value that is never negative and has no bound: {grown}"
            severe = math.isfinite(reach) and reach > _LARGE and call.key not in held
            severity: Severity = "reject" if severe else "warn"
            if is_first(told, call, severity):
                name = component_of(reading, call)
                yield finding("positive-exponent", call, what, _HINT, name, severity, evidence)
        elif reach > _LARGE and is_first(told, call):
            what = f"takes the exponential of a value that may grow large: {grown} may reach {number(reach)}"
            yield finding("unbounded-exponent", call, what, _HINT, component_of(reading, call), evidence=evidence)


def nested_exponentials(reading: ParsedReward) -> Iterator[Finding]:
    """Exponentials of exponentials, and of the sum of all terms."""
    parts = [set(component.terms) for component in reading.components.values() if component.inputs]
    held: dict[int, bool] = {}
    told: set[object] = set()
    for value in reading.values:
        exponent = exponent_of(value)
        if exponent is None or not is_first(told, value):
            continue
        if told_from_operands(exponent, _holds_exponential, held):
            what = "takes the exponential of an exponential"
            hint = "take one exponential, of a distance or an error"
            yield finding("nested-exponential", value, what, hint, component_of(reading, value))
        elif sum(bool(part.intersection(exponent.terms)) for part in parts) > 1:
            what = "takes the exponential of a sum of its components"
            hint = "return the components as they are: they are summed, and no component may depend on the others"
            yield finding("exponential-of-total", value, what, hint, component_of(reading, value))


def small_temperatures(reading: ParsedReward) -> Iterator[Finding]:
    """Exponentials that are zero wherever a policy begins."""
    told: set[object] = set()
    for value in reading.values:
        exponent = exponent_of(value)
        span = exponent.span if exponent is not None else None
        if exponent is None or span is None or not exponent.inputs:
            continue
        if _is_dead(exponent, span) and is_first(told, value):
            what = (
                f"has an exponential that is nearly always zero: `{exponent.text()}` is typically {number(span.middle)}"
            )
            hint = "use a temperature about as large as the values it divides, or weigh the distance itself"
            evidence = {"typical exponent": span.middle, "largest exponent measured": span.high}
            name = component_of(reading, value)
            yield finding(
                "temperature-too-small", value, f"{what}, down to {number(span.low)}", hint, name, evidence=evidence
            )


def _is_dead(exponent: Value, span: Span) -> bool:
    """Whether an exponential is zero wherever it was measured, at typical values, or in all but a sliver."""
    typical = span.middle < _FAINT or (span.middle < _DEAD and span.low < _NARROW)
    return span.high < _DEAD or typical or (len(exponent.inputs) <= 2 and span.low < _NARROWEST)


def exponent_of(value: Value) -> Value | None:
    """The exponent of an exponential: `exp(x)` and `0.1 ** x`; None for other values."""
    if value.op in EXPONENTIALS or value.op in ("cosh", "sinh"):
        return value.operands[0]
    if value.op == "power" and not value.operands[0].inputs and value.operands[1].inputs:
        base, exponent = value.operands
        if base.number is not None and base.number > 1.0:
            return exponent
    return None


def _untamed(reading: ParsedReward) -> Iterator[tuple[Value, Value]]:
    """Exponentials whose size reaches a component, with their exponents."""
    for value in ancestors((*reading.components.values(), *reading.totals), _goes_on):
        exponent = exponent_of(value)
        if exponent is not None:
            yield value, exponent


def _holds_exponential(value: Value, known: Mapping[int, bool]) -> bool:
    """Whether the size of an exponential reaches a value."""
    goes_on = (known[id(each)] for place, each in enumerate(value.operands) if _goes_on(value, place))
    return exponent_of(value) is not None or any(goes_on)


def _holds_comparison(value: Value, known: Mapping[int, bool]) -> bool:
    return value.op in COMPARISONS or any(known[id(each)] for each in value.operands)


def _held(reading: ParsedReward) -> set[object]:
    """Keys of exponentials that something in sight keeps small: themselves as a divisor, or a choice by their input."""
    divisors = [value.operands[1] for value in reading.values if value.op == "divide"]
    held: set[object] = {each.key for each in ancestors(divisors) if exponent_of(each) is not None}
    compared: dict[int, bool] = {}
    chosen: dict[frozenset[str], list[Value]] = {}
    for value in reading.values:
        if value.op == "where" and told_from_operands(value.operands[0], _holds_comparison, compared):
            chosen.setdefault(value.operands[0].inputs, []).extend(value.operands[1:])
    for tested, branches in chosen.items():
        exponents = ((each, exponent_of(each)) for each in ancestors(branches))
        held |= {each.key for each, inner in exponents if inner is not None and inner.inputs <= tested}
    return held


def _goes_on(value: Value, place: int) -> bool:
    """Whether the size of an operand still matters for the size of the value."""
    if value.op in _TAMING or exponent_of(value) is not None:
        return False
    if value.op == "clamp":
        return place == 0 and value.operands[2].constant is None
    if value.op == "power":
        return place == 0 and (value.operands[1].number or 0.0) > 0.0
    return not (value.op == "divide" and place == 1) and not (value.op == "where" and place == 0)


def _reach(reading: ParsedReward, exponent: Value) -> float:
    """How large an exponent may become in states that a trained policy visits; not a number if nothing is known."""
    if exponent.span is None:
        return exponent.bounds.high if math.isfinite(exponent.bounds.high) else math.nan
    cards = variable_cards(reading.card)
    units = [cards[name].unit for name in exponent.inputs if name in cards]
    rate = any("/s" in unit or unit == "N" for unit in units)
    return min(exponent.span.high * (_RATE if rate else _PLACE), exponent.bounds.high)
