"""The designer that needs no language model. Deterministic: the same request gives the same candidate."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from rewardgen.designer.builtin.ideas import Idea, Role, ideas_on, rounded
from rewardgen.designer.builtin.terms import Reward, Term, parse, render
from rewardgen.designer.protocol import idea_of
from rewardgen.store.records import Candidate, CandidateRecord, DesignRequest, Finding

Change = tuple[Reward, str]

_MOST_TERMS = 7
_LAST_POINTS = 3
"""Evaluations at the end of training that are averaged; a single one has too few episodes for a correlation."""
_ATTEMPTS = 6
"""Draws before a failed idea is tried again."""


class BuiltinDesigner:
    """Compose rewards from templates over the variables of the task card: the control for language models.

    The designer reads the card, the goal, the parents' sources and their components' curves. It knows units and words,
    but no task.
    """

    async def design(self, request: DesignRequest) -> Candidate:
        """See `Designer.design`."""
        for attempt in range(_ATTEMPTS):
            reward, diagnosis = _change(request, attempt)
            if not any(idea_of(diagnosis) in idea for idea in request.failed_ideas):
                break
        reached = [record.fitness for record in request.parents if record.fitness is not None]
        reached = reached or [probe.fitness for probe in request.card.probes]
        return Candidate(
            id=request.candidate_id,
            generation=request.generation,
            operator=request.operator,
            parents=tuple(record.candidate.id for record in request.parents),
            source=render(reward, request.card),
            diagnosis=diagnosis,
            # Better than the best parent, or as a draft than the trivial policies.
            prediction="" if request.card.judged else f"fitness > {max(reached, default=0.0):.4g}.",
        )

    async def repair(
        self, request: DesignRequest, candidate: Candidate, findings: Sequence[Finding]
    ) -> Candidate | None:
        """Drop the components that the findings name, or add one if the candidate ranks episodes wrongly.

        Return None if the findings name no component, or all of them.
        """
        reward = parse(candidate.source, request.card) or ()
        rejections = [finding for finding in findings if finding.severity == "reject"]
        if reward and all(finding.gate == "preference" for finding in rejections):
            repaired, _ = _operators(request, f"{candidate.id}/repair").add(reward)
        else:
            rejected = {finding.component for finding in rejections}
            repaired = tuple(term for term in reward if term.name not in rejected)
        if not repaired or repaired == reward:
            return None
        return candidate.model_copy(update={"source": render(repaired, request.card), "repairs": candidate.repairs + 1})


def _operators(request: DesignRequest, stream: str) -> Operators:
    return Operators(ideas_on(request.card, request.goal), random.Random(f"{request.seed}/{stream}"))


def _change(request: DesignRequest, attempt: int) -> Change:
    operators = _operators(request, f"{request.candidate_id}/{attempt}")
    parsed = [(record, parse(record.candidate.source, request.card)) for record in request.parents]
    parents = [(record, reward) for record, reward in parsed if reward]
    if request.operator in ("draft", "baseline") or not parents:
        # The very first candidate is the textbook's reward; all others vary it.
        return operators.draft(plain=request.candidate_id == "g00-k0")
    operators.study(*parents[0])
    reward, *others = [reward for _, reward in parents]
    match request.operator:
        case "tune":
            return operators.tune(reward)
        case "add":
            return operators.add(reward)
        case "remove":
            return operators.remove(reward)
        case "crossover" if others:
            return operators.crossover(reward, others[0])
        case "explore":
            return operators.draft(parents=[reward, *others])
        case _:
            return operators.edit(reward, first=request.operator == "rewrite")


class Operators:
    """Drafts and operators on the ideas of one card: other constants, one term changed, added or removed, crossover.

    Each returns a reward and a diagnosis. The first sentence of a diagnosis has no number that varies over seeds, so
    that a failed idea is recognised.
    """

    def __init__(self, ideas: Mapping[str, Idea], rng: random.Random) -> None:
        self.ideas = ideas
        self.rng = rng
        self.faults: dict[str, str] = {}
        """Faults that training found with the first parent's components, in words."""

    def study(self, record: CandidateRecord, reward: Reward) -> None:
        """Note the faults of a trained parent's components, by means over seeds and the last evaluations."""
        slices = record.result.slices if record.result else ()
        for term in reward:
            points = [point for part in slices for point in part.components.get(term.name, ())[-_LAST_POINTS:]]
            if not points:
                continue
            share, activation = fmean(point.share for point in points), fmean(point.activation for point in points)
            correlation = fmean([point.fitness_correlation or 0.0 for point in points])
            # A cost is meant to be small, and the task itself to be most of the reward.
            if activation < 0.02 or (share < 0.005 and self.role(term) not in ("cost", "steady")):
                self.faults[term.name] = f"it was all but absent ({share:.1%} of the reward)"
            elif correlation < -0.4:
                self.faults[term.name] = f"episodes rich in it were poor in fitness (correlation {correlation:.2f})"
            elif share > 0.5 and self.role(term) != "drive":
                self.faults[term.name] = f"it was {share:.0%} of the reward"

    def draft(self, *, plain: bool = False, parents: Sequence[Reward] = ()) -> Change:
        """A reward from nothing, away from some parents; a plain one has the likeliest idea for each role."""
        used = {term.name for parent in parents for term in parent}
        drafts = [self._draft(plain) for _ in range(8 if parents else 1)]
        reward = min(drafts, key=lambda draft: sum(term.name in used for term in draft) / len(draft))
        opening = "Away from the parents' terms" if parents else "From the card alone"
        return reward, f"{opening}: {reward[0].says}, with {_quoted(reward[1:])}."

    def _draft(self, plain: bool) -> Reward:
        reward: list[Term] = []

        def take(chance: float, *roles: Role, least: float = 0.0, fine: bool = False) -> None:
            free = [idea for idea in self._free(reward) if idea.role in roles and idea.prior > least]
            free = [idea for idea in free if (idea.shape == "fine") == fine]
            if plain:
                reward.extend(idea.term for idea in free[:1] if chance > 0.5)
            elif self.rng.random() < chance and (idea := self._pick(free)):
                reward.append(idea.term.weighing(self._near(idea.term.weight)))

        survival = max((idea.prior for idea in self.ideas.values() if idea.role == "alive"), default=0.0)
        take(1.0, "drive")
        prior = self.ideas[reward[0].name].prior
        take(0.35, "drive", least=0.3 * prior)
        take(0.6, "drive", least=0.3 * prior, fine=True)
        take(0.0 if plain and survival else 0.55, "posture")
        take(0.9 * min(survival, 1.0), "alive")
        take(0.55 if plain else 0.35, "steady", least=0.4 * plain)
        take(0.9, "cost")
        return tuple(reward)

    def add(self, reward: Reward) -> Change:
        """One more term on a subject that the parent leaves out."""
        idea = self._pick(self._free(reward))
        if idea is None or len(reward) >= _MOST_TERMS:
            return self.edit(reward)
        term = idea.term.weighing(self._near(idea.term.weight))
        return (*reward, term), f"Nothing asks for {term.says}; `{term.name}` is added."

    def remove(self, reward: Reward) -> Change:
        """Drop a term, most likely a faulty one, never the only drive."""
        drives = [term for term in reward if self.role(term) == "drive"]
        spare = [term for term in reward if term not in drives or len(drives) > 1]
        if not spare or len(reward) < 2:
            return self.edit(reward)
        term = self._faulty(spare)
        why = self.faults.get(term.name, "the reward may do as well without it")
        return tuple(other for other in reward if other is not term), f"`{term.name}` is removed: {why}."

    def edit(self, reward: Reward, *, first: bool = False) -> Change:
        """Change the shape, target or direction of one term, or of the first; constants if it has no other form."""
        old = reward[0] if first else self._faulty(reward)
        names = {term.name for term in reward}
        same = [idea for idea in self.ideas.values() if idea.topic == self.topic(old) and idea.term.name not in names]
        idea = self._pick([idea._replace(prior=max(idea.prior, 0.1)) for idea in same])
        if idea is None:
            return self.tune(reward)
        new = idea.term.weighing(rounded(idea.term.weight * old.weight / self.ideas[old.name].term.weight))
        why = self.faults.get(old.name, "another form of it may follow the task more closely")
        edited = tuple(new if term is old else term for term in reward)
        return edited, f"`{old.name}` is changed, as {why}: now {new.says}."

    def crossover(self, one: Reward, other: Reward) -> Change:
        """The first parent with one or two terms that only the second has."""
        news = [term for term in other if term.expression not in [old.expression for old in one]]
        if not news:
            return self.tune(one)
        chosen = self.rng.sample(news, self.rng.randint(1, min(2, len(news))))
        topics, names = {self.topic(term) for term in chosen}, [term.name for term in chosen]
        kept = [term for term in one if term.name not in names and self.topic(term) not in topics]
        kept = kept[: _MOST_TERMS - len(chosen)]
        diagnosis = f"The first parent lacks {_quoted(chosen)} of the second; kept: {_quoted(kept)}."
        return (*kept, *chosen), diagnosis

    def tune(self, reward: Reward) -> Change:
        """Perturb constants of one to three terms, and of all faulty ones."""
        names = {term.name for term in self.rng.choices(reward, k=self.rng.choice((1, 2, 3)))} | self.faults.keys()
        tuned = tuple(self._tuned(term) if term.name in names else term for term in reward)
        reasons = "".join(f"; `{name}` because {fault}" for name, fault in self.faults.items())
        chosen = _quoted([term for term in reward if term.name in names])
        return tuned, f"The structure stays; other constants for {chosen}{reasons}."

    def _tuned(self, term: Term) -> Term:
        values = dict(term.constants)
        for name, value in values.items():
            if not name.endswith(("target", "floor", "start")):
                values[name] = self._near(value)
            elif value not in (0.0, 1.0, -1.0):  # which come from a meaning (upright, centred), not a measurement
                values[name] = rounded(value * self.rng.gauss(1.0, 0.05))
        fault = self.faults.get(term.name, "")
        push = 2.0 if "absent" in fault else 0.5 if fault else 1.0
        return replace(term, constants=values).weighing(self._near(push * term.weight, 0.35))

    def role(self, term: Term) -> Role:
        """Purpose of a term; one of no known idea is taken for the drive."""
        return self.ideas[term.name].role if term.name in self.ideas else "drive"

    def topic(self, term: Term) -> str:
        """Subject of a term."""
        return self.ideas[term.name].topic if term.name in self.ideas else term.name

    def _faulty(self, terms: Sequence[Term]) -> Term:
        return self.rng.choices(terms, [4.0 if term.name in self.faults else 1.0 for term in terms])[0]

    def _free(self, reward: Sequence[Term]) -> list[Idea]:
        """Ideas on topics not in use. A precise term needs the wide one that leads to it."""
        used = {self.topic(term) for term in reward}
        free = [idea for idea in self.ideas.values() if idea.topic not in used]
        return [idea for idea in free if idea.shape != "fine" or idea.topic.removesuffix(":fine") in used]

    def _pick(self, ideas: Sequence[Idea]) -> Idea | None:
        return self.rng.choices(ideas, [idea.prior for idea in ideas])[0] if ideas else None

    def _near(self, value: float, spread: float = 0.25) -> float:
        """A positive number moved by a log-normal step, with two significant digits."""
        return float(f"{value * math.exp(self.rng.gauss(0.0, spread)):.2g}")


def _quoted(terms: Sequence[Term]) -> str:
    return ", ".join(f"`{term.name}`" for term in terms) or "nothing"
