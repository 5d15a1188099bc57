"""All ideas on one card, from every variable: what drafts, additions and edits choose from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal

from rewardgen.designer.builtin.genome import TermInput
from rewardgen.designer.builtin.ideas import Idea, Proposer, Role, finer
from rewardgen.designer.builtin.quantities import Kind, Quantity, extent, quantities, unit_of
from rewardgen.designer.builtin.words import has
from rewardgen.store.records import TaskCard

Axis = Literal["forward", "lateral", "vertical", "none"]

_NEGLIGIBLE = 0.008
"""Ideas below this prior would only lengthen the list."""
_AGAINST = 0.015
"""Prior of a direction that the words do not ask for, relative to the one they do."""
_MOVES = ("go", "forward", "backward", "sideways", "high", "reach", "spin")
"""Intents that make a pose a means; without them the pose is the end."""
_TILT = r"pitch|roll|tilt|lean\w*|inclination|from (?:the )?(?:vertical|upright|horizontal)|upright"
_LOAD = r"forces?|torques?|loads?"


def catalogue(card: TaskCard, goal: str = "") -> tuple[Idea, ...]:
    """Every idea on a card, the likeliest first.

    Args:
        card: The task.
        goal: The user's own words.

    Returns:
        At least one idea with the role `drive`, whatever the card says.
    """
    proposer = Proposer(card, goal)
    found = quantities(card)
    usable = [each for each in found if all(map(math.isfinite, (each.low, each.middle, each.high)))]
    ideas = [idea for quantity in usable for make in _MAKERS[quantity.kind] for idea in make(proposer, quantity)]
    ideas += [*_vector_ideas(proposer), *_action_ideas(proposer)]
    if _survival_counts(card) and usable and not any(idea.role == "alive" for idea in ideas):
        worth = max(proposer.falling, 0.2)
        ideas.append(proposer.idea("alive", "alive", "alive", usable[0].input, 0.8 * worth, worth))
    if not any(idea.role == "drive" for idea in ideas):
        ideas += [idea for quantity in usable for idea in _blind_ideas(proposer, quantity)]
    kept = [idea for idea in ideas if idea.prior > _NEGLIGIBLE]
    return tuple(sorted(kept, key=lambda idea: (-idea.prior, repr(idea.term))))


def _survival_counts(card: TaskCard) -> bool:
    """Whether an episode can end in failure. Paid for each step, it keeps off a success that ends it."""
    return bool(card.termination_causes) and not (card.success_terminates or card.ends_wanted)


def _vector_ideas(proposer: Proposer) -> Iterator[Idea]:
    """Calm joints, quiet contacts: whole vectors at once. Positions of joints only if the task wants stillness."""
    still = proposer.words.strength("still")
    for variable in (each for each in proposer.card.variables if each.shape and each.shape[0] > 1 > sum(each.given)):
        read, unit, topic = TermInput(variable.name), unit_of(variable), f"calm:{variable.name}"
        if unit in ("rad/s", "m/s"):
            yield proposer.idea("steady", topic, "calm", read, 0.15 + 0.3 * still, scale=extent(variable))
        elif unit in ("n", "nm") or has(variable.meaning.lower(), _LOAD):
            yield proposer.idea("steady", topic, "calm", read, 0.04, 0.5, scale=extent(variable))
        elif unit == "rad":
            wide = 0.25 * extent(variable) ** 2
            yield proposer.idea("steady", topic, "settled", read, 0.05 + 0.3 * still, temperature=wide)


def _action_ideas(proposer: Proposer) -> Iterator[Idea]:
    bounds = [*proposer.card.action_low, *proposer.card.action_high]
    # A unit of effort is full power on every actuator, whatever its units.
    full = sum(bound**2 for bound in bounds) / max(len(bounds), 1) or 1.0
    yield proposer.idea("cost", "effort", "effort", TermInput("action"), 1.0, 1.0 / full)
    yield proposer.idea("cost", "smooth", "smooth", TermInput("action"), 0.3, 0.5 / full)


def _blind_ideas(proposer: Proposer, quantity: Quantity) -> Iterator[Idea]:
    """Without a word on what to do: more, less, or a value in the upper, middle or lower part of the measured range."""
    prior, topic = 0.3 * proposer.importance(quantity), _topic("blind", quantity)
    for shape in ("progress_soft", "reverse_soft"):
        yield proposer.idea("drive", topic, shape, quantity.input, prior, reference=quantity.extent)
    for target in (quantity.low, quantity.middle, quantity.high):
        yield from proposer.around("drive", topic, quantity, target, 0.3 * prior)


def _topic(about: str, quantity: Quantity) -> str:
    return f"{about}:{quantity.input.variable}:{quantity.input.part}"


# How things move: progress along an axis, spinning, and keeping still what should be.


def _axis_of(quantity: Quantity) -> Axis:
    """The direction that a length or speed is measured along, by its words or the axis convention (x forward, z up)."""
    if quantity.says(r"vertical|upwards?|above the (?:ground|floor)|height|elevation|altitude"):
        return "vertical"
    if quantity.says(r"lateral|sideways|to the left|to the right"):
        return "lateral"
    if quantity.says(r"forwards?|ahead"):
        return "forward"
    if quantity.says("x"):
        return "forward"
    return "lateral" if quantity.says("y") else "vertical" if quantity.says("z") else "none"


def _speed_ideas(proposer: Proposer, quantity: Quantity) -> Iterator[Idea]:
    words, importance, axis, onward = proposer.words, proposer.importance(quantity), _axis_of(quantity), proposer.onward
    if axis == "forward" and onward:
        yield from _progress(proposer, quantity, "forward", importance * onward, words.backward)
        return
    if axis == "lateral" and words.strength("sideways"):
        yield from _both_ways(proposer, quantity, "sideways", importance * words.strength("sideways"))
    elif axis == "vertical" and words.strength("high"):
        yield from _progress(proposer, quantity, "rising", 0.6 * importance * words.strength("high"), False)
    drift = {"lateral": 0.35, "vertical": 0.06}.get(axis, 0.12) if onward else 0.12
    yield from _stillness(proposer, quantity, drift * importance)


def _rate_ideas(proposer: Proposer, quantity: Quantity) -> Iterator[Idea]:
    """Spinning if the words ask for it, calm otherwise."""
    importance = proposer.importance(quantity)
    spin = proposer.words.strength("spin")
    if spin:
        yield from _both_ways(proposer, quantity, "spin", importance * spin)
    yield from _stillness(proposer, quantity, 0.3 * importance)


def _travel_ideas(proposer: Proposer, quantity: Quantity) -> Iterator[Idea]:
    """The change of a position along the way that the task asks for."""
    onward = proposer.onward
    if _axis_of(quantity) != "forward" or not onward or quantity.says("relative to|foot|feet|hands?"):
        return
    speed = proposer.speed_reference(quantity, "m/s") if proposer.words.numbers("m/s") else 1.0
    step = speed * proposer.card.control_step_s
    for shape in ("advance", "approach"):
        wanted = (shape == "approach") == proposer.words.backward
        prior = 0.25 * proposer.importance(quantity) * onward * (1.0 if wanted else _AGAINST)
        yield proposer.idea("drive", "forward", shape, quantity.input, prior, step=step)


def _progress(proposer: Proposer, quantity: Quantity, topic: str, prior: float, backward: bool) -> Iterator[Idea]:
    reference = proposer.speed_reference(quantity, "m/s")
    with_words, against = ("reverse", "progress") if backward else ("progress", "reverse")
    make, read = proposer.idea, quantity.input
    yield make("drive", topic, with_words, read, prior, reference=reference)
    # The soft form must not level off within what a trained policy reaches, several times the random one.
    yield make("drive", topic, f"{with_words}_soft", read, 0.3 * prior, 2.0, reference=3.0 * reference)
    yield make("drive", topic, against, read, _AGAINST * prior, reference=reference)


def _both_ways(proposer: Proposer, quantity: Quantity, topic: str, prior: float) -> Iterator[Idea]:
    reference = proposer.speed_reference(quantity, "rad/s" if quantity.kind == "rate" else "m/s")
    for shape, share in (("progress", 1.0), ("reverse", 0.9), ("progress_soft", 0.3), ("reverse_soft", 0.3)):
        yield proposer.idea("drive", topic, shape, quantity.input, share * prior, reference=reference)


def _stillness(proposer: Proposer, quantity: Quantity, prior: float) -> Iterator[Idea]:
    topic = _topic("still", quantity)
    yield proposer.idea("steady", topic, "still", quantity.input, prior, scale=quantity.extent)
    if proposer.words.strength("still") > proposer.onward:
        yield from proposer.around("steady", topic, quantity, 0.0, 0.5 * prior)


# Where things are: angles and their cosines, heights, places, distances, and flags that hold.


def _pose_role(proposer: Proposer) -> Role:
    """Whether an upright pose is what the task is about, or what it needs."""
    upright = proposer.words.strength("upright")
    return "drive" if upright > proposer.words.strength(*_MOVES) else "posture"


def _pose_worth(proposer: Proposer, quantity: Quantity) -> float:
    """How much an upright pose matters: as its quantity does, unless the task is to turn over."""
    return proposer.importance(quantity) * (1.0 - 0.9 * proposer.words.strength("spin"))


def _cosine_ideas(proposer: Proposer, quantity: Quantity) -> Iterator[Idea]:
    """The cosine of an angle to a wanted direction."""
    make, read, role, prior = proposer.idea, quantity.input, _pose_role(proposer), _pose_worth(proposer, quantity)
    downward = quantity.desired is not None and quantity.desired < 0
    along, against, target = ("opposed", "aligned", -1.0) if downward else ("aligned", "opposed", 1.0)
    yield make(role, "tilt", along, read, prior)
    wide = make(role, "tilt", "near", read, 0.35 * prior, target=target, temperature=0.5)
    yield wide
    yield finer(replace(wide, prior=0.2 * prior))
    yield make(role, "tilt", against, read, 0.03 * prior)


def _angle_ideas(proposer: Proposer, quantity: Quantity) -> Iterator[Idea]:
    """A tilt is held upright, a heading straight, another angle where it mostly was."""
    importance, target = proposer.importance(quantity), quantity.desired or 0.0
    role: Role = "steady"
    if quantity.says("yaw|heading|direction"):
        topic, prior = "heading", 0.5 * proposer.words.strength("go", "forward", "straight") * importance
    elif quantity.says(_TILT) or (quantity.desired is not None and quantity.crowd == 1):
        role, prior = _pose_role(proposer), 0.8 * _pose_worth(proposer, quantity)
        topic = "tilt:roll" if quantity.says("roll") else "tilt"
    else:
        topic, prior, target = f"angle:{quantity.input}", 0.1 * importance, quantity.middle
    if quantity.extent > 2.0:
        yield proposer.idea(role, topic, "facing", quantity.input, prior, target=target)
        prior *= 0.3
    yield from proposer.around(role, topic, quantity, target, prior)


def _length_ideas(proposer: Proposer, quantity: Quantity) -> Iterator[Idea]:
    """A height or a place."""
    axis, words = _axis_of(quantity), proposer.words
    topic, importance = _topic("place", quantity), proposer.importance(quantity)
    going = proposer.onward and axis == "forward"
    middle = r"middle|cent(?:re|er) of the|origin|rail|track|from (?:the )?cent(?:re|er)"
    if axis == "vertical":
        yield from _height_ideas(proposer, quantity)
    elif not going and quantity.says(middle):
        central = words.strength("centre")
        rest = words.strength("go", "forward", "backward", "sideways", "high", "spin", "upright")
        if central and central >= rest:
            yield from proposer.arriving("drive", topic, quantity, importance)
        else:
            yield from proposer.around("steady", topic, quantity, 0.0, 0.5 * importance)
    elif axis == "lateral":
        yield from proposer.around("steady", topic, quantity, 0.0, 0.2 * importance, widening=3.0)


def _height_ideas(proposer: Proposer, quantity: Quantity) -> Iterator[Idea]:
    words, importance, read = proposer.words, proposer.importance(quantity), quantity.input
    high, low = words.strength("high"), words.strength("low")
    make, span = proposer.idea, max(quantity.span, 0.1 * quantity.extent)
    if high:
        yield make("drive", "height", "raised", read, importance * high, start=quantity.middle, rise=1.5 * span)
    if low:
        yield make("drive", "height", "lowered", read, importance * low, start=quantity.middle, drop=span)
    standing = quantity.desired if quantity.desired is not None else max(quantity.middle, 0.5 * quantity.high)
    margin = max(0.15 * abs(standing), 0.1 * span)
    prior = importance * (0.7 if words.strength("upright") or proposer.card.termination_causes else 0.3)
    role = _pose_role(proposer)
    yield make(role, "height", "above", read, prior, floor=standing - margin, margin=margin)
    yield make(role, "height", "near", read, 0.4 * prior, target=standing, temperature=2.0 * margin**2)
    yield make(role, "height", "raised", read, 0.15 * prior, start=standing - 3.0 * margin, rise=3.0 * margin)


def _distance_ideas(proposer: Proposer, quantity: Quantity) -> Iterator[Idea]:
    """Small if the task is to reach something, or if it is an error."""
    reach = proposer.words.strength("reach")
    role: Role = "drive" if reach else "posture"
    prior = proposer.importance(quantity) * max(reach, 0.3)
    topic, read = f"distance:{quantity.input.variable}", quantity.input
    yield from proposer.arriving(role, topic, quantity, prior)
    # A change worth 1 crosses the measured range in a second, or in a tenth of a short episode.
    seconds = min(1.0, 0.1 * proposer.card.episode_seconds)
    step = quantity.extent * proposer.card.control_step_s / max(seconds, 1e-3)
    yield proposer.idea(role, f"{topic}:change", "approach", read, 0.4 * prior, step=step)
    yield proposer.idea(role, topic, "still", read, 0.3 * prior, scale=quantity.extent)


def _flag_ideas(proposer: Proposer, quantity: Quantity) -> Iterator[Idea]:
    """Being healthy is worth a bonus, whatever else holds perhaps."""
    if quantity.says(r"healthy|alive|no termination|survives?"):
        if _survival_counts(proposer.card):
            worth = max(proposer.falling, 0.2)
            yield proposer.idea("alive", "alive", "holds", quantity.input, worth, worth)
    elif not quantity.says("success|goal reached|solved"):
        prior = 0.1 * proposer.importance(quantity)
        yield proposer.idea("posture", f"flag:{quantity.input}", "holds", quantity.input, prior)


def _other_ideas(proposer: Proposer, quantity: Quantity) -> Iterator[Idea]:
    """What has no known kind: small loads; more or less of what the task's words name."""
    read, scale = quantity.input, quantity.extent
    named = len(quantity.nouns & proposer.words.nouns)
    if quantity.crowd == 1 and quantity.says(_LOAD):
        yield proposer.idea("steady", f"calm:{read.variable}", "still", read, 0.04, 0.5, scale=scale)
    elif named:
        for shape in ("progress_soft", "reverse_soft"):
            yield proposer.idea("drive", f"other:{read}", shape, read, 0.05 * named, reference=scale)


_MAKERS: dict[Kind, tuple[Callable[[Proposer, Quantity], Iterator[Idea]], ...]] = {
    "speed": (_speed_ideas,),
    "rate": (_rate_ideas,),
    "length": (_length_ideas, _travel_ideas),
    "distance": (_distance_ideas,),
    "angle": (_angle_ideas,),
    "cosine": (_cosine_ideas,),
    "flag": (_flag_ideas,),
    "other": (_other_ideas,),
}
