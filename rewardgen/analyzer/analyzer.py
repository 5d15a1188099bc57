"""Turns what training showed of a candidate into numbers, flags and, with a language model, a written diagnosis."""

from __future__ import annotations

from collections.abc import Sequence

from rewardgen.analyzer.flags import flags_of
from rewardgen.analyzer.predictions import scored
from rewardgen.analyzer.training_curves import seed_curves, training_curves
from rewardgen.analyzer.training_evidence import TrainingEvidence, flag
from rewardgen.core.formatting import shortened
from rewardgen.core.statistics import noise
from rewardgen.llm.prompts import analyzer_messages
from rewardgen.llm.protocol import LLM, CallFailed
from rewardgen.store.measurements import EpisodeDigest
from rewardgen.store.messages import LLMRequest
from rewardgen.store.records import (
    Analysis,
    CandidateRecord,
    CandidateResult,
    ParentComparison,
    SliceResult,
    TaskCard,
)

MAX_TOKENS = 4096
"""Of a diagnosis; models that think first need more than the 120 words asked for."""
MOST_CHARS = 4_000
"""Of a diagnosis that are kept, and told to designers."""
ALIKE = 0.05
"""Difference of fitness, relative to the larger, of episodes that are not worth showing twice."""


class Analyzer:
    """Studies trained candidates.

    Args:
        llm: Writes the diagnosis; None for numbers and flags alone.
    """

    def __init__(self, llm: LLM | None) -> None:
        self._llm = llm

    def study(self, record: CandidateRecord, parents: Sequence[CandidateRecord], card: TaskCard) -> Analysis:
        """Curves, episodes, flags, outcome of the prediction and comparison with a parent, from the numbers.

        Args:
            record: The candidate; trained, failed or rejected.
            parents: What it was designed from, best first: it is compared with the first that was trained.
            card: The task.
        """
        result = record.result
        if result is None:
            return Analysis(candidate_id=record.candidate.id)
        curves = training_curves(result)
        trained = [each for each in parents if each.fitness is not None]
        parent = _compared(result, trained[0]) if trained else None
        return Analysis(
            candidate_id=record.candidate.id,
            curves=curves,
            episodes=_episodes(result, card),
            parent=parent,
            fitness_delta=result.fitness - parent.fitness if parent and result.fitness is not None else None,
            flags=flags_of(TrainingEvidence(result, curves, seed_curves(result), card)),
            predictions=scored(record.candidate.prediction, result, curves, card),
        )

    async def diagnose(self, analysis: Analysis, record: CandidateRecord, card: TaskCard) -> Analysis:
        """The analysis with a written diagnosis, if there is a model to write it and a training to write about.

        Args:
            analysis: What `study` returned.
            record: The candidate.
            card: The task.

        Raises:
            CredentialsError: The API key is missing or was refused, or the account is empty.
            ModelError: There is no such model or address.
            BudgetExhausted: The limit on cost or tokens leaves no room for the call.
        """
        if self._llm is None or record.fitness is None:
            return analysis
        request = LLMRequest(
            label=f"{record.candidate.id}/analyzer/diagnosis",
            messages=analyzer_messages(record.model_copy(update={"analysis": analysis}), card),
            temperature=0.3,
            max_tokens=MAX_TOKENS,
        )
        try:
            reply = await self._llm.complete(request)
        except CallFailed as error:
            missing = flag("no-diagnosis", f"There is no written diagnosis: {error.message}.")
            return analysis.model_copy(update={"flags": (*analysis.flags, missing)})
        return analysis.model_copy(update={"diagnosis": shortened(reply.text.strip(), MOST_CHARS)})


def fitness_alone(record: CandidateRecord) -> CandidateRecord:
    """A candidate without what the analyzer found and looks at: what a designer knows when the analyzer is left out.

    Args:
        record: The candidate.
    """
    if record.result is None:
        return record
    kept = {"candidate_id", "seed", "failure", "env_steps", "wall_s", "final_fitness", "final_success_rate"}
    slices = tuple(SliceResult.model_validate(each.model_dump(include=kept)) for each in record.result.slices)
    result = record.result.model_copy(update={"slices": slices})
    return record.model_copy(update={"result": result, "analysis": None})


def _compared(result: CandidateResult, parent: CandidateRecord) -> ParentComparison:
    assert parent.result is not None and parent.fitness is not None
    several = min(len(result.slices), len(parent.result.slices)) > 1
    return ParentComparison(
        candidate_id=parent.candidate.id,
        fitness=parent.fitness,
        noise=noise(result.fitness_spread, parent.result.fitness_spread) if several else None,
        component_means={name: points[-1].mean for name, points in training_curves(parent.result).components.items()},
    )


def _episodes(result: CandidateResult, card: TaskCard) -> tuple[EpisodeDigest, ...]:
    """Best, median and worst over all seeds, or the best if they are alike; without vectors."""
    vectors = {each.name for each in card.variables if each.shape} | {"action"}
    ranked = sorted((digest for each in result.slices for digest in each.episodes), key=lambda each: -each.fitness)
    if not ranked:
        return ()
    best, worst = ranked[0], ranked[-1]
    close = abs(best.fitness - worst.fitness) <= ALIKE * max(abs(best.fitness), abs(worst.fitness))
    shown = {"best": best}
    if not (close and best.ending == worst.ending):
        shown |= {"median": ranked[(len(ranked) - 1) // 2], "worst": worst}
    return tuple(
        each.model_copy(
            update={
                "rank": rank,
                "variables": {name: values for name, values in each.variables.items() if name not in vectors},
            }
        )
        for rank, each in shown.items()
    )
