"""A whole reward from ideas: drafts in the style that a lens asks for, sampled by prior."""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from rewardgen.designer.builtin.genome import Factor, Genome, Term
from rewardgen.designer.builtin.ideas import Idea, Role
from rewardgen.designer.builtin.shapes import SHAPES
from rewardgen.designer.builtin.words import has

MAX_TERMS = 7

_WIDE = ("aligned", "opposed", "facing", "pull", "close", "raised", "lowered")
"""Shapes with a gradient over the whole range."""


@dataclass(frozen=True)
class Style:
    """How a draft is put together. `plain` takes the likeliest idea for every role, as a textbook would."""

    plain: bool = False
    few: bool = False
    gated: bool = False
    fine: bool = False
    survive: bool = False
    steady: bool = False
    wide: bool = False
    wary: bool = False
    """No bonus for merely being there, which a lazy policy would live on."""


def style_of(lens: str, rng: random.Random) -> Style:
    """The style that a lens asks for in words; without one, any.

    Args:
        lens: The hint that makes the candidates of a generation differ.
        rng: Decides what the lens leaves open.
    """
    words = lens.lower()
    return Style(
        few=has(words, r"on one variable"),
        gated=has(words, r"multiply|stages") or rng.random() < 0.1,
        fine=has(words, r"narrow") or rng.random() < 0.1,
        survive=has(words, r"in full"),
        steady=has(words, r"stillness") or rng.random() < 0.2,
        wide=has(words, r"long-tailed"),
        wary=has(words, r"stands still"),
    )


def idea_of(factor: Factor, ideas: Sequence[Idea]) -> Idea | None:
    """The idea that a factor came from: the one of its shape and input, and of its name where there are several."""
    same = [idea for idea in ideas if idea.term.factor.structure == factor.structure]
    named = [idea for idea in same if idea.term.name == factor.name.removesuffix("_gate")]
    return next(iter([*named, *same]), None)


def topics(genome: Genome, ideas: Sequence[Idea]) -> tuple[str, ...]:
    """The topics of a reward's terms and gates, terms first, in order."""
    factors = [*(term.factor for term in genome.terms), *(gate for term in genome.terms for gate in term.gates)]
    found = [idea_of(factor, ideas) for factor in factors]
    return tuple(idea.topic if idea else repr(factor.input) for idea, factor in zip(found, factors, strict=True))


def role_of(term: Term, ideas: Sequence[Idea]) -> Role:
    """What a term is for; a term of no known idea is taken for the drive."""
    idea = idea_of(term.factor, ideas)
    return idea.role if idea else "drive"


def pick(ideas: Sequence[Idea], rng: random.Random) -> Idea | None:
    """One idea, by prior; None if there are none."""
    return rng.choices(ideas, weights=[idea.prior for idea in ideas])[0] if ideas else None


def gate(ideas: Sequence[Idea], least: float, rng: random.Random) -> tuple[Idea, Factor] | None:
    """One idea that may multiply another term, and its factor as a gate, under a name of its own; by prior.

    Args:
        ideas: Those to choose from.
        least: Prior of one to be considered.
        rng: Draws.
    """
    idea = pick([each for each in ideas if SHAPES[each.term.factor.shape].gate and each.prior > least], rng)
    return (idea, replace(idea.term.factor, name=f"{idea.term.name}_gate")) if idea else None


def jittered(value: float, spread: float, rng: random.Random) -> float:
    """A positive number moved by a log-normal step, with two significant digits."""
    return float(f"{value * math.exp(rng.gauss(0.0, spread)):.2g}")


def fitting(ideas: Sequence[Idea], used: Collection[str], names: Collection[str]) -> list[Idea]:
    """The ideas on topics not in use. A precise term needs the wide one that leads to it."""
    free = [idea for idea in ideas if idea.topic not in used and idea.term.name not in names]
    return [idea for idea in free if not idea.topic.endswith(":fine") or idea.topic.removesuffix(":fine") in used]


def draft(ideas: Sequence[Idea], style: Style, rng: random.Random) -> Genome:
    """A reward from ideas.

    Args:
        ideas: The catalogue of the card.
        style: How to put it together.
        rng: Chooses by prior.
    """
    terms: list[Term] = []
    used: set[str] = set()

    def free(*roles: Role) -> list[Idea]:
        found = fitting(ideas, used, [term.name for term in terms])
        return [
            replace(idea, prior=3.0 * idea.prior) if style.wide and idea.term.factor.shape in _WIDE else idea
            for idea in found
            if not roles or idea.role in roles
        ]

    def take(among: Sequence[Idea]) -> Idea | None:
        idea = next(iter(among), None) if style.plain else pick(among, rng)
        if idea:
            used.add(idea.topic)
            weight = jittered(idea.term.weight, 0.0 if style.plain else 0.25, rng)
            terms.append(replace(idea.term, weight=weight))
        return idea

    def happens(probability: float) -> bool:
        return probability > 0.5 if style.plain else rng.random() < probability

    # What the task is about: one drive, perhaps a second, perhaps a narrow form of the first.
    if first := take(free("drive")):
        others = [each for each in free("drive") if each.prior > 0.3 * first.prior]
        if others and not style.few and happens(0.35):
            take(others)
        fine = [each for each in free() if each.topic == f"{first.topic}:fine"]
        if style.fine or (fine and fine[0].prior > 0.5 * first.prior and happens(0.6)):
            take(fine)
    if style.gated and terms and (chosen := gate(free("posture", "steady"), 0.15, rng)):
        used.add(chosen[0].topic)
        terms[0] = replace(terms[0], gates=(chosen[1],))
    # Posture. Where falling ends the episode, staying up needs no term of its own.
    if style.plain:
        take([] if any(idea.role == "alive" for idea in ideas) else free("posture"))
    else:
        if happens(1.0 if style.survive else 0.25 if style.few or style.gated else 0.55):
            take(free("posture") or (free("steady") if style.survive else []))
        if style.survive and happens(0.5):
            take(free("posture"))
    # Survival, calm and thrift.
    survival = max((each.prior for each in free("alive")), default=0.0)
    if happens((0.25 if style.wary else 0.9) * min(survival, 1.0)):
        take(free("alive"))
    if style.plain:
        take([each for each in free("steady") if each.prior > 0.4])
    elif happens(1.0 if style.steady else 0.1 if style.few else 0.35):
        take(free("steady"))
    if style.plain or happens(0.9):
        take(free("cost"))
    return Genome(tuple(terms[:MAX_TERMS]))
