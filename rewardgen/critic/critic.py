"""The critic: gates in order of cost, which reject rewards that cannot work before training."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

from rewardgen.core.asynchrony import run_coroutine
from rewardgen.critic.duplicates import find_duplicate, was_compared
from rewardgen.critic.llm_review import Reader
from rewardgen.critic.preference import (
    RecordedEpisode,
    check_preference,
    contradicted,
    kept_files,
    not_ranked,
    ordered_pairs,
)
from rewardgen.critic.sandboxed import BatchReview, OnGate, ReviewRequest, RewardReview, SandboxedReviewer
from rewardgen.reward.language import check_language
from rewardgen.reward.signature import check_signature
from rewardgen.store.records import Candidate, CandidateRecord, Finding, RewardSpec, TaskCard, Verdict

ModelReading = Callable[[], Coroutine[Any, Any, tuple[Finding, ...]]]
"""Begins a reading; not begun beforehand, as an interrupted search would leave it."""
Findings = dict[str, tuple[Finding, ...]]
"""By candidate id."""


def read_one_by_one(readings: Sequence[ModelReading]) -> list[tuple[Finding, ...]]:
    """Run the reader's calls one after the other."""
    return [run_coroutine(reading()) for reading in readings]


class Review(NamedTuple):
    """Verdicts by candidate id, in the order of the candidates, and detectors without data, with the reason."""

    verdicts: dict[str, Verdict]
    not_available: tuple[str, ...] = ()


class Critic:
    """Review candidates. A reviewer runs their rewards, in worker processes; without one, only the form is checked.

    A reader reads the candidates that pass all other gates. With `compares`, duplicates are rejected.
    """

    def __init__(
        self, reviewer: SandboxedReviewer | None, reader: Reader | None = None, *, compares: bool = True
    ) -> None:
        self._reviewer = reviewer
        self._reader = reader
        self._compares = compares

    def review(
        self,
        candidates: Sequence[Candidate],
        card: TaskCard,
        earlier: Sequence[CandidateRecord] = (),
        *,
        goal: str = "",
        ranks: bool = True,
        cancel: threading.Event | None = None,
        on_gate: OnGate = lambda candidate_id, gate: None,
        read: Callable[[Sequence[ModelReading]], list[tuple[Finding, ...]]] = read_one_by_one,
    ) -> Review:
        """Put candidates through the gates.

        New rewards must rank the episodes of earlier ones, unless the best reward so far does not, and repeat none that
        passed. `read` runs the reader's calls and returns their results in order.

        Raises:
            WorkerCancelled: `cancel` was set.
        """
        findings: Findings = {candidate.id: check_form(candidate, card) for candidate in candidates}
        sound = [candidate for candidate in candidates if _passes(findings[candidate.id])]
        passed = [record for record in earlier if record.candidate.id not in findings and record.verdict.passed]
        not_available: tuple[str, ...] = ()
        if self._reviewer is not None and sound:
            files = kept_files(earlier) if ranks else {}
            episodes = [episode for kept in files.values() for episode in kept]
            if not ordered_pairs(episodes):  # too few to rank
                files, episodes = {}, []
            others = [record for record in passed if was_compared(record)] if self._compares else []
            compared = self._compares and len(sound) + len(others) > 1
            request = ReviewRequest(
                [_spec(candidate) for candidate in sound],
                card,
                [*files],
                [_spec(record.candidate) for record in others] if compared else None,
                cancel,
                on_gate,
            )
            batch = self._reviewer.review(request)
            not_available = batch.not_available
            for candidate in sound:
                findings[candidate.id] += _run_findings(batch.reviews[candidate.id], episodes)
            if any(map(_ranks_wrong, findings.values())) and self._leader_ranks_wrong(earlier, request, episodes):
                findings = {id: tuple(map(contradicted, findings[id])) for id in findings}
        else:
            batch = BatchReview(reviews={})
        if self._compares:
            _reject_duplicates(sound, findings, batch, passed)
        self._read(sound, findings, card, goal, on_gate, read)
        verdicts = {id: Verdict(candidate_id=id, findings=findings[id]) for id in findings}
        return Review(verdicts, not_available)

    def _leader_ranks_wrong(
        self, earlier: Sequence[CandidateRecord], request: ReviewRequest, episodes: Sequence[RecordedEpisode]
    ) -> bool:
        """True if the ranking would reject the trained reward with the highest fitness so far."""
        trained = [
            (record.result.fitness, record.candidate)
            for record in earlier
            if record.result and record.result.fitness is not None
        ]
        if not trained or self._reviewer is None:
            return False
        _, leader = max(trained, key=itemgetter(0))
        alone = request._replace(rewards=[_spec(leader)], others=None, on_gate=None)
        review = self._reviewer.review(alone).reviews[leader.id]
        return _ranks_wrong(_run_findings(review, episodes))

    def _read(
        self,
        candidates: Sequence[Candidate],
        findings: Findings,
        card: TaskCard,
        goal: str,
        on_gate: OnGate,
        read: Callable[[Sequence[ModelReading]], list[tuple[Finding, ...]]],
    ) -> None:
        """Add the language model's objections to candidates that nothing else rejects."""
        readings: dict[str, ModelReading] = {}
        for candidate in candidates if self._reader else ():
            if self._reader and _passes(findings[candidate.id]):
                on_gate(candidate.id, "model")
                readings[candidate.id] = partial(self._reader.read, candidate, card, goal, findings[candidate.id])
        if readings:
            for id, objections in zip(readings, read(list(readings.values())), strict=True):
                findings[id] += objections


