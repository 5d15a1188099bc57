"""Duplicates: a reward that is an earlier one, as a program or in what it pays, is not trained again.

How far two rewards are from each other in what they pay is the distance of `rewardgen.critic.canonical`, after EPIC
(Gleave et al. 2021, "Quantifying Differences in Reward Functions").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from rewardgen.critic.piecewise import piecewise_constants
from rewardgen.reward.identity import source_fingerprint
from rewardgen.store.records import CandidateRecord, Finding, RewardSpec, TaskCard

SAME = 2e-5
"""Rewards nearer to each other than this pay the same. Those that are equal but for scale, shift and potential shaping
were measured up to 2e-6 apart, by the rounding of float32; those that differ in one constant, 9e-5 and more."""


class Distance(NamedTuple):
    """How far two rewards are from each other in what they pay, 0 to 1; None where it cannot be told.

    Attributes:
        recorded: On recorded transitions.
        beyond: On the same transitions stretched far beyond what was recorded, where limits and steps show.
    """

    recorded: float | None
    beyond: float | None

    @property
    def widest(self) -> float:
        """The larger of the two; 1 if one cannot be told, since nothing is then known to be the same."""
        return max(1.0 if each is None else each for each in self)


Distances = Mapping[str, Mapping[str, Distance]]
"""Candidate id to the id of another to the gap between them."""


class RewardDistance(Protocol):
    """Runs rewards on recorded transitions to compare them."""

    def gaps(self, rewards: Sequence[RewardSpec], others: Sequence[RewardSpec], card: TaskCard) -> Distances:
        """From each reward to every other one, as far as they can be told."""
        ...


NOT_COMPARED = "not-compared"


def find_duplicate(
    source: str, gaps: Mapping[str, Distance] | None, accepted: Sequence[CandidateRecord]
) -> Finding | None:
    """A rejection of a candidate that is another one again, or a warning if what it pays could not be compared.

    Two steps with no recorded state between them pay the same on all that is recorded. So rewards that pay the same
    are only taken for the same if they compare, clamp and saturate with the same constants.

    Args:
        source: The candidate's source.
        gaps: From it to others by their ids, those that are missing are unknown; None if it was left out.
        accepted: The candidates that were, or will be, trained.
    """
    own = source_fingerprint(source)
    for record in accepted:
        if source_fingerprint(record.candidate.source) == own:
            return _same_program(record.candidate.id)
    if gaps is None:
        return _not_compared()
    near = [record for record in accepted if (gap := gaps.get(record.candidate.id)) and gap.widest < SAME]
    near = [record for record in near if _same_constants(source, record.candidate.source)]
    if not near:
        return None
    # The nearest, whatever the order in which they were reviewed: a resumed run must find the same.
    nearest = min(near, key=lambda record: (gaps[record.candidate.id].widest, record.candidate.id))
    return _same_pay(nearest, gaps[nearest.candidate.id].widest)


def _same_constants(source: str, other: str) -> bool:
    own = piecewise_constants(source)
    return own is not None and own == piecewise_constants(other)


def _not_compared() -> Finding:
    return Finding(
        gate="duplicate",
        detector=NOT_COMPARED,
        severity="warn",
        message="what it pays could not be compared with what others pay: it fails, or takes too long, on transitions "
        "put together from recorded ones",
        hint="keep every term finite and cheap for any combination of its inputs",
    )


def _same_program(other: str) -> Finding:
    return Finding(
        gate="duplicate",
        detector="duplicate-program",
        severity="reject",
        message=f"the same program as {other}, but for names, comments and layout",
        hint=f"see {other} for its result",
    )


def _same_pay(other: CandidateRecord, distance: float) -> Finding:
    id = other.candidate.id
    fitness = "" if other.fitness is None else f" (fitness {other.fitness:.4g})"
    return Finding(
        gate="duplicate",
        detector="behavioural-duplicate",
        severity="reject",
        message=f"it pays what {id}{fitness} pays, but for scale, shift and potential shaping: "
        f"their canonical distance is {distance:.1g}, within rounding",
        hint=f"change what is paid, not how it is scaled or shaped; see {id} for its result",
        evidence={"distance": distance},
    )
