"""A whole reward from ideas: drafts in the style that a lens asks for, sampled by prior."""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from rewardgen.designer.builtin.genome import Factor, Genome, Term, distance
from rewardgen.designer.builtin.ideas import Idea, Role
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
        few=has(words, r"few|simple|at most two"),
        gated=has(words, r"multipl\w+|gat\w+|only counts|cheat\w*") or rng.random() < 0.1,
        fine=has(words, r"narrow|precis\w+") or rng.random() < 0.1,
        survive=has(words, r"stay in a state|surviv\w+|reachable"),
        steady=has(words, r"still|velocities") or rng.random() < 0.2,
        wide=has(words, r"wide basin|smooth|gradient"),
        wary=has(words, r"cheat\w*|lazy"),
    )


def draft(ideas: Sequence[Idea], style: Style, rng: random.Random) -> Genome:
    """A reward from ideas.

    Args:
        ideas: The catalogue of the card.
        style: How to put it together.
        rng: Chooses by prior.
    """
    drafter = _Drafter(ideas, style, rng)
    drafter.take_drives()
    drafter.take_posture()
    drafter.take_the_rest()
    return drafter.genome()


def drafts_apart(ideas: Sequence[Idea], lens: str, rng: random.Random, parents: Sequence[Genome], keep: bool) -> Genome:
    """A draft far from the parents in structure, yet of likely terms.

    Args:
        ideas: The catalogue of the card.
        lens: Hint for the style.
        rng: Draws.
        parents: What to keep away from.
        keep: Whether to reward the same thing as the first parent, by other means.
    """
    wanted = topics(parents[0], ideas)[:1] if parents and keep else ()
    drawn = [draft(ideas, style_of(lens, rng), rng) for _ in range(8)]
    return max(drawn, key=lambda genome: _merit(genome, ideas, parents, wanted))


def _merit(genome: Genome, ideas: Sequence[Idea], parents: Sequence[Genome], wanted: Collection[str]) -> float:
    away = min((distance(genome, parent) for parent in parents), default=1.0)
    found = [idea_of(term.factor, ideas) for term in genome.terms]
    likely = sum(min(idea.prior, 1.0) for idea in found if idea) / len(found)
    same_aim = bool(set(topics(genome, ideas)) & set(wanted))
    return away + likely + (2.0 if same_aim else 0.0)


def idea_of(factor: Factor, ideas: Sequence[Idea]) -> Idea | None:
    """The idea that a factor came from: the one of its shape and reading, and of its name where there are several."""
    same = [idea for idea in ideas if idea.term.factor.structure == factor.structure]
    named = [idea for idea in same if idea.term.name == factor.name.removesuffix("_gate")]
    return next(iter([*named, *same]), None)


def topics(genome: Genome, ideas: Sequence[Idea]) -> tuple[str, ...]:
    """The topics of a reward's terms and gates, terms first, in order."""
    factors = [*(term.factor for term in genome.terms), *(gate for term in genome.terms for gate in term.gates)]
    found = [idea_of(factor, ideas) for factor in factors]
    return tuple(idea.topic if idea else repr(factor.reading) for idea, factor in zip(found, factors, strict=True))


def role_of(term: Term, ideas: Sequence[Idea]) -> Role:
    """What a term is for; a term of no known idea is taken for the drive."""
    idea = idea_of(term.factor, ideas)
    return idea.role if idea else "drive"


def pick(ideas: Sequence[Idea], rng: random.Random) -> Idea | None:
    """One idea, by prior; None if there are none."""
    return rng.choices(ideas, weights=[idea.prior for idea in ideas])[0] if ideas else None


def gate_of(idea: Idea) -> Factor:
    """An idea's factor as a gate, under a name of its own."""
    return replace(idea.term.factor, name=f"{idea.term.name}_gate")


