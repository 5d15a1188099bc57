"""Ancestors of a candidate, and the changes between rewards."""

from __future__ import annotations

import difflib
from typing import NamedTuple

from rewardgen.store.history import History
from rewardgen.store.records import CandidateRecord


class Ancestor(NamedTuple):
    """One step of a lineage."""

    id: str
    operator: str
    parents: tuple[str, ...]
    fitness: float | None
    depth: int
    """Steps back from the candidate; 0 is the candidate itself."""


def lineage(history: History, candidate_id: str) -> list[Ancestor]:
    """A candidate and all its ancestors, each once, nearest first."""
    ancestors: dict[str, Ancestor] = {}
    pending = [(candidate_id, 0)]
    for id, depth in pending:
        record = history.record(id)
        if record is not None and id not in ancestors:
            parents = record.candidate.parents
            ancestors[id] = Ancestor(id, record.candidate.operator, parents, record.fitness, depth)
            pending += [(parent, depth + 1) for parent in parents]
    return list(ancestors.values())


def parent_diffs(history: History, record: CandidateRecord) -> list[tuple[str, str]]:
    """Each parent with the unified diff from its source; none for a candidate without a source."""
    candidate = record.candidate
    parents = [parent.candidate for id in candidate.parents if candidate.source and (parent := history.record(id))]
    return [(parent.id, unified_diff(parent.source, candidate.source, parent.id, candidate.id)) for parent in parents]


def unified_diff(before: str, after: str, before_name: str, after_name: str) -> str:
    """Unified diff of two sources."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), before_name, after_name, lineterm="")
    return "\n".join(lines)
