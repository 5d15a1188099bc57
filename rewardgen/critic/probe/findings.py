"""Findings of the gate `probe`: warnings and rejections with the numbers that they rest on."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rewardgen.store.records import Finding, Severity


def warning(
    detector: str, message: str, hint: str, evidence: Mapping[str, float], component: str | None = None
) -> Finding:
    """A finding that the designer should hear of.

    Args:
        detector: Its stable name.
        message: What was seen.
        hint: What to do about it.
        evidence: The measured values by name.
        component: The component concerned.
    """
    return _finding("warn", detector, message, hint, evidence, component)


def rejection(
    detector: str, message: str, hint: str, evidence: Mapping[str, float], component: str | None = None
) -> Finding:
    """A finding that keeps a reward from being trained; arguments as of `warning`."""
    return _finding("reject", detector, message, hint, evidence, component)


def _finding(
    severity: Severity,
    detector: str,
    message: str,
    hint: str,
    evidence: Mapping[str, float],
    component: str | None,
) -> Finding:
    finite = {name: float(f"{value:.6g}") for name, value in evidence.items() if math.isfinite(value)}
    return Finding(
        gate="probe",
        detector=detector,
        severity=severity,
        message=message,
        hint=hint,
        component=component,
        evidence=finite,
    )
