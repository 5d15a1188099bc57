"""Spans of time: how much of a run they cover together, and how idle the cores are between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Span(NamedTuple):
    """From when to when [s]."""

    began: float
    ended: float

    @property
    def length(self) -> float:
        """Seconds."""
        return self.ended - self.began


def covered(spans: Iterable[Span]) -> float:
    """Seconds that lie in at least one span."""
    total, reached = 0.0, float("-inf")
    for span in sorted(spans):
        total += max(0.0, span.ended - max(span.began, reached))
        reached = max(reached, span.ended)
    return total


def idle_share(phases: Iterable[Sequence[Span]], cores: int) -> float:
    """Share of the cores' time that is in no span, from the first beginning to the last end of each phase.

    Args:
        phases: The spans of each phase, one span at a time on a core.
        cores: How many there are.
    """
    busy, whole = 0.0, 0.0
    for spans in filter(None, phases):
        busy += sum(span.length for span in spans)
        whole += cores * (max(span.ended for span in spans) - min(span.began for span in spans))
    return 1.0 - busy / whole if whole else 0.0
