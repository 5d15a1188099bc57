"""The operators: other constants, one term changed, added or removed, crossover, and drafts away from the parents."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace

from rewardgen.designer.builtin.component_evidence import UNKNOWN, ComponentEvidence, Evidence
from rewardgen.designer.builtin.drafting import (
    MAX_TERMS,
    Style,
    draft,
    fitting,
    gate,
    idea_of,
    jittered,
    pick,
    role_of,
    style_of,
    topics,
)
from rewardgen.designer.builtin.genome import Change, Factor, Genome, Term, distance
from rewardgen.designer.builtin.ideas import Idea, Role, rounded
from rewardgen.designer.builtin.rendering import listed, phrase
from rewardgen.store.records import TaskCard

_PLACES = ("target", "floor", "start")
"""Constants that are places on the axis of the input; all others are positive sizes."""


class Operators:
    """The operators on one card.

    Args:
        card: The task.
        ideas: Its catalogue.
        rng: Draws.
    """

    def __init__(self, card: TaskCard, ideas: Sequence[Idea], rng: random.Random) -> None:
        self.card = card
        self.ideas = ideas
        self.rng = rng

    def roles(self, genome: Genome) -> dict[str, Role]:
        """What each component of a reward is for."""
        return {term.name: role_of(term, self.ideas) for term in genome.terms}

    def draft(self, lens: str, plain: bool) -> Change:
        """A reward from nothing.

        Args:
            lens: Hint for its style.
            plain: Take the likeliest idea for every role.
        """
        style = Style(plain=True) if plain else style_of(lens, self.rng)
        return self._told_draft(draft(self.ideas, style, self.rng), "From the card alone")

    def draft_apart(self, lens: str, parents: Sequence[Genome], keep: bool) -> Change:
        """A draft far from the parents in structure, yet of likely terms.

        Args:
            lens: Hint for its style.
            parents: What to keep away from.
            keep: Whether to reward the same thing as the first parent, by other means.
        """
        wanted = set(topics(parents[0], self.ideas)[:1]) if keep else set()

        def merit(genome: Genome) -> float:
            away = min(distance(genome, parent) for parent in parents)
            found = [idea_of(term.factor, self.ideas) for term in genome.terms]
            likely = sum(min(idea.prior, 1.0) for idea in found if idea) / len(found)
            return away + likely + (2.0 if wanted & set(topics(genome, self.ideas)) else 0.0)

        drawn = [draft(self.ideas, style_of(lens, self.rng), self.rng) for _ in range(8)]
        opening = "The parent's aim by other means" if keep else "Away from the parents' terms"
        return self._told_draft(max(drawn, key=merit), opening)

    def edit(self, genome: Genome, evidence: Evidence) -> Change:
        """Change one term: its shape, target, direction or gate."""
        blame = {term.name: evidence.get(term.name, UNKNOWN).blame for term in genome.terms}
        order = sorted(genome.terms, key=lambda term: self.rng.random() ** (1.0 / blame[term.name]))
        for old in reversed(order):
            seen = evidence.get(old.name, UNKNOWN)
            if new := self._edited(genome, old, seen):
                why = seen.reason or "another form of it may follow the fitness more closely"
                return Change(
                    genome.with_term(old.name, new),
                    f"`{old.name}` is changed, as {why}: now {self._words(new)}.",
                    f"`{new.name}` should go with the fitness more than `{old.name}` did before.",
                )
        return tune(genome, evidence, self.rng)

    def add(self, genome: Genome, evidence: Evidence, falling: float) -> Change:
        """One more term, on something that the parent says nothing of.

        Args:
            genome: The parent.
            evidence: What training showed of its components.
            falling: Share of its episodes that ended early; the more, the likelier posture and survival are added.
        """
        free = fitting(self.ideas, topics(genome, self.ideas), genome.names)
        worth = {"posture": 1.0 + 2.0 * falling, "alive": 1.0 + 2.0 * falling, "steady": 0.8, "cost": 0.4, "drive": 0.6}
        idea = pick([replace(each, prior=each.prior * worth[each.role]) for each in free], self.rng)
        if idea is None or len(genome.terms) >= MAX_TERMS:
            return self.edit(genome, evidence)
        term = replace(idea.term, weight=jittered(idea.term.weight, 0.3, self.rng))
        falls = falling > 0.3 and idea.role == "posture"
        why = "Episodes still end early, and nothing asks" if falls else "Nothing asks"
        return Change(
            Genome((*genome.terms, term)),
            f"{why} for {phrase(term.factor, self.card)}; `{term.name}` is added.",
            f"`{term.name}` should stay a small part of the reward, yet improve the worst episodes.",
        )

    def remove(self, genome: Genome, evidence: Evidence) -> Change:
        """Drop the term with the most against it, never the only drive."""
        drives = [name for name, role in self.roles(genome).items() if role == "drive"]
        spare = [name for name in genome.names if name not in drives or len(drives) > 1]
        if not spare or len(genome.terms) < 2:
            return self.edit(genome, evidence)
        seen = {name: evidence.get(name, UNKNOWN) for name in spare}
        weights = [
            seen[name].blame * (1.0 - 0.8 * max(seen[name].correlation or 0.0, 0.0)) * (0.3 if name in drives else 1.0)
            for name in spare
        ]
        name = self.rng.choices(spare, weights=weights)[0]
        diagnosis = f"`{name}` is removed: {seen[name].reason or 'the reward may do as well without it'}."
        return Change(genome.without({name}), diagnosis, "Fitness should not fall, and what remains is simpler.")

    def crossover(self, one: Genome, other: Genome) -> Change:
        """What the first parent rewards, with terms that only the second has."""
        news = [term for term in other.terms if term.structure not in one.structure]
        if not news:
            return self._blend(one, other)
        chosen = self.rng.sample(news, self.rng.randint(1, min(2, len(news))))
        brought = {idea.topic for term in chosen if (idea := idea_of(term.factor, self.ideas))}
        names = [term.name for term in chosen]
        kept = []
        for term in one.terms:
            idea = idea_of(term.factor, self.ideas)
            if term.name not in names and not (idea and idea.topic in brought):
                kept.append(term)
        kept = (kept or [one.terms[0]])[: MAX_TERMS - len(chosen)]
        taken = {term.name for term in kept}
        return Change(
            Genome((*kept, *(term for term in chosen if term.name not in taken))),
            f"The first parent lacks {listed([f'`{name}`' for name in names])} of the second; "
            f"kept of the first: {listed([f'`{term.name}`' for term in kept])}.",
            "Fitness should reach the better parent's, and pass it if the two were complementary.",
        )

    def _blend(self, one: Genome, other: Genome) -> Change:
        """Two parents of the same terms: their weights' geometric means."""
        weights = {term.structure: term.weight for term in reversed(other.terms)}
        terms = [
            replace(term, weight=rounded((term.weight * weights.get(term.structure, term.weight)) ** 0.5))
            for term in one.terms
        ]
        if Genome(tuple(terms)) == one:
            return tune(one, {}, self.rng)
        diagnosis = "Both parents have the same terms; the weights are between theirs."
        return Change(Genome(tuple(terms)), diagnosis, "Fitness should be near that of both parents, or better.")

    def _edited(self, genome: Genome, term: Term, seen: ComponentEvidence) -> Term | None:
        own = idea_of(term.factor, self.ideas)
        if self.rng.random() < 0.35 and own and own.role == "drive" and (regated := self._regated(genome, term, own)):
            return regated
        taken = set(genome.names) - {term.name}
        same = [
            idea
            for idea in self.ideas
            if idea.topic == (own.topic if own else "")
            and idea.term.factor.structure != term.factor.structure
            and idea.term.name not in taken
        ]
        if seen.harmful:  # the other direction gains where training spoke against this one
            same = [replace(idea, prior=max(idea.prior, 0.3)) for idea in same]
        idea = pick(same, self.rng)
        if idea is None:
            return None
        scale = term.weight / own.term.weight if own else 1.0
        return Term(idea.term.factor, rounded(idea.term.weight * scale), term.gates)

    def _regated(self, genome: Genome, term: Term, own: Idea) -> Term | None:
        if term.gates:
            return replace(term, gates=())
        used = topics(genome, self.ideas)
        # A gate may watch what a weak posture term of its own already asks for, but not what the term itself rewards.
        free = [
            idea
            for idea in self.ideas
            if idea.role in ("posture", "steady", "alive")
            and (idea.topic not in used or (idea.topic != own.topic and idea.role == "posture"))
            and not idea.topic.endswith(":fine")
        ]
        chosen = gate(free, 0.1, self.rng)
        return replace(term, gates=(chosen[1],)) if chosen else None

    def _words(self, term: Term) -> str:
        gates = listed([phrase(gate, self.card) for gate in term.gates])
        return phrase(term.factor, self.card) + (f", gated by {gates}" if gates else "")

    def _told_draft(self, genome: Genome, opening: str) -> Change:
        first, *others = genome.terms
        rest = listed([f"`{term.name}`" for term in others])
        diagnosis = f"{opening}: {self._words(first)}" + (f", beside {rest}." if rest else ".")
        expect = f"`{first.name}` should grow from the first evaluations on and carry the fitness with it."
        return Change(genome, diagnosis, expect)


