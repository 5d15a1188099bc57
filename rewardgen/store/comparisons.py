"""Comparisons: what a teacher said of two episodes. With the records of a run they are all that a preference needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from rewardgen.core.schema import Frozen
from rewardgen.store.measurements import Count
from rewardgen.store.names import CandidateId

Answer = Literal["left", "right", "same", "unclear"]
"""The better side; `same` if neither is, `unclear` if the teacher cannot tell."""


TERMINATED = "terminated"
"""Signal that is 1 if a termination condition ended the episode, else 0."""


@dataclass(frozen=True)
class Signal:
    """Declares a weak sign of a good episode: `signals = (Signal("upright"), Signal("effort", better="low"))`.

    Args:
        variable: Name of a scalar variable; or `terminated`, 1 if a termination condition ended the episode.
        at: Reading over an episode: its `mean`, `last`, `max` or `min`.
        better: The better end.
        margin: Difference from which two episodes differ.
    """

    variable: str
    at: Literal["mean", "last", "max", "min"] = "mean"
    better: Literal["high", "low"] = "high"
    margin: float = 0.0

    @property
    def name(self) -> str:
        """The reading in words, such as `max height`."""
        return self.variable if self.variable == TERMINATED else f"{self.at} {self.variable}"


MOST_WORDS = 1_000
"""Characters of a reason at most."""
_OPPOSITE: dict[Answer, Answer] = {"left": "right", "right": "left", "same": "same", "unclear": "unclear"}


def mirrored(answer: Answer) -> Answer:
    """Return an answer as if the sides were exchanged."""
    return _OPPOSITE[answer]


class Clip(Frozen):
    """An episode of a clean evaluation: a candidate's final policy of one seed, from one of the common starts."""

    candidate_id: CandidateId
    seed: int
    start: Count
    """Index of the start among those of the seed, and of its outcome in `SliceResult.outcomes`."""


class Question(Frozen):
    """Two clips to compare, with the same seed and start."""

    left: Clip
    right: Clip
    repeats: Count | None = None
    """Number of the comparison that is asked again with exchanged sides, to measure consistency."""

    @property
    def ids(self) -> tuple[str, str]:
        """Candidates on the left and on the right."""
        return self.left.candidate_id, self.right.candidate_id


class Comparison(Question):
    """Data of `compared`: a question with its answer."""

    number: Count
    """Place among the run's comparisons, from 0."""
    generation: Count
    """Index of the generation after which it was asked."""
    answer: Answer
    teacher: str
    """Name of who answered, as given to `--judge`."""
    why: Annotated[str, Field(max_length=MOST_WORDS)] = ""
    seconds: Annotated[float, Field(ge=0.0, le=1e9)] = 0.0


def consistency(comparisons: Sequence[Comparison], *, of_two: bool = False) -> tuple[int, int]:
    """Count the questions that were asked twice with a decided answer, and those answered alike.

    Both answers are of one teacher, or `of_two`, where a run went on with another judge.
    """
    by_number = {each.number: each for each in comparisons}
    pairs = [(each, by_number[each.repeats]) for each in comparisons if each.repeats in by_number]
    decided = [
        (again, first)
        for again, first in pairs
        if "unclear" not in (again.answer, first.answer) and (again.teacher != first.teacher) is of_two
    ]
    return len(decided), sum(mirrored(again.answer) == first.answer for again, first in decided)
