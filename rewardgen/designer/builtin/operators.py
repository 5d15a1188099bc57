"""The structural operators: edit, add, remove, crossover, and drafts away from the parents."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rewardgen.designer.builtin.change import Change
from rewardgen.designer.builtin.drafting import (
    MAX_TERMS,
    Style,
    draft,
    drafts_apart,
    fitting,
    gate_of,
    idea_of,
    jittered,
    pick,
    role_of,
    style_of,
    topics,
)
from rewardgen.designer.builtin.evidence import Evidence, blame, reason
from rewardgen.designer.builtin.genome import Genome, Term
from rewardgen.designer.builtin.ideas import Idea, Role, rounded
from rewardgen.designer.builtin.rendering import listed, phrase
from rewardgen.designer.builtin.tuning import tune
from rewardgen.store.records import TaskCard


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

    def rewrite(self, lens: str, parents: Sequence[Genome]) -> Change:
        """The parent's aim by other means."""
        genome = drafts_apart(self.ideas, lens, self.rng, parents, keep=True)
        return self._told_draft(genome, "The parent's aim by other means")

    def explore(self, lens: str, parents: Sequence[Genome]) -> Change:
        """An approach that no parent takes."""
        genome = drafts_apart(self.ideas, lens, self.rng, parents, keep=False)
        return self._told_draft(genome, "Away from the parents' terms")

    def edit(self, genome: Genome, evidence: Mapping[str, Evidence]) -> Change:
        """Change one term: its shape, target, direction or gate."""
        order = sorted(genome.terms, key=lambda term: self.rng.random() ** (1.0 / blame(evidence, term.name)))
        for term in reversed(order):
            edited = self._edited(genome, term, evidence.get(term.name))
            if edited:
                return self._told_edit(genome.with_term(term.name, edited), term, edited, reason(evidence, term.name))
        return tune(genome, evidence, self.rng)

    def add(self, genome: Genome, evidence: Mapping[str, Evidence], falling: float) -> Change:
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
        why = (
            "episodes still end early, and nothing asks" if falling > 0.3 and idea.role == "posture" else "Nothing asks"
        )
        diagnosis = f"{why[0].upper()}{why[1:]} for {phrase(term.factor, self.card)}; `{term.name}` is added."
        expect = f"`{term.name}` should stay a small part of the reward, yet improve the worst episodes."
        return Change(Genome((*genome.terms, term)), diagnosis, expect)

    def remove(self, genome: Genome, evidence: Mapping[str, Evidence]) -> Change:
        """Drop the term with the most against it, never the only drive."""
        drives = [term for term in genome.terms if role_of(term, self.ideas) == "drive"]
        spare = [term for term in genome.terms if term not in drives or len(drives) > 1]
        if not spare or len(genome.terms) < 2:
            return self.edit(genome, evidence)
        weights = [self._removability(term, evidence) for term in spare]
        term = self.rng.choices(spare, weights=weights)[0]
        why = reason(evidence, term.name) or "the reward may do as well without it"
        diagnosis = f"`{term.name}` is removed: {why}."
        expect = "Fitness should not fall, and what remains is simpler."
        return Change(genome.without(term.name), diagnosis, expect)

    def crossover(self, one: Genome, other: Genome) -> Change:
        """What the first parent rewards, with terms that only the second has."""
        news = [term for term in other.terms if term.structure not in one.structure]
        if not news:
            return self._blend(one, other)
        chosen = self.rng.sample(news, self.rng.randint(1, min(2, len(news))))
        brought = {idea.topic for term in chosen if (idea := idea_of(term.factor, self.ideas))}
        kept = [term for term in one.terms if not self._replaced(term, brought, [each.name for each in chosen])]
        kept = (kept or [one.terms[0]])[: MAX_TERMS - len(chosen)]
        names = {term.name for term in kept}
        genome = Genome((*kept, *(term for term in chosen if term.name not in names)))
        diagnosis = (
            f"The first parent lacks {listed([f'`{each.name}`' for each in chosen])} of the second; "
            f"kept of the first: {listed([f'`{term.name}`' for term in kept])}."
        )
        return Change(
            genome, diagnosis, "Fitness should reach the better parent's, and pass it if the two were complementary."
        )

    def _replaced(self, term: Term, brought: set[str], names: Sequence[str]) -> bool:
        idea = idea_of(term.factor, self.ideas)
        return term.name in names or bool(idea and idea.topic in brought)

    def _blend(self, one: Genome, other: Genome) -> Change:
        """Two parents of the same terms: their weights' geometric means."""
        terms = [
            replace(term, weight=rounded((term.weight * self._twin(term, other).weight) ** 0.5)) for term in one.terms
        ]
        diagnosis = "Both parents have the same terms; the weights are between theirs."
        blended = Genome(tuple(terms))
        if blended == one:
            return tune(one, {}, self.rng)
        return Change(blended, diagnosis, "Fitness should be near that of both parents, or better.")

    def _twin(self, term: Term, genome: Genome) -> Term:
        return next((each for each in genome.terms if each.structure == term.structure), term)

    def _removability(self, term: Term, evidence: Mapping[str, Evidence]) -> float:
        seen = evidence.get(term.name)
        helpful = max(seen.correlation or 0.0, 0.0) if seen else 0.0
        drive = 0.3 if role_of(term, self.ideas) == "drive" else 1.0
        return blame(evidence, term.name) * (1.0 - 0.8 * helpful) * drive

    def _edited(self, genome: Genome, term: Term, seen: Evidence | None) -> Term | None:
        own = idea_of(term.factor, self.ideas)
        if self.rng.random() < 0.35 and own and own.role == "drive":
            gated = self._regated(genome, term)
            if gated:
                return gated
        alternatives = self._alternatives(genome, term, own, seen)
        idea = pick(alternatives, self.rng)
        if idea is None:
            return None
        scale = term.weight / own.term.weight if own else 1.0
        return Term(idea.term.factor, rounded(idea.term.weight * scale), term.gates)

    def _alternatives(self, genome: Genome, term: Term, own: Idea | None, seen: Evidence | None) -> list[Idea]:
        """Other shapes for the same topic; the other direction gains where training spoke against this one."""
        topic = own.topic if own else ""
        taken = set(genome.names) - {term.name}
        same = [
            idea
            for idea in self.ideas
            if idea.topic == topic
            and idea.term.factor.structure != term.factor.structure
            and idea.term.name not in taken
        ]
        if seen and seen.harmful:
            return [replace(idea, prior=max(idea.prior, 0.3)) for idea in same]
        return same

    def _regated(self, genome: Genome, term: Term) -> Term | None:
        if term.gates:
            return replace(term, gates=())
        used = topics(genome, self.ideas)
        # A gate may watch what a weak posture term of its own already asks for, but not what the term itself rewards.
        own = idea_of(term.factor, self.ideas)
        free = [
            idea
            for idea in self.ideas
            if idea.can_gate
            and idea.role in ("posture", "steady", "alive")
            and idea.prior > 0.1
            and (idea.topic not in used or (own is not None and idea.topic != own.topic and idea.role == "posture"))
            and not idea.topic.endswith(":fine")
        ]
        chosen = pick(free, self.rng)
        return replace(term, gates=(gate_of(chosen),)) if chosen else None

    def _words(self, term: Term) -> str:
        gates = listed([phrase(gate, self.card) for gate in term.gates])
        return phrase(term.factor, self.card) + (f", gated by {gates}" if gates else "")

    def _told_edit(self, genome: Genome, old: Term, new: Term, why: str) -> Change:
        reasoned = why or "another form of it may follow the fitness more closely"
        diagnosis = f"`{old.name}` is changed, as {reasoned}: now {self._words(new)}."
        return Change(genome, diagnosis, f"`{new.name}` should go with the fitness more than `{old.name}` did before.")

    def _told_draft(self, genome: Genome, opening: str) -> Change:
        first, *others = genome.terms
        rest = listed([f"`{term.name}`" for term in others])
        diagnosis = f"{opening}: {self._words(first)}" + (f", beside {rest}." if rest else ".")
        expect = f"`{first.name}` should grow from the first evaluations on and carry the fitness with it."
        return Change(genome, diagnosis, expect)