def tune(genome: Genome, evidence: Evidence, rng: random.Random) -> Change:
    """Perturb constants: a few at random, and always those of components that training found dead or dominant.

    Args:
        genome: The parent.
        evidence: What training showed of its components.
        rng: Draws.
    """
    seen = {name: evidence.get(name, UNKNOWN) for name in genome.names}
    chosen = {name for name in genome.names if seen[name].reason}
    chosen |= set(rng.choices(genome.names, weights=[each.blame for each in seen.values()], k=rng.choice((1, 2, 3))))
    tuned = Genome(tuple(_tuned(term, seen[term.name], rng) if term.name in chosen else term for term in genome.terms))
    if tuned == genome:
        first = genome.terms[0]
        tuned = genome.with_term(first.name, Term(first.factor, rounded(1.5 * first.weight), first.gates))
    changed = [term.name for term in tuned.terms if term != genome.term(term.name)]
    told = [f"`{name}` because {seen[name].reason}" for name in changed if seen[name].reason]
    told += [f"`{name}`" for name in changed if not seen[name].reason]
    moves = [f"`{each}` weighs {genome.term(each).weight:g} -> {tuned.term(each).weight:g}" for each in changed]
    return Change(
        tuned,
        f"The structure stays; other constants for {', '.join(told)}.",
        f"With {', '.join(moves)}, the balance between components shifts and fitness should not fall.",
    )


