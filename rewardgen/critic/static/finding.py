"""How a static detector tells what it found."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from rewardgen.store.records import Finding, Severity


def finding(
    detector: str,
    at: ast.AST | None,
    message: str,
    hint: str,
    severity: Severity = "warn",
    evidence: Mapping[str, float] | None = None,
) -> Finding:
    """A finding of the gate `static`.

    Args:
        detector: Its name.
        at: Where it is seen.
        message: What, after "the reward".
        hint: The fix.
        severity: `reject` only for what surely is wrong.
        evidence: The numbers that the message rests on, by name.
    """
    return Finding(
        gate="static",
        detector=detector,
        severity=severity,
        message=f"the reward {message}",
        hint=hint,
        line=getattr(at, "lineno", None),
        evidence=dict(evidence or {}),
    )
