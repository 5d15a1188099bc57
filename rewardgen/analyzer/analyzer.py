"""Turns the training of a candidate into numbers, flags and, with a language model, a written diagnosis."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rewardgen.analyzer.episode_text import stands_out
from rewardgen.analyzer.flags import flags_of
from rewardgen.analyzer.predictions import scored
from rewardgen.analyzer.training_curves import seed_curves, training_curves
from rewardgen.analyzer.training_evidence import TrainingEvidence, flag
from rewardgen.core.formatting import shortened
from rewardgen.core.statistics import noise, standard_errors
from rewardgen.llm.prompts import analyzer_messages
from rewardgen.llm.protocol import LLM, CallFailed
from rewardgen.store.measurements import STARTS, episode_rows
from rewardgen.store.messages import LLMRequest
from rewardgen.store.records import (
    Analysis,
    CandidateRecord,
    CandidateResult,
    ParentComparison,
    ShownEpisode,
    SliceResult,
    TaskCard,
)

MAX_TOKENS = 4096
"""For a diagnosis of 120 words; models that think first need more."""
_PARAGRAPH = re.compile(r"^\W*(BEHAVIOU?R|CAUSE|KEEP|CHANGE|LESSON)\W*:", re.MULTILINE | re.IGNORECASE)
MOST_CHARS = 4_000
"""Length of the diagnosis that is kept and shown to designers."""
ALIKE = 0.05
"""Relative difference of fitness below which two episodes are not worth showing both."""
MOST_ROWS = 13
"""Rows, variables or parts of vectors, that an episode is shown by."""
OFTEN = 0.5
"""Success rate from which on a failure says something of its start."""


class Analyzer:
    """Studies trained candidates.

    Args:
        llm: Writes the diagnosis; None for numbers and flags alone.
    """

    def __init__(self, llm: LLM | None) -> None:
        self._llm = llm

    def study(
        self,
        record: CandidateRecord,
        parents: Sequence[CandidateRecord],
        card: TaskCard,
        archive: Sequence[CandidateRecord] = (),
    ) -> Analysis:
        """Return curves, episodes, flags, outcome of the prediction and comparison with the first trained parent.

        Args:
            record: The candidate; trained, failed or rejected.
            parents: Its parents, best first.
            card: The task.
            archive: All candidates so far, for the noise over seeds and the hard starts.
        """
        result = record.result
        if result is None:
            return Analysis(candidate_id=record.candidate.id)
        curves = training_curves(result)
        trained = [each for each in parents if each.fitness is not None]
        others = [each for each in archive if each.candidate.id != record.candidate.id]
        parent = _compared(record, trained[0], [*trained[1:], *others]) if trained else None
        return Analysis(
            candidate_id=record.candidate.id,
            curves=curves,
            episodes=_episodes(result, card),
            hard_starts=_hard_starts(result, others),
            parent=parent,
            fitness_delta=result.fitness - parent.fitness if parent and result.fitness is not None else None,
            flags=flags_of(TrainingEvidence(result, curves, seed_curves(result), card)),
            predictions=scored(record.candidate.prediction, result, curves, card),
        )

    async def diagnose(self, analysis: Analysis, record: CandidateRecord, card: TaskCard) -> Analysis:
        """Add a written diagnosis to an analysis, if there is a model to write it and a training to write about.

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
            text = (await self._llm.complete(request)).text.strip()
            why = "" if _PARAGRAPH.search(text) else "the reply has none of the paragraphs that were asked for"
        except CallFailed as error:
            text, why = "", error.message
        if why:  # what is no diagnosis would be quoted to every designer that comes
            missing = flag("no-diagnosis", f"There is no written diagnosis: {why}.")
            return analysis.model_copy(update={"flags": (*analysis.flags, missing)})
        return analysis.model_copy(update={"diagnosis": shortened(text, MOST_CHARS)})


def fitness_alone(record: CandidateRecord) -> CandidateRecord:
    """Return a candidate with nothing of the analyzer's, for designers under `--ablate analyzer`."""
    if record.result is None:
        return record
    kept = {"candidate_id", "seed", "failure", "env_steps", "wall_s", "final_fitness", "final_success_rate"}
    slices = tuple(SliceResult.model_validate(each.model_dump(include=kept)) for each in record.result.slices)
    result = record.result.model_copy(update={"slices": slices})
    return record.model_copy(update={"result": result, "analysis": None})


