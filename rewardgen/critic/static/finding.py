"""How a detector tells what it found."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping

from rewardgen.critic.static.reading import ParsedReward
from rewardgen.critic.static.value import Value
from rewardgen.store.records import Finding, Severity


def finding(
    detector: str,
    at: Value | ast.AST | None,
    message: str,
    hint: str,
    component: str | None = None,
    severity: Severity = "warn",
    evidence: Mapping[str, float] | None = None,
) -> Finding:
    """A finding of the gate `static`.

    Args:
        detector: Its stable name.
        at: Where it is seen.
        message: What, after "the reward".
        hint: The likely fix.
        component: The component it concerns, if it is one.
        severity: `reject` only for what surely is wrong.
        evidence: The values that the message rests on.
    """
    node = at.node if isinstance(at, Value) else at
    kept = {name: float(f"{value:.4g}") for name, value in (evidence or {}).items() if math.isfinite(value)}
    return Finding(
        gate="static",
        detector=detector,
        severity=severity,
        message=f"the reward {message}",
        hint=hint,
        line=getattr(node, "lineno", None),
        component=component,
        evidence=kept,
    )


def component_of(reading: ParsedReward, value: Value) -> str | None:
    """The first component that a value has a part in."""
    return reading.owners.get(id(value))


def is_first(told: set[object], value: Value, severity: Severity = "warn") -> bool:
    """Whether neither an equal value nor one made at the same place was told of, as by an earlier turn of a loop.

    Args:
        told: What was told; this value is added.
        value: The value.
        severity: What is to be told: a warning does not stand for a rejection.
    """
    marks = {(severity, value.key), (severity, "at", id(value.node if value.node is not None else value))}
    first = not marks & told
    told |= marks
    return first


def number(value: float) -> str:
    """A number in a message."""
    return f"{value:.4g}"
