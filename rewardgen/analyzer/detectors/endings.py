"""Detectors that look at how episodes end: early endings that pay, and endings that are avoided."""

from __future__ import annotations

from collections.abc import Iterator

from rewardgen.analyzer.detectors.attractors import held_component
from rewardgen.analyzer.detectors.seen import Curve, TrainingEvidence, flag
from rewardgen.analyzer.training_curves import TIME_LIMIT, correlation
from rewardgen.llm.prompts import number, percent
from rewardgen.store.records import Flag

EARLY = 0.5
"""Share of the episodes that end early."""
SHORTENED = 0.8
"""Steps per episode, relative to their maximum over training or to those of doing nothing."""
LASTING = 0.8
"""Share of the episodes that last until the time limit."""
AVOIDED = -0.3
"""Correlation of return with success."""


def early_endings(seen: TrainingEvidence) -> Iterator[Flag]:
    """Episodes end early, because it pays or because nothing better was learned; success is not meant."""
    if seen.card.success_terminates or len(seen.course.curve) < 3:
        return
    curve, last = seen.course.curve, seen.course.curve[-1]
    early = {cause: share for cause, share in seen.course.endings.items() if cause != TIME_LIMIT}
    share = sum(early.values())
    evidence = {"early": share, "steps": last.episode_steps, "episode_return": last.episode_return}
    longest = max(curve, key=lambda point: point.episode_steps)
    if seen.everywhere(_shortened_while_return_rose):
        lengths = f"{number(longest.episode_steps)} to {number(last.episode_steps)} steps"
        message = f"Episodes became shorter ({lengths}) while the reward rose: ending early pays."
        yield flag("early-ending-pays", message, longest=longest.episode_steps, **evidence)
    elif share > EARLY and last.episode_return < 0:
        message = f"The reward is negative and {percent(share)} of the episodes end early: ending them stops the cost."
        yield flag("early-ending-pays", message, **evidence)
    elif share > EARLY and _sooner_than_idle(seen):
        message = "Episodes end sooner than if nothing were done, and the reward is higher: ending early pays."
        yield flag("early-ending-pays", message, idle_steps=seen.idle.episode_steps if seen.idle else 0.0, **evidence)
    elif share > EARLY:
        worst = max(early, key=early.__getitem__)
        length = number(last.episode_steps)
        message = f"{percent(early[worst])} of the episodes still end by `{worst}`, after {length} steps on average."
        yield flag("ends-early", message, **evidence)


def _shortened_while_return_rose(curve: Curve) -> bool:
    longest = max(curve, key=lambda point: point.episode_steps)
    return (
        curve[-1].episode_steps < SHORTENED * longest.episode_steps
        and curve[-1].episode_return > longest.episode_return
    )


def _sooner_than_idle(seen: TrainingEvidence) -> bool:
    idle, last = seen.idle, seen.course.curve[-1]
    return (
        idle is not None
        and last.episode_steps < SHORTENED * idle.episode_steps
        and last.episode_return > idle.episode_return
    )


def termination_avoidance(seen: TrainingEvidence) -> Iterator[Flag]:
    """Success would end the episode, and with it the reward: the policy stays short of it."""
    curve = seen.course.curve
    if not seen.card.success_terminates or not curve:
        return
    last, r = curve[-1], correlation([point.success_correlation for point in curve])
    if r is not None and r <= AVOIDED:
        message = (
            f"Episodes that succeed collect less reward (r = {r:+.2f}): success ends the episode, and finishing is "
            "worth less than going on."
        )
        yield flag("termination-avoidance", message, correlation=r, success_rate=last.success_rate)
    elif seen.without_success and seen.course.endings.get(TIME_LIMIT, 0.0) > LASTING and (held := held_component(seen)):
        message = (
            f"No episode succeeds and nearly all last to the end, with `{held}` held near its best: success would end "
            "what it pays."
        )
        yield flag("termination-avoidance", message, held, success_rate=last.success_rate, steps=last.episode_steps)
