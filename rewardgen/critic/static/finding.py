"""How a detector tells what it found."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping

from rewardgen.critic.static.reading import Reading
from rewardgen.critic.static.value import Value, ancestors
from rewardgen.records import Finding, Severity


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
        hint: The likely mend.
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


def component_of(reading: Reading, value: Value) -> str | None:
    """The first component that a value has a part in."""
    for name, component in reading.components.items():
        if any(each is value for each in ancestors(component)):
            return name
    return None


def number(value: float) -> str:
    """A number in a message."""
    return f"{value:.4g}"
