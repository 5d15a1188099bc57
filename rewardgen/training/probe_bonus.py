"""Bonuses and penalties that hang on a condition which no recorded or declared state meets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rewardgen.records import Finding
from rewardgen.training.probe_findings import warning
from rewardgen.training.probe_pairs import Way
from rewardgen.training.probe_source import Makers
from rewardgen.training.probe_subject import Subject

_NEARLY_ZERO = 1e-8


def check_bonuses(subject: Subject, makers: Makers, ways: Sequence[Way]) -> Iterator[Finding]:
    """Find components that a comparison decides and that are zero in every state known.

    Args:
        subject: The reward.
        makers: Its source.
        ways: Its values between the task's pairs.
    """
    for name, value in subject.components.items():
        known = [value, *(way.components[name] for way in ways)]
        if makers.asks(name) and max(float(each.abs().max()) for each in known) <= _NEARLY_ZERO:
            message = f"the condition of component `{name}` holds in none of {len(value)} recorded transitions"
            hint = "compare its threshold with the ranges of the variables: can a trained policy get there?"
            yield warning("bonus-never-fires", message, hint, {"transitions": len(value), "activation": 0.0}, name)
