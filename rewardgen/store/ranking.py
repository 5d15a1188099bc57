"""Rankings of candidates with their uncertainty, as judges return them."""

from __future__ import annotations

from rewardgen.core.schema import Frozen
from rewardgen.core.statistics import noise
from rewardgen.store.names import CandidateId


class Rank(Frozen):
    """One candidate in a ranking."""

    candidate_id: CandidateId
    estimate: float
    """Quality in the judge's own unit; higher is better."""
    standard_error: float = 0.0
    freedom: int | None = None
    """Degrees of freedom of the standard error; 0 if it is unknown, None if it is exact."""


class Ranking(Frozen):
    """Candidates, best first, without those that cannot be ranked, such as failed ones."""

    ranks: tuple[Rank, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the candidates, best first."""
        return tuple(rank.candidate_id for rank in self.ranks)

    @property
    def best(self) -> Rank | None:
        """First rank; None if the ranking is empty."""
        return next(iter(self.ranks), None)

    def rank(self, candidate_id: str) -> Rank | None:
        """Return the rank of a candidate; None if it is not ranked."""
        return next((rank for rank in self.ranks if rank.candidate_id == candidate_id), None)


def leads(one: Rank, other: Rank) -> bool:
    """True if one candidate leads another by more than noise."""
    freedom = min((rank.freedom for rank in (one, other) if rank.freedom is not None), default=None)
    return one.estimate - other.estimate > noise(one.standard_error, other.standard_error, freedom=freedom)
