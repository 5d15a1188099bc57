"""The worker job `read`: what the texts of rewards tell; apart from the orchestrator, since a text may be hostile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rewardgen.critic.static.detectors import find_suspicions, not_read
from rewardgen.sandbox.time_limit import OutOfTimeError, time_limit
from rewardgen.store.records import Finding, RewardSpec, TaskCard

TIME_LIMIT_S = 3.0
"""For one reward; a sound one takes a few hundredths of a second."""


def read_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Read the texts of rewards; none of them is run.

    Args:
        payload: `{"card": TaskCard, "rewards": [RewardSpec...]}`.
        report: Not used.

    Returns:
        `{"findings": {candidate id: [Finding...]}}`, an empty list where nothing looks wrong.
    """
    card = TaskCard.model_validate(payload["card"])
    rewards = [RewardSpec.model_validate(each) for each in payload["rewards"]]
    findings = {reward.candidate_id: read_within_limits(reward.source, card) for reward in rewards}
    return {"findings": {id: [each.model_dump(mode="json") for each in found] for id, found in findings.items()}}


def read_within_limits(source: str, card: TaskCard) -> tuple[Finding, ...]:
    """What looks wrong in a reward's text, or that it cannot be told.

    Args:
        source: Any text.
        card: The task.
    """
    try:
        with time_limit(TIME_LIMIT_S):
            return find_suspicions(source, card)
    except OutOfTimeError:
        return (not_read(f"it takes more than {TIME_LIMIT_S:g} s"),)
    except Exception as error:
        # Whatever a text can bring about here costs the author of the text a warning, and nobody else anything.
        return (not_read(f"it ends in {type(error).__name__}"),)
