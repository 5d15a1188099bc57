"""The critic: gates in order of their cost, so that no training is spent on a reward that cannot work.

It runs no reward itself, and only checks their form: whatever follows a text value by value is a reviewer's, in a
process of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

from rewardgen.critic.duplicates import find_duplicate, was_compared
from rewardgen.critic.preference import EpisodeFile, check_preference, kept_files, not_ranked, ordered_pairs
from rewardgen.critic.review import BatchReview, OnGate, Reviewer, ReviewRequest, RewardReview
from rewardgen.reward.language import check_language
from rewardgen.reward.signature import check_signature
from rewardgen.store.records import Candidate, CandidateRecord, Finding, RewardSpec, TaskCard, Verdict


class Review(NamedTuple):
    """What the critic says of some candidates.

    Attributes:
        verdicts: By candidate id, in the order in which the candidates were given.
        not_available: Detectors that this task gives too little for, with the reason.
    """

    verdicts: dict[str, Verdict]
    not_available: tuple[str, ...] = ()


class Critic:
    """Reviews candidates.

    Args:
        reviewer: Reads those that parse and runs those that pass the gates before it; None to check only what a reward
            must be to be trained at all.
        compares: Whether those that are another one again are refused.
    """

    def __init__(self, reviewer: Reviewer | None, *, compares: bool = True) -> None:
        self._reviewer = reviewer
        self._compares = compares

    def review(
        self,
        candidates: Sequence[Candidate],
        card: TaskCard,
        earlier: Sequence[CandidateRecord] = (),
        *,
        ranks: bool = True,
        cancel: threading.Event | None = None,
        on_gate: OnGate | None = None,
    ) -> Review:
        """Put candidates through the gates.

        Args:
            candidates: With different ids.
            card: The task, for its input names.
            earlier: All other candidates so far. Those that were trained have episodes to rank; of those that passed,
                but for a veto of a language model, none is trained again.
            ranks: Whether rewards must rank those episodes as fitness does.
            cancel: Ends the reviewer's work when set.
            on_gate: Told where the reviewer is, in the caller's thread.

        Raises:
            WorkerCancelled: `cancel` was set.
        """
        findings = {each.id: check_form(each, card) for each in candidates}
        passed = [each for each in earlier if each.candidate.id not in findings and each.verdict.passed]
        files = _ranked_files(earlier) if ranks else []
        batch = self._batch(candidates, findings, card, files, passed, cancel, on_gate)
        for id, review in batch.reviews.items():
            # All at once: a candidate is repaired only once, so it should hear of everything that one look can tell.
            told = {(each.detector, each.line) for each in findings[id]}
            findings[id] += tuple(each for each in review.findings if (each.detector, each.line) not in told)
            if files and _passes(findings[id]):
                findings[id] += _ranking(review, files)
        if self._compares:
            self._refuse_duplicates(candidates, findings, batch, passed)
        verdicts = {id: Verdict(candidate_id=id, findings=found) for id, found in findings.items()}
        return Review(verdicts, batch.not_available)

    def _batch(
        self,
        candidates: Sequence[Candidate],
        findings: dict[str, tuple[Finding, ...]],
        card: TaskCard,
        files: Sequence[EpisodeFile],
        passed: Sequence[CandidateRecord],
        cancel: threading.Event | None,
        on_gate: OnGate | None,
    ) -> BatchReview:
        """What the reviewer says of the candidates that parse."""
        parsed = [each for each in candidates if all(found.gate != "parse" for found in findings[each.id])]
        if self._reviewer is None or not parsed:
            return BatchReview(reviews={})
        others = [_spec(each.candidate) for each in passed if was_compared(each)]
        request = ReviewRequest(
            [_spec(each) for each in parsed],
            frozenset(each.id for each in parsed if _passes(findings[each.id])),
            card,
            [each.name for each in files],
            others if self._compares and len(parsed) + len(others) > 1 else None,
            cancel=cancel,
            on_gate=on_gate,
        )
        return self._reviewer.review(request)

    def _refuse_duplicates(
        self,
        candidates: Sequence[Candidate],
        findings: dict[str, tuple[Finding, ...]],
        batch: BatchReview,
        passed: Sequence[CandidateRecord],
    ) -> None:
        """Of those that are the same, the first that passed is trained."""
        sound = [each for each in candidates if _passes(findings[each.id])]
        compared = self._reviewer is not None and len(sound) + sum(map(was_compared, passed)) > 1
        accepted = list(passed)
        for each in sound:
            distances = batch.reviews[each.id].distances if compared else {}
            if found := find_duplicate(each.source, distances, accepted):
                findings[each.id] += (found,)
            if _passes(findings[each.id]):
                accepted.append(CandidateRecord(candidate=each, verdict=Verdict(candidate_id=each.id)))


def check_form(candidate: Candidate, card: TaskCard) -> tuple[Finding, ...]:
    """The findings on what every reward must be: there, in the reward language, with inputs that the task has.

    Args:
        candidate: The candidate.
        card: Its task.
    """
    if candidate.failure:
        hint = "answer with one Python block that defines `compute_reward`"
        return (Finding(gate="parse", detector="no-code", severity="reject", message=candidate.failure, hint=hint),)
    language = check_language(candidate.source)
    if any(each.gate == "parse" for each in language):
        return language
    return (*language, *check_signature(candidate.source, card.input_names()))


def _ranked_files(earlier: Sequence[CandidateRecord]) -> list[EpisodeFile]:
    """The recorded episodes to rank, none if they are too few to judge by."""
    files = kept_files(earlier)
    return files if ordered_pairs([episode for each in files for episode in each.episodes]) else []


def _ranking(review: RewardReview, files: Sequence[EpisodeFile]) -> tuple[Finding, ...]:
    episodes = [episode for each in files for episode in each.episodes]
    # The worker ran the reward: what it says may be of any length.
    sums = review.returns or {}
    sound = {len(each) for each in sums.values()} == {len(episodes)}
    return check_preference(sums, episodes) if sound else (not_ranked(),)


def _spec(candidate: Candidate) -> RewardSpec:
    return RewardSpec(candidate_id=candidate.id, source=candidate.source)


def _passes(findings: Sequence[Finding]) -> bool:
    return all(each.severity != "reject" for each in findings)
