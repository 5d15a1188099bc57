"""Turns what training showed of a candidate into a table, flags and, with a language model, a written diagnosis."""

from __future__ import annotations

from collections.abc import Sequence

from rewardgen.analyzer.detectors.seen import TrainingEvidence, flag
from rewardgen.analyzer.flags import flags_of
from rewardgen.analyzer.predictions import scored
from rewardgen.analyzer.table import table_text
from rewardgen.analyzer.training_curves import TrainingCurves, course_of
from rewardgen.llm.prompts import analyzer_messages
from rewardgen.llm.protocol import LLM, CallFailed
from rewardgen.store.messages import LLMRequest
from rewardgen.store.records import Analysis, CandidateRecord, TaskCard

MAX_TOKENS = 4096
"""Of a diagnosis; models that think first need more than the 120 words asked for."""

_NOTHING = TrainingCurves((), {}, (), {})


class Analyzer:
    """Studies trained candidates.

    Args:
        llm: Writes the diagnosis; None for tables and flags alone.
    """

    def __init__(self, llm: LLM | None) -> None:
        self._llm = llm

    def study(self, record: CandidateRecord, parents: Sequence[CandidateRecord], card: TaskCard) -> Analysis:
        """Table, flags, outcome of the prediction and difference to the best parent, from the numbers alone.

        Args:
            record: The candidate; trained, failed or rejected.
            parents: What it was designed from.
            card: The task.
        """
        result = record.result
        trained = [parent for parent in parents if parent.fitness is not None]
        parent = max(trained, key=lambda each: each.fitness or 0.0, default=None)
        course = course_of(result) if result else _NOTHING
        known = record.fitness is not None and parent is not None and parent.fitness is not None
        return Analysis(
            candidate_id=record.candidate.id,
            table=table_text(record, parent, course, card),
            flags=flags_of(TrainingEvidence(result, course, card)) if result else (),
            predictions=scored(record.candidate.prediction, result, course, card) if result else (),
            fitness_delta=(record.fitness or 0.0) - (parent.fitness or 0.0) if known and parent else None,
        )

    async def diagnose(self, analysis: Analysis, record: CandidateRecord, card: TaskCard) -> Analysis:
        """The analysis with a written diagnosis, if there is a model to write it and a training to write about.

        Args:
            analysis: What `record` returned.
            record: The candidate.
            card: The task.

        Raises:
            CredentialsError: The API key is missing or was refused.
            ModelError: The model does not exist or refuses every request.
            BudgetExhausted: The limit on cost or tokens leaves no room for the call.
        """
        if self._llm is None or record.fitness is None:
            return analysis
        request = LLMRequest(
            label=f"{record.candidate.id}/analyzer/diagnosis",
            messages=analyzer_messages(analysis, record, card),
            temperature=0.3,
            max_tokens=MAX_TOKENS,
        )
        try:
            reply = await self._llm.complete(request)
        except CallFailed as error:
            missing = flag("no-diagnosis", f"There is no written diagnosis: {error.message}.")
            return analysis.model_copy(update={"flags": (*analysis.flags, missing)})
        return analysis.model_copy(update={"diagnosis": reply.text.strip()})
