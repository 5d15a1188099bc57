"""The designer that needs no language model. Deterministic: the same request gives the same candidate."""

from __future__ import annotations

import random
from collections.abc import Sequence

from rewardgen.designer.builtin.ideas import ideas_on
from rewardgen.designer.builtin.operators import Change, Operators
from rewardgen.designer.builtin.terms import parse, render
from rewardgen.designer.protocol import idea_of
from rewardgen.store.records import Candidate, DesignRequest, Finding

_ATTEMPTS = 6
"""Draws before an idea that failed already is tried once more."""


class BuiltinDesigner:
    """Composes rewards from templates over the variables of the task card: the control that a model has to beat.

    It reads the card, the user's goal, the parents' sources and the training curves of their components. It knows units
    and words, but no task.
    """

    async def design(self, request: DesignRequest) -> Candidate:
        """One candidate for a request."""
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
            prediction=f"fitness > {max(reached, default=0.0):.4g}.",
        )

    async def repair(
        self, request: DesignRequest, candidate: Candidate, findings: Sequence[Finding]
    ) -> Candidate | None:
        """The candidate without the components that the findings name; with one more if it ranks episodes wrongly.

        None if the findings name no component, or all of them.
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