def check_form(candidate: Candidate, card: TaskCard) -> tuple[Finding, ...]:
    """Return the rejections of a candidate by its text: no code, not in the language, or unknown inputs."""
    if candidate.failure:
        return (Finding(gate="parse", detector="no-code", severity="reject", message=candidate.failure),)
    language = check_language(candidate.source)
    if any(finding.gate == "parse" for finding in language):
        return language
    return (*language, *check_signature(candidate.source, card.input_names()))


def _run_findings(review: RewardReview, episodes: Sequence[RecordedEpisode]) -> tuple[Finding, ...]:
    """Return the findings of the probe and, if it passes, of the ranking of recorded episodes."""
    if not episodes or not _passes(review.findings):
        return review.findings
    # The worker ran the reward, so its sums may have any length.
    sums = review.returns or {}
    complete = {len(values) for values in sums.values()} == {len(episodes)}
    return (*review.findings, *(check_preference(sums, episodes) if complete else (not_ranked(),)))


def _reject_duplicates(
    candidates: Sequence[Candidate], findings: Findings, batch: BatchReview, passed: Sequence[CandidateRecord]
) -> None:
    """Reject candidates that repeat an earlier one, or an accepted new one."""
    sound = [candidate for candidate in candidates if _passes(findings[candidate.id])]
    compared = bool(batch.reviews) and len(sound) + sum(map(was_compared, passed)) > 1
    accepted = list(passed)
    for candidate in sound:
        distances = batch.reviews[candidate.id].distances if compared else {}
        if duplicate := find_duplicate(candidate.source, distances, accepted):
            findings[candidate.id] += (duplicate,)
        if _passes(findings[candidate.id]):
            accepted.append(CandidateRecord(candidate=candidate, verdict=Verdict(candidate_id=candidate.id)))


def _spec(candidate: Candidate) -> RewardSpec:
    return RewardSpec(candidate_id=candidate.id, source=candidate.source)


def _ranks_wrong(findings: Sequence[Finding]) -> bool:
    return any(finding.gate == "preference" and finding.severity == "reject" for finding in findings)


def _passes(findings: Sequence[Finding]) -> bool:
    return all(finding.severity != "reject" for finding in findings)
