"""What was tried in vain, as later design requests tell it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from rewardgen.core.formatting import number
from rewardgen.designer.protocol import MOST_OF_AN_IDEA, idea_of
from rewardgen.search.judge import improves
from rewardgen.store.ranking import Ranking
from rewardgen.store.records import CandidateRecord

_NO_FAULT = ("still-rising", "no-diagnosis", "negligible-component")
"""Flags that do not say why an idea failed."""
_LESSON = re.compile(r"^\W*LESSON\W*:?\s*(.+)", re.MULTILINE | re.DOTALL)


def failed_ideas(
    records: Sequence[CandidateRecord], ranking: Ranking, apart_from: Collection[str] = (), limit: int = 5
) -> tuple[str, ...]:
    """What was tried in vain, latest first, one line each: the idea, what became of it, and the flags it raised.

    Args:
        records: All candidates so far.
        ranking: Of these.
        apart_from: Ids that are told of at length elsewhere.
        limit: Lines at most.
    """
    # A tuner's steps are no ideas, and as many as these.
    tried = [each for each in records if each.candidate.operator != "constants"]
    lines = [_told(record, ranking) for record in reversed(tried) if record.candidate.id not in apart_from]
    return tuple(line for line in lines if line)[:limit]


def _told(record: CandidateRecord, ranking: Ranking) -> str:
    candidate, became = record.candidate, record.outcome[:160] or _loss(record, ranking)
    if not became:
        return ""
    of = f" of {' and '.join(candidate.parents)}" if candidate.parents else ""
    analysis = record.analysis
    raised = sorted({flag.detector for flag in analysis.flags} - set(_NO_FAULT)) if analysis else []
    flags = f" ({', '.join(raised)})" if raised else ""
    lesson = _LESSON.search(analysis.diagnosis) if analysis else None
    learned = f" A reader's lesson: {' '.join(lesson[1].split())[:MOST_OF_AN_IDEA]}" if lesson else ""
    idea = idea_of(candidate.diagnosis) or "no idea given"
    return f"{candidate.id} ({candidate.operator}{of}): {idea} -> {' '.join(became.split())}{flags}.{learned}"


def _loss(record: CandidateRecord, ranking: Ranking) -> str:
    """What became of a trained candidate that did not better its parent, or reached nothing; empty for others."""
    analysis, result = record.analysis, record.result
    if analysis is None or result is None or record.fitness is None or improves(record, ranking):
        return ""
    values = ", ".join(number(each.final_fitness) for each in result.slices if each.final_fitness is not None)
    reached = f"fitness {number(record.fitness)} (by seed: {values})"
    if analysis.fitness_delta is not None and analysis.parent:
        limit = analysis.parent.noise
        side = "of unknown noise" if limit is None else "which is within noise and shows nothing"
        if limit is not None and abs(analysis.fitness_delta) > limit:
            side = "beyond noise"
        return f"{reached}, {analysis.fitness_delta:+.3g} against its parent, {side}"
    reached_nothing = any(flag.detector == "no-better-than-trivial" for flag in analysis.flags)
    return reached if reached_nothing else ""
