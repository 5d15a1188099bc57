"""Turns the training of a candidate into numbers, flags and, with a language model, a written diagnosis."""

from __future__ import annotations

import re
from collections import Counter
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
"""Limit on a reply: a diagnosis takes 120 words, and reasoning models think first."""
_PARAGRAPH = re.compile(r"^\W*(BEHAVIOU?R|CAUSE|KEEP|CHANGE|LESSON)\W*:", re.MULTILINE | re.IGNORECASE)
MOST_CHARS = 4_000
"""Longest diagnosis [characters]; designers read it."""
ALIKE = 0.05
"""Relative difference of fitness below which one of two episodes is enough."""
MOST_ROWS = 13
"""Rows of a shown episode: variables, or parts of vectors."""
OFTEN = 0.5
"""Success rate from which a failure may be due to its start."""


class Analyzer:
    """Studies trained candidates; without a language model, by numbers and flags alone."""

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

        Parents are best first. The archive of all candidates so far gives the noise over seeds and the hard starts.
        """
        result = record.result
        if result is None:
            return Analysis(candidate_id=record.candidate.id)
        curves = training_curves(result)
        trained = [earlier for earlier in parents if earlier.fitness is not None]
        others = [earlier for earlier in archive if earlier.candidate.id != record.candidate.id]
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

        A failed call becomes a flag; any other error of `LLM.complete` is raised.
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
            fault = "" if _PARAGRAPH.search(text) else "the reply has none of the paragraphs that were asked for"
        except CallFailed as error:
            text, fault = "", error.message
        if fault:  # later prompts would quote any other text as a diagnosis
            missing = flag("no-diagnosis", f"There is no written diagnosis: {fault}.")
            return analysis.model_copy(update={"flags": (*analysis.flags, missing)})
        return analysis.model_copy(update={"diagnosis": shortened(text, MOST_CHARS)})


def fitness_alone(record: CandidateRecord) -> CandidateRecord:
    """Return a candidate without the analyzer's results, for designers under `--ablate analyzer`."""
    if record.result is None:
        return record
    kept = {"candidate_id", "seed", "failure", "env_steps", "wall_s", "final_fitness", "final_success_rate"}
    slices = tuple(SliceResult.model_validate(run.model_dump(include=kept)) for run in record.result.slices)
    result = record.result.model_copy(update={"slices": slices})
    return record.model_copy(update={"result": result, "analysis": None})


def _compared(record: CandidateRecord, parent: CandidateRecord, others: Sequence[CandidateRecord]) -> ParentComparison:
    assert record.result is not None and parent.result is not None and parent.fitness is not None
    results = {other.candidate.id: other.result for other in (*others, parent, record)}
    by_id = {id: [*result.by_seed.values()] for id, result in results.items() if result and result.by_seed}
    pooled, freedom = standard_errors([*by_id.values()])
    errors = dict(zip(by_id, pooled, strict=True))
    several = all(len(by_id.get(compared.candidate.id, [])) > 1 for compared in (record, parent))
    limit = 0.0
    if several and freedom:
        limit = noise(errors[record.candidate.id], errors[parent.candidate.id], freedom=freedom)
    return ParentComparison(
        candidate_id=parent.candidate.id,
        fitness=parent.fitness,
        noise=limit or None,
        component_means={name: points[-1].mean for name, points in training_curves(parent.result).components.items()},
    )


def _hard_starts(result: CandidateResult, others: Sequence[CandidateRecord]) -> tuple[tuple[int, int], ...]:
    """Return the starts where a candidate and most of at least two successful others fail."""
    able = [other.result for other in others if other.result and (other.result.success_rate or 0.0) >= OFTEN]
    if len(able) < 2 or (result.success_rate or 0.0) < OFTEN:
        return ()
    failures = Counter(start for other in able for start in _failed_starts(other))
    return tuple(sorted(start for start in _failed_starts(result) if 2 * failures[start] > len(able)))


def _failed_starts(result: CandidateResult) -> set[tuple[int, int]]:
    """Return seed and index of the starts at which a final policy fails."""
    return {
        (run.seed, index)
        for run in result.slices
        for index, outcome in enumerate(run.outcomes[:STARTS])
        if not outcome.success
    }


def _episodes(result: CandidateResult, card: TaskCard) -> tuple[ShownEpisode, ...]:
    """Return two episodes: a success and a failure, else a typical and the worst one.

    If all fail, and the best is much fitter than a typical one: the best and the typical one. If none fails, and some
    did at the evaluation before: a typical one and the worst of those.
    """
    every = [
        ShownEpisode.model_validate(digest.model_dump() | {"seed": run.seed})
        for run in result.slices
        for digest in run.episodes
    ]
    earlier, episodes = ([one for one in every if one.earlier is before] for before in (True, False))
    ranked = sorted(episodes, key=lambda episode: -episode.fitness)
    if not ranked:
        return ()
    best, typical, worst = ranked[0], ranked[(len(ranked) - 1) // 2], ranked[-1]
    named = {"best": best, "median": typical, "worst": worst}
    first = best if stands_out(best, typical) else typical
    second = worst if first.success or first is typical else typical
    if earlier and all(one.success for one in ranked):
        second = named["worst"] = min(earlier, key=lambda episode: episode.fitness)
    is_rated = result.success_rate is not None
    chosen = [first] if second is worst and _alike(first, worst, is_rated) else [first, second]
    rows = _shown_rows(card, chosen)
    return tuple(
        episode.model_copy(
            update={
                "rank": next(rank for rank, ranked_episode in named.items() if ranked_episode is episode),
                "variables": {name: values for name, values in episode.variables.items() if name in rows},
                "swings": {name: swing for name, swing in episode.swings.items() if name in rows},
            }
        )
        for episode in chosen
    )


def _alike(one: ShownEpisode, other: ShownEpisode, is_rated: bool) -> bool:
    """Return True if the second adds little: it ends alike, and fails too, in a task with success, or is as fit."""
    close = abs(one.fitness - other.fitness) <= ALIKE * max(abs(one.fitness), abs(other.fitness))
    return (one.success, one.ending) == (other.success, other.ending) and (close or (is_rated and not one.success))


def _shown_rows(card: TaskCard, episodes: Sequence[ShownEpisode]) -> set[str]:
    """Return the titles of the rows to show: those that the fitness reads first, vectors of rates last.

    Rows that never change, such as the y of what moves in a plane, share a line and take no room.
    """
    rates = {variable.name for variable in card.variables if "/s" in variable.unit and variable.shape}
    titles, changing = set[str](), set[str]()
    by_weight = sorted(card.variables, key=lambda variable: (variable.name in rates, variable.name not in card.read))
    for variable in by_weight:
        rows = {row.title for row in episode_rows({variable.name: variable.parts})}
        more = {row for row in rows if _changes([value for one in episodes for value in one.variables.get(row, ())])}
        if len(changing) + len(more) <= MOST_ROWS:
            titles |= rows
            changing |= more
    return titles


def _changes(values: Sequence[float]) -> bool:
    return bool(values) and max(values) - min(values) > 1e-6
