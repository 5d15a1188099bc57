"""Ideas on where things are: angles and their cosines, heights, places, distances, and flags that hold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from rewardgen.designer.builtin.ideas import Idea, Proposer, Role, around, arriving, finer
from rewardgen.designer.builtin.motion import axis_of
from rewardgen.designer.builtin.quantities import Quantity

_MOVES = ("go", "forward", "backward", "sideways", "high", "reach", "spin")
"""Intents that make a pose a means; without them the pose is the end."""

_TILT = r"pitch|roll|tilt|lean\w*|inclination|from (?:the )?(?:vertical|upright|horizontal)|upright"


def pose_role(proposer: Proposer) -> Role:
    """Whether an upright pose is what the task is about, or what it needs."""
    upright = proposer.words.strength("upright")
    return "drive" if upright > proposer.words.strength(*_MOVES) else "posture"


def _worth(proposer: Proposer, quantity: Quantity) -> float:
    """How much an upright pose matters: as its quantity does, unless the task is to turn over."""
    return proposer.importance(quantity) * (1.0 - 0.9 * proposer.words.strength("spin"))


def cosine_ideas(proposer: Proposer, quantity: Quantity) -> Iterator[Idea]:
    """Ideas on the cosine of an angle to a wanted direction."""
    role, prior = pose_role(proposer), _worth(proposer, quantity)
    wanted = -1.0 if quantity.desired is not None and quantity.desired < 0 else 1.0
    along, against = ("aligned", "opposed") if wanted > 0 else ("opposed", "aligned")
    yield proposer.idea(role, "tilt", along, quantity.reading, prior)
    wide = proposer.idea(role, "tilt", "near", quantity.reading, 0.35 * prior, target=wanted, temperature=0.5)
    yield wide
    yield finer(replace(wide, prior=0.2 * prior))
    yield proposer.idea(role, "tilt", against, quantity.reading, 0.03 * prior)


def angle_ideas(proposer: Proposer, quantity: Quantity) -> Iterator[Idea]:
    """Ideas on an angle: a tilt is held upright, a heading straight, another angle where it mostly was."""
    importance, heading = proposer.importance(quantity), quantity.says("yaw|heading|direction")
    target = quantity.desired or 0.0
    if heading:
        role, topic, prior = (
            "steady",
            "heading",
            0.5 * proposer.words.strength("go", "forward", "straight") * importance,
        )
    elif quantity.says(_TILT) or (quantity.desired is not None and quantity.crowd == 1):
        role, topic, prior = pose_role(proposer), _tilt_topic(quantity), 0.8 * _worth(proposer, quantity)
    else:
        role, topic, prior = "steady", f"angle:{quantity.reading}", 0.1 * importance
        target = quantity.middle
    if quantity.extent > 2.0:
        yield proposer.idea(role, topic, "facing", quantity.reading, prior, target=target)
        prior *= 0.3
    yield from around(proposer, role, topic, quantity, target, prior)


def _tilt_topic(quantity: Quantity) -> str:
    axis = next((axis for axis in ("roll", "pitch") if quantity.says(axis)), "")
    return "tilt" if axis != "roll" else "tilt:roll"


def length_ideas(proposer: Proposer, quantity: Quantity) -> Iterator[Idea]:
    """Ideas on a height or a place."""
    axis = axis_of(quantity)
    if axis == "vertical":
        yield from _height_ideas(proposer, quantity)
    elif _has_a_middle(quantity, proposer):
        central = proposer.words.strength("centre")
        rest = proposer.words.strength("go", "forward", "backward", "sideways", "high", "spin", "upright")
        role: Role = "drive" if central and central >= rest else "steady"
        prior = (1.0 if role == "drive" else 0.5) * proposer.importance(quantity)
        ways = arriving if role == "drive" else _centred
        yield from ways(proposer, role, _place(quantity), quantity, prior)
    elif axis == "lateral":
        prior = 0.2 * proposer.importance(quantity)
        yield from around(proposer, "steady", _place(quantity), quantity, 0.0, prior, widening=3.0)


def _centred(proposer: Proposer, role: Role, topic: str, quantity: Quantity, prior: float) -> Iterator[Idea]:
    return around(proposer, role, topic, quantity, 0.0, prior)


def _place(quantity: Quantity) -> str:
    return f"place:{quantity.reading.variable}:{quantity.reading.part}"


def _has_a_middle(quantity: Quantity, proposer: Proposer) -> bool:
    going = proposer.words.strength("go", "forward", "backward") and axis_of(quantity) == "forward"
    return not going and quantity.says(r"middle|cent(?:re|er) of the|origin|rail|track|from (?:the )?cent(?:re|er)")


def _height_ideas(proposer: Proposer, quantity: Quantity) -> Iterator[Idea]:
    words, importance, reading = proposer.words, proposer.importance(quantity), quantity.reading
    high, low = words.strength("high"), words.strength("low")
    make, span = proposer.idea, max(quantity.span, 0.1 * quantity.extent)
    if high:
        yield make("drive", "height", "raised", reading, importance * high, start=quantity.middle, rise=1.5 * span)
    if low:
        yield make("drive", "height", "lowered", reading, importance * low, start=quantity.middle, drop=span)
    standing = quantity.desired if quantity.desired is not None else max(quantity.middle, 0.5 * quantity.high)
    margin = max(0.15 * abs(standing), 0.1 * span)
    prior = importance * (0.7 if words.strength("upright") or proposer.card.termination_causes else 0.3)
    role: Role = "drive" if pose_role(proposer) == "drive" else "posture"
    yield make(role, "height", "above", reading, prior, floor=standing - margin, margin=margin)
    yield make(role, "height", "near", reading, 0.4 * prior, target=standing, temperature=2.0 * margin**2)
    yield make(role, "height", "raised", reading, 0.15 * prior, start=standing - 3.0 * margin, rise=3.0 * margin)


def distance_ideas(proposer: Proposer, quantity: Quantity) -> Iterator[Idea]:
    """Ideas on a distance: small if the task is to reach something, or if it is an error."""
    reach = proposer.words.strength("reach")
    role: Role = "drive" if reach else "posture"
    prior = proposer.importance(quantity) * max(reach, 0.3)
    topic, reading, make = f"distance:{quantity.reading.variable}", quantity.reading, proposer.idea
    yield from arriving(proposer, role, topic, quantity, prior)
    yield make(role, f"{topic}:change", "approach", reading, 0.4 * prior, step=_step(proposer, quantity))
    yield make(role, topic, "still", reading, 0.3 * prior, scale=quantity.extent)


def _step(proposer: Proposer, quantity: Quantity) -> float:
    """A change per control step worth 1: the measured range crossed in a second, or in a tenth of a short episode."""
    seconds = min(1.0, 0.1 * proposer.card.episode_seconds)
    return quantity.extent * proposer.card.control_step_s / max(seconds, 1e-3)


def flag_ideas(proposer: Proposer, quantity: Quantity) -> Iterator[Idea]:
    """Ideas on a yes or no: being healthy is worth a bonus, whatever else holds perhaps."""
    card = proposer.card
    if quantity.says(r"healthy|alive|no termination|survives?"):
        # Paid per step, it would keep a policy from a success that ends the episode.
        if card.termination_causes and not card.success_terminates:
            worth = max(proposer.falling, 0.2)
            yield proposer.idea("alive", "alive", "holds", quantity.reading, worth, worth)
    elif not quantity.says("success|goal reached|solved"):
        yield proposer.idea(
            "posture", f"flag:{quantity.reading}", "holds", quantity.reading, 0.1 * proposer.importance(quantity)
        )


def other_ideas(proposer: Proposer, quantity: Quantity) -> Iterator[Idea]:
    """Ideas on what has no known kind: small loads; more or less of what the task's words name."""
    if quantity.crowd == 1 and quantity.says(r"forces?|torques?|loads?"):
        yield proposer.idea(
            "steady", f"calm:{quantity.reading.variable}", "still", quantity.reading, 0.04, 0.5, scale=quantity.extent
        )
        return
    named = len(quantity.nouns & proposer.words.nouns)
    if not named or not math.isfinite(quantity.span):
        return
    for shape in ("progress_soft", "reverse_soft"):
        yield proposer.idea(
            "drive", f"other:{quantity.reading}", shape, quantity.reading, 0.05 * named, reference=quantity.extent
        )