def jittered(value: float, spread: float, rng: random.Random) -> float:
    """A positive number moved by a log-normal step, with two significant digits."""
    return float(f"{value * math.exp(rng.gauss(0.0, spread)):.2g}")


def fitting(ideas: Sequence[Idea], used: Collection[str], names: Collection[str]) -> list[Idea]:
    """The ideas on topics not in use. A precise term needs the wide one that leads to it."""
    free = [idea for idea in ideas if idea.topic not in used and idea.term.name not in names]
    return [idea for idea in free if not idea.topic.endswith(":fine") or idea.topic.removesuffix(":fine") in used]


class _Drafter:
    """One draft in the making."""

    def __init__(self, ideas: Sequence[Idea], style: Style, rng: random.Random) -> None:
        self.ideas = ideas
        self.style = style
        self.rng = rng
        self.terms: list[Term] = []
        self.used: set[str] = set()

    def take_drives(self) -> None:
        first = self._take("drive")
        if first is None:
            return
        others = [each for each in self._free("drive") if each.prior > 0.3 * first.prior]
        if others and not self.style.few and self._happens(0.35):
            self._take("drive", others)
        fine = [each for each in self._free() if each.topic == f"{first.topic}:fine"]
        asked = self.style.fine or (bool(fine) and fine[0].prior > 0.5 * first.prior and self._happens(0.6))
        if asked:
            self._take("drive", fine)

    def take_posture(self) -> None:
        if self.style.gated and self.terms:
            self._close_gate()
        ends_early = any(idea.role == "alive" for idea in self.ideas)
        if self.style.plain:
            # Where falling ends the episode, staying up needs no term of its own.
            self._take("posture", [] if ends_early else self._free("posture"))
            return
        wanted = 1.0 if self.style.survive else 0.25 if self.style.few or self.style.gated else 0.55
        if self._happens(wanted):
            self._take("posture", self._free("posture") or (self._free("steady") if self.style.survive else []))
        if self.style.survive and self._happens(0.5):
            self._take("posture")

    def take_the_rest(self) -> None:
        survival = max((each.prior for each in self._free("alive")), default=0.0)
        if self._happens((0.25 if self.style.wary else 0.9) * min(survival, 1.0)):
            self._take("alive")
        if self.style.plain:
            self._take("steady", [each for each in self._free("steady") if each.prior > 0.4])
        elif self._happens(1.0 if self.style.steady else 0.1 if self.style.few else 0.35):
            self._take("steady")
        if self.style.plain or self._happens(0.9):
            self._take("cost")

    def genome(self) -> Genome:
        return Genome(tuple(self.terms[:MAX_TERMS]))

    def _close_gate(self) -> None:
        gates = [each for each in self._free("posture", "steady") if each.can_gate and each.prior > 0.15]
        chosen = pick(gates, self.rng)
        if chosen:
            self.used.add(chosen.topic)
            self.terms[0] = replace(self.terms[0], gates=(gate_of(chosen),))

    def _take(self, role: Role, among: Sequence[Idea] | None = None) -> Idea | None:
        free = self._free(role) if among is None else among
        idea = next(iter(free), None) if self.style.plain else pick(free, self.rng)
        if idea:
            self.used.add(idea.topic)
            spread = 0.0 if self.style.plain else 0.25
            self.terms.append(replace(idea.term, weight=jittered(idea.term.weight, spread, self.rng)))
        return idea

    def _free(self, *roles: Role) -> list[Idea]:
        free = fitting(self.ideas, self.used, [term.name for term in self.terms])
        kept = [idea for idea in free if not roles or idea.role in roles]
        return [replace(idea, prior=3.0 * idea.prior) if self._suits(idea) else idea for idea in kept]

    def _suits(self, idea: Idea) -> bool:
        return self.style.wide and idea.term.factor.shape in _WIDE

    def _happens(self, probability: float) -> bool:
        return probability > 0.5 if self.style.plain else self.rng.random() < probability