def _compared(record: CandidateRecord, parent: CandidateRecord, others: Sequence[CandidateRecord]) -> ParentComparison:
    assert record.result is not None and parent.result is not None and parent.fitness is not None
    by_id = {each.candidate.id: _by_seed(each) for each in (*others, parent, record) if each.fitness is not None}
    pooled = standard_errors([*by_id.values()])
    errors = dict(zip(by_id, pooled.errors, strict=True))
    several = all(len(by_id.get(each.candidate.id, [])) > 1 for each in (record, parent))
    limit = 0.0
    if several and pooled.freedom:
        limit = noise(errors[record.candidate.id], errors[parent.candidate.id], freedom=pooled.freedom)
    return ParentComparison(
        candidate_id=parent.candidate.id,
        fitness=parent.fitness,
        noise=limit or None,
        component_means={name: points[-1].mean for name, points in training_curves(parent.result).components.items()},
    )


def _by_seed(record: CandidateRecord) -> list[float]:
    slices = record.result.slices if record.result else ()
    return [each.final_fitness for each in slices if each.final_fitness is not None]


def _hard_starts(result: CandidateResult, others: Sequence[CandidateRecord]) -> tuple[tuple[int, int], ...]:
    """Return starts at which a candidate fails, and so do most of at least two others that often succeed."""
    able = [each.result for each in others if each.result and (each.result.success_rate or 0.0) >= OFTEN]
    if len(able) < 2 or (result.success_rate or 0.0) < OFTEN:
        return ()
    failed = [_failed_starts(each) for each in able]
    return tuple(
        sorted(start for start in _failed_starts(result) if 2 * sum(start in each for each in failed) > len(failed))
    )


def _failed_starts(result: CandidateResult) -> set[tuple[int, int]]:
    """Return seed and index of the starts at which a final policy fails."""
    return {
        (each.seed, index)
        for each in result.slices
        for index, outcome in enumerate(each.outcomes[:STARTS])
        if not outcome.success
    }


def _episodes(result: CandidateResult, card: TaskCard) -> tuple[ShownEpisode, ...]:
    """Return two episodes: a success and a failure, else a typical and the worst one.

    Where all fail and the best is much fitter than a typical one, those two.
    """
    found = [(digest, each.seed) for each in result.slices for digest in each.episodes]
    ranked = [
        ShownEpisode.model_validate(digest.model_dump() | {"seed": seed})
        for digest, seed in sorted(found, key=lambda each: -each[0].fitness)
    ]
    if not ranked:
        return ()
    best, typical, worst = ranked[0], ranked[(len(ranked) - 1) // 2], ranked[-1]
    named = {"best": best, "median": typical, "worst": worst}
    first = best if stands_out(best, typical) else typical
    second = worst if first.success or first is typical else typical
    shown = [first] if second is worst and _alike(first, worst) else [first, second]
    rows = _shown_rows(card)
    return tuple(
        each.model_copy(
            update={
                "rank": next(rank for rank, one in named.items() if one is each),
                "variables": {name: values for name, values in each.variables.items() if name in rows},
                "swings": {name: swing for name, swing in each.swings.items() if name in rows},
            }
        )
        for each in shown
    )


def _alike(one: ShownEpisode, other: ShownEpisode) -> bool:
    """Return True if the second adds little: it ends alike, and fails too or is as fit."""
    close = abs(one.fitness - other.fitness) <= ALIKE * max(abs(one.fitness), abs(other.fitness))
    return (one.success, one.ending) == (other.success, other.ending) and (close or not one.success)


def _shown_rows(card: TaskCard) -> set[str]:
    """Return the shown rows of an episode, in the order of the task; vectors of rates come last."""
    rates = {each.name for each in card.variables if "/s" in each.unit and each.shape}
    shown: set[str] = set()
    for variable in sorted(card.variables, key=lambda each: each.name in rates):
        rows = {row.title for row in episode_rows({variable.name: variable.parts})}
        shown |= rows if len(shown | rows) <= MOST_ROWS else set()
    return shown
