"""Ideas on how things move: progress along an axis, spinning, and keeping still what should be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from rewardgen.designer.builtin.ideas import Idea, Proposer, around, speed_reference
from rewardgen.designer.builtin.quantities import Quantity

Axis = Literal["forward", "lateral", "vertical", "none"]

_AGAINST = 0.015
"""Prior of a direction that the words do not ask for, relative to the one they do."""


def axis_of(quantity: Quantity) -> Axis:
    """The direction that a length or speed is measured along, by its words or the axis convention (x forward, z up)."""
    if quantity.says(r"vertical|upwards?|above the (?:ground|floor)|height|elevation|altitude"):
        return "vertical"
    if quantity.says(r"lateral|sideways|to the left|to the right"):
        return "lateral"
    if quantity.says(r"forwards?|ahead"):
        return "forward"
    letters: tuple[tuple[str, Axis], ...] = (("x", "forward"), ("y", "lateral"), ("z", "vertical"))
    named: list[Axis] = [axis for letter, axis in letters if quantity.says(letter)]
    return named[0] if named else "none"


def speed_ideas(proposer: Proposer, quantity: Quantity) -> Iterator[Idea]:
    """Ideas on a linear velocity."""
    words, importance, axis = proposer.words, proposer.importance(quantity), axis_of(quantity)
    forth = words.strength("go", "forward", "backward")
    if axis == "forward" and forth:
        yield from _progress(proposer, quantity, "forward", importance * forth, words.backward)
    elif axis == "lateral" and words.strength("sideways"):
        yield from _both_ways(proposer, quantity, "sideways", importance * words.strength("sideways"))
    elif axis == "vertical" and words.strength("high"):
        yield from _progress(proposer, quantity, "rising", 0.6 * importance * words.strength("high"), False)
    if axis == "forward" and forth:
        return
    drift = {"lateral": 0.35, "vertical": 0.06}.get(axis, 0.12) if forth else 0.12
    yield from _stillness(proposer, quantity, drift * importance)


def rate_ideas(proposer: Proposer, quantity: Quantity) -> Iterator[Idea]:
    """Ideas on an angular velocity: spinning if the words ask for it, calm otherwise."""
    importance = proposer.importance(quantity)
    spin = proposer.words.strength("spin")
    if spin:
        yield from _both_ways(proposer, quantity, "spin", importance * spin)
    yield from _stillness(proposer, quantity, 0.3 * importance)


def travel_ideas(proposer: Proposer, quantity: Quantity) -> Iterator[Idea]:
    """Ideas on the change of a position along the way that the task asks for."""
    forth = proposer.words.strength("go", "forward", "backward")
    if axis_of(quantity) != "forward" or not forth or quantity.says("relative to|foot|feet|hands?"):
        return
    step = speed_reference(proposer, quantity, "m/s") if proposer.words.numbers("m/s") else 1.0
    for shape in ("advance", "approach"):
        wanted = (shape == "approach") == proposer.words.backward
        prior = 0.25 * proposer.importance(quantity) * forth * (1.0 if wanted else _AGAINST)
        yield proposer.idea(
            "drive", "forward", shape, quantity.reading, prior, step=step * proposer.card.control_step_s
        )


def _progress(proposer: Proposer, quantity: Quantity, topic: str, prior: float, backward: bool) -> Iterator[Idea]:
    reference = speed_reference(proposer, quantity, "m/s")
    with_words, against = ("reverse", "progress") if backward else ("progress", "reverse")
    make, reading = proposer.idea, quantity.reading
    yield make("drive", topic, with_words, reading, prior, reference=reference)
    # The soft form must not level off within what a trained policy reaches, several times the random one.
    yield make("drive", topic, f"{with_words}_soft", reading, 0.3 * prior, 2.0, reference=3.0 * reference)
    yield make("drive", topic, against, reading, _AGAINST * prior, reference=reference)


def _both_ways(proposer: Proposer, quantity: Quantity, topic: str, prior: float) -> Iterator[Idea]:
    reference = speed_reference(proposer, quantity, "rad/s" if quantity.kind == "rate" else "m/s")
    for shape, share in (("progress", 1.0), ("reverse", 0.9), ("progress_soft", 0.3), ("reverse_soft", 0.3)):
        yield proposer.idea("drive", topic, shape, quantity.reading, share * prior, reference=reference)


def _stillness(proposer: Proposer, quantity: Quantity, prior: float) -> Iterator[Idea]:
    words = proposer.words
    topic = f"still:{quantity.reading.variable}:{quantity.reading.part}"
    wanted = words.strength("still") > words.strength("go", "forward", "backward")
    yield proposer.idea("steady", topic, "still", quantity.reading, prior, scale=quantity.extent)
    if wanted:
        yield from around(proposer, "steady", topic, quantity, 0.0, 0.5 * prior)
