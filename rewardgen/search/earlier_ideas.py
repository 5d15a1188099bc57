"""What was tried before, in vain or not, as later design requests tell it."""

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
    lines = [
        _told(record, record.outcome[:160] or (_became(record) if _in_vain(record, ranking) else ""))
        for record in reversed(records)
        if record.candidate.id not in apart_from
    ]
    return tuple(line for line in lines if line)[:limit]


def leading_ideas(
    records: Sequence[CandidateRecord], ranking: Ranking, apart_from: Collection[str] = (), limit: int = 3
) -> tuple[str, ...]:
    """The best of what was tried, best first, in lines like those of `failed_ideas`, in which none of them is.

    Args:
        records: All candidates so far.
        ranking: Of these.
        apart_from: Ids that are told of at length elsewhere.
        limit: Lines at most.
    """
    by_id = {each.candidate.id: each for each in records}
    leaders = [by_id[id] for id in ranking.ids if id in by_id and id not in apart_from]
    lines = [_told(record, _became(record)) for record in leaders if not _in_vain(record, ranking)]
    return tuple(line for line in lines if line)[:limit]


def _told(record: CandidateRecord, became: str) -> str:
    candidate = record.candidate
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


def _in_vain(record: CandidateRecord, ranking: Ranking) -> bool:
    """Whether a trained candidate did not better its parent, or reached nothing."""
    if record.analysis is None or improves(record, ranking):
        return False
    reached_nothing = any(flag.detector == "no-better-than-trivial" for flag in record.analysis.flags)
    return reached_nothing or (record.analysis.fitness_delta is not None and record.analysis.parent is not None)


def _became(record: CandidateRecord) -> str:
    """What a trained candidate reached, and against its parent; empty for others."""
    analysis, result = record.analysis, record.result
    if analysis is None or result is None or record.fitness is None:
        return ""
    values = ", ".join(number(each.final_fitness) for each in result.slices if each.final_fitness is not None)
    reached = f"fitness {number(record.fitness)} (by seed: {values})"
    if analysis.fitness_delta is not None and analysis.parent:
        limit = analysis.parent.noise
        side = "of unknown noise" if limit is None else "which is within noise and shows nothing"
        if limit is not None and abs(analysis.fitness_delta) > limit:
            side = "beyond noise"
        return f"{reached}, {analysis.fitness_delta:+.3g} against its parent, {side}"
    return reached
