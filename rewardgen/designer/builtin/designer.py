"""The designer itself: a brief in, a candidate out, the same for the same brief."""

from __future__ import annotations

import random
from collections.abc import Sequence

from rewardgen.designer.builtin.catalogue import catalogue
from rewardgen.designer.builtin.change import Change
from rewardgen.designer.builtin.evidence import ends_early, evidence_of
from rewardgen.designer.builtin.genome import Genome
from rewardgen.designer.builtin.operators import Operators
from rewardgen.designer.builtin.parsing import parse
from rewardgen.designer.builtin.rendering import render
from rewardgen.designer.builtin.tuning import tune
from rewardgen.evolution import IDEA
from rewardgen.records import Brief, Candidate, Finding

_ATTEMPTS = 6
"""Draws before an idea that failed already is tried once more."""


class BuiltinDesigner:
    """Composes rewards from the task card by a term grammar. The control that a language model has to beat.

    It reads the card's variables and words, the user's goal, the parents' sources and what training showed of their
    components. It knows units and words, but no task. Deterministic in the brief.
    """

    async def design(self, brief: Brief) -> Candidate:
        """One candidate for a brief.

        Args:
            brief: The task card, the operator, the parents and what failed before.
        """
        change = _fresh_change(brief)
        return Candidate(
            id=brief.candidate_id,
            generation=brief.generation,
            operator=brief.operator,
            parents=tuple(study.candidate.id for study in brief.parents),
            source=render(change.genome, brief.card),
            diagnosis=change.diagnosis,
            prediction=f"{_claim(brief)}. {change.prediction}",
        )

    async def repair(self, brief: Brief, candidate: Candidate, findings: Sequence[Finding]) -> Candidate | None:
        """The candidate without the components that the findings name, if others are left.

        One that only ranks recorded episodes wrongly lacks something of the fitness: it gets one more.

        Args:
            brief: What the candidate was designed from.
            candidate: The rejected version.
            findings: Why it was rejected.

        Returns:
            None if the findings name no component, or all of them.
        """
        genome = parse(candidate.source)
        rejections = [finding for finding in findings if finding.severity == "reject"]
        if genome is None:
            return None
        if rejections and all(finding.gate == "preference" for finding in rejections):
            mended = _completed(genome, brief, candidate)
        else:
            mended = _without(genome, {finding.component for finding in rejections if finding.component})
        if mended is None or mended == genome:
            return None
        return candidate.model_copy(update={"source": render(mended, brief.card), "repairs": candidate.repairs + 1})


def _completed(genome: Genome, brief: Brief, candidate: Candidate) -> Genome:
    rng = random.Random(f"{brief.seed}/{candidate.id}/repair")
    return Operators(brief.card, catalogue(brief.card, brief.goal), rng).add(genome, {}, 0.0).genome


def _without(genome: Genome, guilty: set[str]) -> Genome | None:
    if not guilty & set(genome.names) or guilty >= set(genome.names):
        return None
    return Genome(tuple(term for term in genome.terms if term.name not in guilty))


def _claim(brief: Brief) -> str:
    """That the candidate does better than its best parent, or a draft than the trivial policies, by the numbers."""
    known = [study.fitness for study in brief.parents if study.fitness is not None]
    known = known or [probe.fitness for probe in brief.card.probes]
    return f"fitness > {max(known, default=0.0):.4g}"


def _fresh_change(brief: Brief) -> Change:
    """A change whose idea is not among those that failed, if a few draws find one."""
    change = None
    for attempt in range(_ATTEMPTS):
        change = _change(brief, random.Random(f"{brief.seed}/{brief.candidate_id}/{attempt}"))
        if not any(change.diagnosis[:IDEA] in idea for idea in brief.failed_ideas):
            break
    assert change is not None
    return change


def _change(brief: Brief, rng: random.Random) -> Change:
    operators = Operators(brief.card, catalogue(brief.card, brief.goal), rng)
    studies = {study.candidate.id: parse(study.candidate.source) for study in brief.parents}
    parents = [genome for genome in studies.values() if genome and genome.terms]
    if brief.operator in ("draft", "baseline") or not parents:
        # The very first candidate is the textbook's reward; all others vary it.
        plain = brief.candidate_id == "g00-k0"
        return operators.draft(brief.lens, plain)
    return _apply(brief, operators, parents, rng)


def _apply(brief: Brief, operators: Operators, parents: Sequence[Genome], rng: random.Random) -> Change:
    genome = parents[0]
    study = next(each for each in brief.parents if parse(each.candidate.source) == genome)
    evidence = evidence_of(study, operators.roles(genome))
    match brief.operator:
        case "tune":
            return tune(genome, evidence, rng)
        case "add":
            return operators.add(genome, evidence, ends_early(study))
        case "remove":
            return operators.remove(genome, evidence)
        case "crossover" if len(parents) > 1:
            return operators.crossover(genome, parents[1])
        case "rewrite":
            return operators.rewrite(brief.lens, parents)
        case "explore":
            return operators.explore(brief.lens, parents)
        case _:
            return operators.edit(genome, evidence)
