"""What was tried in vain, as later design requests tell it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rewardgen.designer.protocol import IDEA
from rewardgen.search.judge import improves
from rewardgen.store.ranking import Ranking
from rewardgen.store.records import CandidateRecord

_NO_FAULT = ("still-rising", "no-diagnosis", "negligible-component")
"""Flags that do not say why an idea failed."""


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
    lines = [_told(record, ranking) for record in reversed(records) if record.candidate.id not in apart_from]
    return tuple(line for line in lines if line)[:limit]


def _told(record: CandidateRecord, ranking: Ranking) -> str:
    candidate, became = record.candidate, record.outcome[:160] or _loss(record, ranking)
    if not became:
        return ""
    idea = " ".join(candidate.diagnosis.split())[:IDEA] or "no idea given"
    of = f" of {' and '.join(candidate.parents)}" if candidate.parents else ""
    raised = sorted({flag.detector for flag in record.analysis.flags} - set(_NO_FAULT)) if record.analysis else []
    flags = f" ({', '.join(raised)})" if raised else ""
    return f"{candidate.id} ({candidate.operator}{of}): {idea} -> {' '.join(became.split())}{flags}"


def _loss(record: CandidateRecord, ranking: Ranking) -> str:
    """Why a trained candidate was in vain: it fell behind its parent, or reached nothing; empty if it was not."""
    analysis = record.analysis
    if analysis is None or record.fitness is None or improves(record, ranking):
        return ""
    if analysis.fitness_delta is not None:
        return f"fitness {record.fitness:.3g}, {analysis.fitness_delta:+.3g} against its parent"
    reached_nothing = any(flag.detector == "no-better-than-trivial" for flag in analysis.flags)
    return f"fitness {record.fitness:.3g}" if reached_nothing else ""
