"""Detectors of divisions and functions that are undefined at some of the values they may get."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from rewardgen.critic.static.finding import component_of, finding, is_first
from rewardgen.critic.static.reading import ParsedReward
from rewardgen.critic.static.trends import stepped
from rewardgen.critic.static.value import Value, ancestors, told_from_operands
from rewardgen.store.records import Finding, Severity

_GUARDING = frozenset(["where", "nan_to_num", "and", "maximum"])
_ZERO_WITH_OPERAND = frozenset(
    [
        "abs",
        "norm",
        "vector_norm",
        "sqrt",
        "sum",
        "mean",
        "prod",
        "negative",
        "squeeze",
        "unsqueeze",
        "reshape",
        "view",
        "entry",
        "unbind",
    ]
)
_RISKY = frozenset(["input", "part", "subtract"])
_LOGARITHMS = {"log": 0.0, "log2": 0.0, "log10": 0.0, "log1p": -1.0}
_ARCS = frozenset(["acos", "arccos", "asin", "arcsin"])


def unguarded_divisions(reading: ParsedReward) -> Iterator[Finding]:
    """Divisions by what may be zero."""
    told: set[object] = set()
    vanishing: dict[int, bool] = {}
    for value in _exposed(reading):
        divisor = value.operands[1] if value.op == "divide" else None
        if value.op == "power" and (value.operands[1].number or 0.0) < 0.0:
            divisor = value.operands[0]
        if divisor is None or not told_from_operands(divisor, _vanishes, vanishing):
            continue
        at_rest = stepped(_inside(divisor)) is not None
        severity: Severity = "reject" if at_rest else "warn"
        if not is_first(told, divisor, severity):
            continue
        name, words = component_of(reading, value), f"divides by `{divisor.text()}`"
        hint = "add a small constant, or use `.clamp(min=1e-6)`"
        when = "is zero at an episode's first step, where `prev_` values equal the current ones"
        what = f"{words}, which {when if at_rest else 'may be zero'}"
        yield finding("unguarded-division", value, what, hint, name, severity)


def unguarded_domains(reading: ParsedReward) -> Iterator[Finding]:
    """Roots, logarithms and arcs of what may lie outside their domain."""
    told: set[object] = set()
    for value in _exposed(reading):
        needs = _domain(value)
        argument = value.operands[0] if value.operands else value
        severity: Severity = "reject" if value.op == "sqrt" and argument.bounds.high < 0.0 else "warn"
        if needs is None or not argument.inputs or not is_first(told, value, severity):
            continue
        what = f"takes `{value.op}` of `{argument.text()}`, which may be {needs[0]}"
        yield finding("unguarded-domain", value, what, needs[1], component_of(reading, value), severity)


def _vanishes(value: Value, known: Mapping[int, bool]) -> bool:
    """Whether a divisor depends on the state and shows no guard against zero."""
    if not value.inputs or not value.bounds.low <= 0.0 <= value.bounds.high or _stays_away(value):
        return False
    if value.op in _RISKY:
        return True
    if value.op in ("add", "multiply"):
        parts = [known[id(operand)] for operand in value.operands]
        guarded = value.op == "add" and any(not operand.inputs for operand in value.operands)
        return not guarded and (all(parts) if value.op == "add" else any(parts))
    keeps = value.op in ("power", "divide") or value.op in _ZERO_WITH_OPERAND
    return keeps and known[id(value.operands[0])]


def _domain(value: Value) -> tuple[str, str] | None:
    """What an argument may be that it must not be, and the fix."""
    if not value.operands:
        return None
    argument = value.operands[0]
    low, high = argument.bounds
    if value.op == "power":
        exponent = value.operands[1].number
        rooted = exponent is not None and math.isfinite(exponent) and not exponent.is_integer()
        return ("negative", "clamp it first: `.clamp(min=0.0)`") if rooted and _falls_below(argument, 0.0) else None
    if value.op == "sqrt" and (_falls_below(argument, 0.0) or (argument.op == "subtract" and low == 0.0)):
        return "negative, if only by rounding", "clamp it first: `.clamp(min=0.0)`"
    if value.op in _LOGARITHMS:
        least = _LOGARITHMS[value.op]
        zero = low == least and not _is_shifted(argument) and not _stays_away(argument) and value.op != "log1p"
        outside = zero or _falls_below(argument, least)
        return ("zero or negative", "clamp it first: `.clamp(min=1e-6)`") if outside else None
    exact = argument.op not in ("clamp", "tanh", "sin", "cos", "sign") and max(abs(low), abs(high)) == 1.0
    if value.op in _ARCS and (low < -1.0 or high > 1.0 or exact):
        return "outside [-1, 1], if only by rounding", "clamp it first: `.clamp(-1.0, 1.0)`"
    return None


def _falls_below(value: Value, least: float) -> bool:
    if value.bounds.low >= least or value.op in ("unread", "item", "repeated", "join", "assigned"):
        return False
    return value.span is None or value.span.low - least < 0.5 * (value.span.high - value.span.low)


def _is_shifted(value: Value) -> bool:
    return value.op == "add" and any(not operand.inputs for operand in value.operands)


def _stays_away(value: Value) -> bool:
    """Whether a quantity was measured far from zero, as a robot's height."""
    span = value.span
    return span is not None and (span.low > 0.2 * span.high > 0.0 or span.high < 0.2 * span.low < 0.0)


def _inside(value: Value) -> Value:
    """A divisor without what keeps zero zero."""
    while value.op in _ZERO_WITH_OPERAND or value.op == "power":
        value = value.operands[0]
    return value


def _exposed(reading: ParsedReward) -> Iterator[Value]:
    """Values that reach a component without a guard on the way."""
    returned = (*reading.components.values(), *reading.totals)
    yield from ancestors(returned, lambda value, place: value.op not in _GUARDING)
