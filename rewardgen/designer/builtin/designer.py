"""The designer itself: a request in, a candidate out, the same for the same request."""

from __future__ import annotations

import random
from collections.abc import Sequence

from rewardgen.designer.builtin.catalogue import catalogue
from rewardgen.designer.builtin.component_evidence import ends_early, evidence_of
from rewardgen.designer.builtin.genome import Change
from rewardgen.designer.builtin.operators import Operators, tune
from rewardgen.designer.builtin.parsing import parse
from rewardgen.designer.builtin.rendering import render
from rewardgen.designer.protocol import idea_of
from rewardgen.store.records import Candidate, DesignRequest, Finding

_ATTEMPTS = 6
"""Draws before an idea that failed already is tried once more."""


class BuiltinDesigner:
    """Composes rewards from the task card by a term grammar. The control that a language model has to beat.

    It reads the card's variables and words, the user's goal, the parents' sources and what training showed of their
    components. It knows units and words, but no task. Deterministic in the request.
    """

    async def design(self, request: DesignRequest) -> Candidate:
        """One candidate for a request."""
        change = _change(request, 0)
        for attempt in range(1, _ATTEMPTS):
            if not any(idea_of(change.diagnosis) in idea for idea in request.failed_ideas):
                break
            change = _change(request, attempt)
        known = [record.fitness for record in request.parents if record.fitness is not None]
        known = known or [probe.fitness for probe in request.card.probes]
        return Candidate(
            id=request.candidate_id,
            generation=request.generation,
            operator=request.operator,
            parents=tuple(record.candidate.id for record in request.parents),
            source=render(change.genome, request.card),
            diagnosis=change.diagnosis,
            # Better than the best parent, or as a draft than the trivial policies.
            prediction=f"fitness > {max(known, default=0.0):.4g}. {change.prediction}",
        )

    async def repair(
        self, request: DesignRequest, candidate: Candidate, findings: Sequence[Finding]
    ) -> Candidate | None:
        """The candidate without the components that the findings name, if others are left.

        One that only ranks recorded episodes wrongly lacks something of the fitness: it gets one more. None if the
        findings name no component, or all of them.
        """
        genome = parse(candidate.source)
        rejections = [finding for finding in findings if finding.severity == "reject"]
        if genome is None:
            return None
        if rejections and all(finding.gate == "preference" for finding in rejections):
            rng = random.Random(f"{request.seed}/{candidate.id}/repair")
            repaired = Operators(request.card, catalogue(request.card, request.goal), rng).add(genome, {}, 0.0).genome
        else:
            repaired = genome.without({finding.component for finding in rejections if finding.component})
        if repaired == genome or not repaired.terms:
            return None
        return candidate.model_copy(update={"source": render(repaired, request.card), "repairs": candidate.repairs + 1})


def _change(request: DesignRequest, attempt: int) -> Change:
    rng = random.Random(f"{request.seed}/{request.candidate_id}/{attempt}")
    operators = Operators(request.card, catalogue(request.card, request.goal), rng)
    read = [(record, genome) for record in request.parents if (genome := parse(record.candidate.source))]
    parents = [(record, genome) for record, genome in read if genome.terms]
    if request.operator in ("draft", "baseline") or not parents:
        # The very first candidate is the textbook's reward; all others vary it.
        return operators.draft(request.lens, plain=request.candidate_id == "g00-k0")
    (record, genome), genomes = parents[0], [genome for _, genome in parents]
    evidence = evidence_of(record, operators.roles(genome))
    match request.operator:
        case "tune":
            return tune(genome, evidence, rng)
        case "add":
            return operators.add(genome, evidence, ends_early(record))
        case "remove":
            return operators.remove(genome, evidence)
        case "crossover" if len(parents) > 1:
            return operators.crossover(genome, genomes[1])
        case "rewrite":
            return operators.draft_apart(request.lens, genomes, keep=True)
        case "explore":
            return operators.draft_apart(request.lens, genomes, keep=False)
        case _:
            return operators.edit(genome, evidence)
