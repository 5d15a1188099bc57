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
from rewardgen.designer.protocol import IDEA
from rewardgen.store.records import Candidate, DesignRequest, Finding

_ATTEMPTS = 6
"""Draws before an idea that failed already is tried once more."""


class BuiltinDesigner:
    """Composes rewards from the task card by a term grammar. The control that a language model has to beat.

    It reads the card's variables and words, the user's goal, the parents' sources and what training showed of their
    components. It knows units and words, but no task. Deterministic in the brief.
    """

    async def design(self, request: DesignRequest) -> Candidate:
        """One candidate for a brief.

        Args:
            request: The task card, the operator, the parents and what failed before.
        """
        change = _fresh_change(request)
        return Candidate(
            id=request.candidate_id,
            generation=request.generation,
            operator=request.operator,
            parents=tuple(record.candidate.id for record in request.parents),
            source=render(change.genome, request.card),
            diagnosis=change.diagnosis,
            prediction=f"{_claim(request)}. {change.prediction}",
        )

    async def repair(
        self, request: DesignRequest, candidate: Candidate, findings: Sequence[Finding]
    ) -> Candidate | None:
        """The candidate without the components that the findings name, if others are left.

        One that only ranks recorded episodes wrongly lacks something of the fitness: it gets one more.

        Args:
            request: What the candidate was designed from.
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
            mended = _completed(genome, request, candidate)
        else:
            mended = _without(genome, {finding.component for finding in rejections if finding.component})
        if mended is None or mended == genome:
            return None
        return candidate.model_copy(update={"source": render(mended, request.card), "repairs": candidate.repairs + 1})


def _completed(genome: Genome, request: DesignRequest, candidate: Candidate) -> Genome:
    rng = random.Random(f"{request.seed}/{candidate.id}/repair")
    return Operators(request.card, catalogue(request.card, request.goal), rng).add(genome, {}, 0.0).genome


def _without(genome: Genome, guilty: set[str]) -> Genome | None:
    if not guilty & set(genome.names) or guilty >= set(genome.names):
        return None
    return Genome(tuple(term for term in genome.terms if term.name not in guilty))


def _claim(request: DesignRequest) -> str:
    """That the candidate does better than its best parent, or a draft than the trivial policies, by the numbers."""
    known = [record.fitness for record in request.parents if record.fitness is not None]
    known = known or [probe.fitness for probe in request.card.probes]
    return f"fitness > {max(known, default=0.0):.4g}"


def _fresh_change(request: DesignRequest) -> Change:
    """A change whose idea is not among those that failed, if a few draws find one."""
    change = None
    for attempt in range(_ATTEMPTS):
        change = _change(request, random.Random(f"{request.seed}/{request.candidate_id}/{attempt}"))
        if not any(change.diagnosis[:IDEA] in idea for idea in request.failed_ideas):
            break
    assert change is not None
    return change


def _change(request: DesignRequest, rng: random.Random) -> Change:
    operators = Operators(request.card, catalogue(request.card, request.goal), rng)
    records = {record.candidate.id: parse(record.candidate.source) for record in request.parents}
    parents = [genome for genome in records.values() if genome and genome.terms]
    if request.operator in ("draft", "baseline") or not parents:
        # The very first candidate is the textbook's reward; all others vary it.
        plain = request.candidate_id == "g00-k0"
        return operators.draft(request.lens, plain)
    return _apply(request, operators, parents, rng)


def _apply(request: DesignRequest, operators: Operators, parents: Sequence[Genome], rng: random.Random) -> Change:
    genome = parents[0]
    record = next(each for each in request.parents if parse(each.candidate.source) == genome)
    evidence = evidence_of(record, operators.roles(genome))
    match request.operator:
        case "tune":
            return tune(genome, evidence, rng)
        case "add":
            return operators.add(genome, evidence, ends_early(record))
        case "remove":
            return operators.remove(genome, evidence)
        case "crossover" if len(parents) > 1:
            return operators.crossover(genome, parents[1])
        case "rewrite":
            return operators.rewrite(request.lens, parents)
        case "explore":
            return operators.explore(request.lens, parents)
        case _:
            return operators.edit(genome, evidence)
