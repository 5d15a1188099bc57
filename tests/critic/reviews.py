"""A reviewer without a worker, which runs no reward."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from rewardgen.critic.critic import Critic
from rewardgen.critic.sandboxed import BatchReview, ReviewRequest, RewardReview
from rewardgen.store.records import Candidate, Finding, RewardSpec, TaskCard

REJECTION = Finding(gate="probe", detector="non-finite", severity="reject", message="inf")


class FakeReviewer:
    """Answers as told, and notes its requests.

    Args:
        rejects: True for a reward that the probe rejects.
        returns: Id to its sums.
        same: Ids of rewards that pay the same.
        left_out: Ids of rewards that cannot be compared.
    """

    def __init__(
        self,
        rejects: Callable[[RewardSpec], bool] = lambda _: False,
        returns: dict[str, dict[str, list[float]]] | None = None,
        same: Sequence[Collection[str]] = (),
        left_out: Collection[str] = (),
    ) -> None:
        self.requests: list[ReviewRequest] = []
        self._rejects, self._returns, self._same, self._left_out = rejects, returns or {}, same, left_out

    @property
    def probed(self) -> list[list[str]]:
        """Ids of the rewards in each request."""
        return [[reward.candidate_id for reward in request.rewards] for request in self.requests]

    def review(self, request: ReviewRequest) -> BatchReview:
        self.requests.append(request)
        return BatchReview(reviews={reward.candidate_id: self._review(reward, request) for reward in request.rewards})

    def _review(self, reward: RewardSpec, request: ReviewRequest) -> RewardReview:
        id = reward.candidate_id
        if self._rejects(reward):
            return RewardReview(findings=(REJECTION,))
        distances = None
        if request.others is not None and id not in self._left_out:
            others = [spec.candidate_id for spec in (*request.others, *request.rewards)]
            distances = {other: self._distance(id, other) for other in others if other not in (id, *self._left_out)}
        return RewardReview(returns=self._returns.get(id), distances=distances)

    def _distance(self, id: str, other: str) -> float:
        return 0.0 if any(id in alike and other in alike for alike in self._same) else 0.3


def review_source(candidate: Candidate, card: TaskCard) -> tuple[Finding, ...]:
    """Return the findings of the gates `parse`, `language` and `signature`."""
    return Critic(None).review([candidate], card).verdicts[candidate.id].findings
