"""Where a candidate comes from: its ancestors, and what changed from one reward to the next."""

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
    """A candidate and all its ancestors, each once, nearest first.

    Args:
        history: The run.
        candidate_id: A candidate of the search.
    """
    found: dict[str, Ancestor] = {}
    pending = [(candidate_id, 0)]
    for id, depth in pending:
        record = history.record(id)
        if record is not None and id not in found:
            parents = record.candidate.parents
            found[id] = Ancestor(id, record.candidate.operator, parents, record.fitness, depth)
            pending += [(each, depth + 1) for each in parents]
    return list(found.values())


def parent_diff(history: History, record: CandidateRecord) -> str:
    """Unified diff from the first parent's source to a candidate's; empty without a parent."""
    return next((diff for _, diff in parent_diffs(history, record)), "")


def parent_diffs(history: History, record: CandidateRecord) -> list[tuple[str, str]]:
    """Each parent with the unified diff from its source to a candidate's; none if the candidate has no source."""
    candidate = record.candidate
    parents = [each for id in candidate.parents if candidate.source and (each := history.record(id))]
    return [
        (parent.id, unified_diff(parent.source, candidate.source, parent.id, candidate.id))
        for parent in (each.candidate for each in parents)
    ]


def unified_diff(before: str, after: str, before_name: str, after_name: str) -> str:
    """Unified diff of two sources."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), before_name, after_name, lineterm="")
    return "\n".join(lines)
