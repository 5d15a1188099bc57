"""All ideas on one card, from every variable: what drafts, additions and edits choose from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rewardgen.designer.builtin.genome import TermInput
from rewardgen.designer.builtin.ideas import Idea, Proposer, around, is_finite
from rewardgen.designer.builtin.motion import rate_ideas, speed_ideas, travel_ideas
from rewardgen.designer.builtin.pose import (
    angle_ideas,
    cosine_ideas,
    distance_ideas,
    flag_ideas,
    length_ideas,
    other_ideas,
)
from rewardgen.designer.builtin.quantities import Kind, Quantity, extent, quantities, unit_of, vectors
from rewardgen.designer.builtin.words import has, read_words
from rewardgen.store.records import TaskCard, VariableCard

_MAKERS: dict[Kind, tuple[Callable[[Proposer, Quantity], Iterator[Idea]], ...]] = {
    "speed": (speed_ideas,),
    "rate": (rate_ideas,),
    "length": (length_ideas, travel_ideas),
    "distance": (distance_ideas,),
    "angle": (angle_ideas,),
    "cosine": (cosine_ideas,),
    "flag": (flag_ideas,),
    "other": (other_ideas,),
}

_NEGLIGIBLE = 0.008
"""Ideas below this prior would only lengthen the list."""


def catalogue(card: TaskCard, goal: str = "") -> tuple[Idea, ...]:
    """Every idea on a card, the likeliest first.

    Args:
        card: The task.
        goal: The user's own words.

    Returns:
        At least one idea with the role `drive`, whatever the card says.
    """
    proposer = Proposer(card, read_words(card, goal))
    usable = [quantity for quantity in quantities(card) if is_finite(quantity)]
    ideas = [idea for quantity in usable for make in _MAKERS[quantity.kind] for idea in make(proposer, quantity)]
    ideas += [*_vector_ideas(proposer), *_action_ideas(proposer)]
    if not any(idea.role == "alive" for idea in ideas):
        ideas += _alive_ideas(proposer, usable)
    if not any(idea.role == "drive" for idea in ideas):
        ideas += [idea for quantity in usable for idea in _blind_ideas(proposer, quantity)]
    kept = [idea for idea in ideas if idea.prior > _NEGLIGIBLE]
    return tuple(sorted(kept, key=lambda idea: (-idea.prior, repr(idea.term))))


def _vector_ideas(proposer: Proposer) -> Iterator[Idea]:
    """Calm joints, quiet contacts: whole vectors at once. Positions of joints only if the task wants stillness."""
    still = proposer.words.strength("still")
    for variable in vectors(proposer.card):
        reading, unit, topic = TermInput(variable.name), unit_of(variable), f"calm:{variable.name}"
        if unit in ("rad/s", "m/s"):
            yield proposer.idea("steady", topic, "calm", reading, 0.15 + 0.3 * still, scale=extent(variable))
        elif unit in ("n", "nm") or _is_load(variable):
            yield proposer.idea("steady", topic, "calm", reading, 0.04, 0.5, scale=extent(variable))
        elif unit == "rad":
            yield proposer.idea(
                "steady", topic, "settled", reading, 0.05 + 0.3 * still, temperature=0.25 * extent(variable) ** 2
            )


def _is_load(variable: VariableCard) -> bool:
    return has(variable.meaning.lower(), r"forces?|torques?|loads?")


def _action_ideas(proposer: Proposer) -> Iterator[Idea]:
    bounds = [*proposer.card.action_low, *proposer.card.action_high]
    # A unit of effort is full power on every actuator, whatever its units.
    full = sum(bound**2 for bound in bounds) / max(len(bounds), 1) or 1.0
    yield proposer.idea("cost", "effort", "effort", TermInput("action"), 1.0, 1.0 / full)
    yield proposer.idea("cost", "smooth", "smooth", TermInput("action"), 0.3, 0.5 / full)


def _alive_ideas(proposer: Proposer, usable: Sequence[Quantity]) -> list[Idea]:
    """A bonus per step, only where an episode can end early and no success ends it."""
    if not proposer.card.termination_causes or proposer.card.success_terminates:
        return []
    worth = max(proposer.falling, 0.2)
    return [proposer.idea("alive", "alive", "alive", quantity.reading, 0.8 * worth, worth) for quantity in usable[:1]]


def _blind_ideas(proposer: Proposer, quantity: Quantity) -> Iterator[Idea]:
    """Without a word on what to do: more, less, or a value in the upper, middle or lower part of the measured range."""
    prior, topic = 0.3 * proposer.importance(quantity), f"blind:{quantity.reading.variable}:{quantity.reading.part}"
    for shape in ("progress_soft", "reverse_soft"):
        yield proposer.idea("drive", topic, shape, quantity.reading, prior, reference=quantity.extent)
    for target in (quantity.low, quantity.middle, quantity.high):
        yield from around(proposer, "drive", topic, quantity, target, 0.3 * prior)
