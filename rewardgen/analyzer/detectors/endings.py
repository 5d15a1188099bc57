"""Detector of episodes that end early."""

from __future__ import annotations

from collections.abc import Iterator

from rewardgen.analyzer.training_curves import Curve
from rewardgen.analyzer.training_evidence import TrainingEvidence, flag
from rewardgen.core.formatting import number, percent
from rewardgen.store.measurements import TIME_LIMIT
from rewardgen.store.records import Flag

EARLY = 0.5
"""Share of the episodes that end early."""
SHORTENED = 0.8
"""Steps per episode, relative to their maximum over training or to those of doing nothing."""


def early_endings(evidence: TrainingEvidence) -> Iterator[Flag]:
    """Find episodes that end early without success, because it pays or because nothing better was learned."""
    curve, idle = evidence.curves.curve, evidence.idle
    if evidence.card.success_terminates or evidence.card.benign_terminations or len(curve) < 3:
        return
    early = {cause: share for cause, share in evidence.curves.terminations.items() if cause != TIME_LIMIT}
    share, last = sum(early.values()), curve[-1]
    numbers = {"early": share, "steps": last.episode_steps, "episode_return": last.episode_return}
    if evidence.everywhere(_shortened_while_return_rose):
        longest = max(point.episode_steps for point in curve)
        lengths = f"{number(longest)} to {number(last.episode_steps)} steps"
        message = f"Episodes became shorter ({lengths}) while the reward rose: ending early pays."
        yield flag("early-ending-pays", message, longest=longest, **numbers)
    elif share > EARLY and last.episode_return < 0:
        message = f"The reward is negative and {percent(share)} of the episodes end early: ending them stops the cost."
        yield flag("early-ending-pays", message, **numbers)
    elif (
        share > EARLY
        and idle is not None
        and last.episode_steps < SHORTENED * idle.episode_steps
        and last.episode_return > idle.episode_return
    ):
        message = "Episodes end sooner than if nothing were done, and the reward is higher: ending early pays."
        yield flag("early-ending-pays", message, idle_steps=idle.episode_steps, **numbers)
    elif share > EARLY:
        worst = max(early, key=early.__getitem__)
        length = number(last.episode_steps)
        message = f"{percent(early[worst])} of the episodes still end by `{worst}`, after {length} steps on average."
        yield flag("ends-early", message, **numbers)


def _shortened_while_return_rose(curve: Curve) -> bool:
    longest, last = max(curve, key=lambda point: point.episode_steps), curve[-1]
    return last.episode_steps < SHORTENED * longest.episode_steps and last.episode_return > longest.episode_return
