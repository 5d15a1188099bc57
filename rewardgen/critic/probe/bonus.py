"""Bonuses and penalties that hang on a condition which no recorded or declared state meets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rewardgen.critic.probe.findings import warning
from rewardgen.critic.probe.pairs import Way
from rewardgen.critic.probe.probed_reward import ProbedReward
from rewardgen.critic.probe.source import Makers
from rewardgen.store.records import Finding

_NEARLY_ZERO = 1e-8


def check_bonuses(subject: ProbedReward, makers: Makers, ways: Sequence[Way]) -> Iterator[Finding]:
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