def _tuned(term: Term, seen: ComponentEvidence, rng: random.Random) -> Term:
    gates = tuple(_tuned_factor(gate, 1.0, rng) if rng.random() < 0.4 else gate for gate in term.gates)
    push, widening = 1.0, 1.0
    if seen.dead:
        push, widening = rng.uniform(1.5, 3.0), rng.uniform(1.5, 4.0)
    elif seen.harmful:
        push = rng.uniform(0.2, 0.6)
    elif seen.dominant:
        push = rng.uniform(0.3, 0.7)
    factor = term.factor
    if widening != 1.0 or (push == 1.0 and rng.random() < 0.5):
        factor = _tuned_factor(factor, widening, rng)
    return Term(factor, jittered(push * term.weight, 0.35, rng), gates)


def _tuned_factor(factor: Factor, widening: float, rng: random.Random) -> Factor:
    for role, value in factor.constants:
        if role not in _PLACES:
            # A wider basin; for a scale that divides a penalty or a speed, a smaller one makes the term felt.
            towards = widening if role in ("temperature", "width", "margin") else 1.0 / widening
            factor = factor.with_constant(role, jittered(towards * value, 0.3, rng))
        # 0 and +-1 come from the meaning of a variable (upright, centred), not from a measurement: they stay.
        elif value not in (0.0, 1.0, -1.0):
            size, width = next(((each, size) for each, size in factor.constants if each not in _PLACES), ("", 0.2))
            width = math.sqrt(width) if size == "temperature" else width
            factor = factor.with_constant(role, rounded(value + rng.gauss(0.0, 0.2) * width))
    return factor
