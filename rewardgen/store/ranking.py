"""A ranking of candidates with its uncertainty: what a judge says, and what a run remembers of it."""

from __future__ import annotations

from rewardgen.core.schema import Frozen
from rewardgen.core.statistics import noise
from rewardgen.store.names import CandidateId


class Rank(Frozen):
    """One candidate in a ranking."""

    candidate_id: CandidateId
    estimate: float
    """How good it is, in the judge's own unit; higher is better."""
    standard_error: float = 0.0
    """Of the estimate."""
    freedom: int | None = None
    """Degrees of freedom that the standard error rests on; 0 where nothing is known of it, None where all is."""


class Ranking(Frozen):
    """Candidates, best first. Those of which nothing can be said, such as failed ones, are not among them."""

    ranks: tuple[Rank, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """The candidates, best first."""
        return tuple(each.candidate_id for each in self.ranks)

    @property
    def best(self) -> Rank | None:
        """The first; None if nothing is ranked."""
        return next(iter(self.ranks), None)

    def rank(self, candidate_id: str) -> Rank | None:
        """The rank of a candidate; None if it is not ranked."""
        return next((each for each in self.ranks if each.candidate_id == candidate_id), None)


def leads(one: Rank, other: Rank) -> bool:
    """Whether one candidate is ahead of another by more than the noise of both."""
    freedom = min((each.freedom for each in (one, other) if each.freedom is not None), default=None)
    return one.estimate - other.estimate > noise(one.standard_error, other.standard_error, freedom=freedom)
