"""Comparisons of a run in words: who is preferred and how surely, and where answers and the task's fitness disagree."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from rewardgen.core.formatting import count, number, with_spread
from rewardgen.search.judged import judged_record
from rewardgen.store.comparisons import Clip, consistency
from rewardgen.store.history import History
from rewardgen.store.records import CandidateRecord

_MOST_DISAGREEMENTS = 10


class Disagreement(NamedTuple):
    """An answer for the episode with the lower fitness."""

    better: str
    """The preferred candidate, with the fitness of the episode."""
    worse: str
    episode: str
    """Number of the answer, seed and start."""
    why: str


class ComparisonFacts(NamedTuple):
    """The comparisons of a run."""

    summary: str
    ranks: tuple[tuple[str, str, int], ...]
    """Candidate, strength with its standard error, and number of its comparisons, best first."""
    disagreements: tuple[Disagreement, ...] = ()
    """Largest difference of fitness first, at most 10."""


def comparison_facts(history: History) -> ComparisonFacts | None:
    """Return the comparisons of a run; None without any."""
    comparisons = history.comparisons
    if not comparisons:
        return None
    by_teacher = Counter(each.teacher for each in comparisons)
    summary = ", ".join(f"{count(number, 'answer')} by `{teacher}`" for teacher, number in by_teacher.items()) + "."
    for of_two, whom in ((False, ""), (True, " of another judge")):
        asked_twice, alike = consistency(comparisons, of_two=of_two)
        if asked_twice:
            questions = f"{count(asked_twice, 'question')} asked again{whom} with exchanged sides"
            summary += f" {questions}: {alike} answered alike."
    ranks = [
        (
            rank.candidate_id,
            with_spread(rank.estimate, rank.standard_error),
            sum(rank.candidate_id in each.ids for each in comparisons),
        )
        for rank in history.ranking.ranks
    ]
    return ComparisonFacts(summary, tuple(ranks), _disagreements(history))


def told_record(history: History, record: CandidateRecord) -> CandidateRecord:
    """Return a candidate as people read it: in a task without a fitness, with its comparisons in place of one."""
    if history.has_fitness:
        return record
    return judged_record(record, history.ranking, [each for id in history.ids() if (each := history.record(id))])


def _disagreements(history: History) -> tuple[Disagreement, ...]:
    found: list[tuple[float, Disagreement]] = []
    for each in history.comparisons if history.has_fitness else ():
        better, worse = (each.right, each.left) if each.answer == "right" else (each.left, each.right)
        high, low = _fitness(history, better), _fitness(history, worse)
        if each.answer in ("left", "right") and high is not None and low is not None and high < low:
            disagreement = Disagreement(
                better=f"{better.candidate_id} ({number(high)})",
                worse=f"{worse.candidate_id} ({number(low)})",
                episode=f"answer {each.number + 1}: seed {better.seed}, start {better.start}",
                why=each.why,
            )
            found.append((high - low, disagreement))
    found.sort(key=lambda item: item[0])
    return tuple(disagreement for _, disagreement in found[:_MOST_DISAGREEMENTS])


def _fitness(history: History, clip: Clip) -> float | None:
    result = history.trained.get(("search", clip.candidate_id, clip.seed))
    return result.outcomes[clip.start].fitness if result and clip.start < len(result.outcomes) else None
