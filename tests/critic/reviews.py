"""Reviews without a worker, on texts that are trusted, or of which nothing is run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rewardgen.critic.gates import Critic
from rewardgen.critic.registry import DETECTORS, Detector, register
from rewardgen.critic.review import BatchReview, ReviewRequest, RewardReview
from rewardgen.critic.static.detectors import find_suspicions
from rewardgen.critic.static.reading import ParsedReward, finding
from rewardgen.store.records import Candidate, Finding, RewardSpec, TaskCard

REJECTION = Finding(gate="probe", detector="non-finite", severity="reject", message="inf")


@contextmanager
def static_detector(find: Callable[[ParsedReward], Iterable[Finding]]) -> Iterator[None]:
    """A detector of the stage `static` that is registered for a while."""
    register(Detector("of-a-test", "static", "both", "a defect", "none", find))
    try:
        yield
    finally:
        DETECTORS.remove("of-a-test")


def mixes(reward: ParsedReward) -> Iterable[Finding]:
    """A rejection of rewards that take a mean, as a static detector may give one."""
    if ".mean()" in reward.source:
        yield finding("of-a-test", reward.entry, "takes a mean", "reduce the last axis", severity="reject")


class FakeReviewer:
    """Reads rewards where it is called, runs none, and says what it is told to; notes what it is asked.

    Args:
        rejects: Whether the probe rejects a reward.
        returns: Id to what is said of its returns.
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
        """Of each request, the ids that reached the probe."""
        return [
            [each.candidate_id for each in request.rewards if self._reaches_probe(each, request)]
            for request in self.requests
        ]

    def review(self, request: ReviewRequest) -> BatchReview:
        self.requests.append(request)
        return BatchReview(reviews={each.candidate_id: self._review(each, request) for each in request.rewards})

    def _reaches_probe(self, reward: RewardSpec, request: ReviewRequest) -> bool:
        read = find_suspicions(reward.source, request.card)
        return reward.candidate_id in request.runnable and all(each.severity != "reject" for each in read)

    def _review(self, reward: RewardSpec, request: ReviewRequest) -> RewardReview:
        id, read = reward.candidate_id, find_suspicions(reward.source, request.card)
        if not self._reaches_probe(reward, request):
            return RewardReview(findings=read)
        if self._rejects(reward):
            return RewardReview(findings=(*read, REJECTION))
        distances = None
        if request.others is not None and id not in self._left_out:
            others = [each.candidate_id for each in (*request.others, *request.rewards)]
            distances = {other: self._distance(id, other) for other in others if other not in (id, *self._left_out)}
        return RewardReview(findings=read, returns=self._returns.get(id), distances=distances)

    def _distance(self, id: str, other: str) -> float:
        return 0.0 if any(id in alike and other in alike for alike in self._same) else 0.3


def review_source(candidate: Candidate, card: TaskCard) -> tuple[Finding, ...]:
    """The findings of the gates `parse`, `language`, `signature` and `static`."""
    return Critic(FakeReviewer()).review([candidate], card).verdicts[candidate.id].findings
