"""The critic: gates in order of their cost, so that no training is spent on a reward that cannot work.

It runs no reward itself, and only checks their form: whatever follows a text value by value is a prober's, in a process
of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from rewardgen.critic.preference import check_preference, kept_files, not_ranked, ordered_pairs
from rewardgen.reward.language import check_language
from rewardgen.reward.signature import check_signature
from rewardgen.store.records import Candidate, CandidateRecord, Finding, RewardSpec, TaskCard, Verdict


class Prober(Protocol):
    """Reads rewards, and runs them on recorded transitions, where neither can harm the caller."""

    def read(self, rewards: Sequence[RewardSpec], card: TaskCard) -> Mapping[str, tuple[Finding, ...]]:
        """Findings of the gate `static` by candidate id, for every reward given."""
        ...

    def probe(self, rewards: Sequence[RewardSpec]) -> Mapping[str, tuple[Finding, ...]]:
        """Findings of the gate `probe` by candidate id, for every reward given."""
        ...


class ReturnEvaluator(Protocol):
    """Runs rewards on recorded episodes."""

    def price(self, rewards: Sequence[RewardSpec], files: Sequence[str]) -> Mapping[str, Mapping[str, list[float]]]:
        """Candidate id to component name to its sum over each of the files' episodes."""
        ...


class Critic:
    """Reviews candidates.

    Args:
        prober: Reads those that parse and runs those that pass the gates before it; None to check only what a reward
            must be to be trained at all.
        pricer: Runs those that pass the probe; None to leave out the ranking of recorded episodes.
    """

    def __init__(self, prober: Prober | None, pricer: ReturnEvaluator | None = None) -> None:
        self._prober = prober
        self._pricer = pricer

    def review(
        self, candidates: Sequence[Candidate], card: TaskCard, earlier: Sequence[CandidateRecord] = ()
    ) -> dict[str, Verdict]:
        """Put candidates through the gates: the source alone, then for the survivors the probe, then the ranking.

        Args:
            candidates: With different ids.
            card: The task, for its input names.
            earlier: Candidates that were trained, with the episodes that were kept of them.

        Returns:
            Verdict by candidate id, in the order given.
        """
        forms = {each.id: check_form(each, card) for each in candidates}
        if self._prober is None:
            return {id: Verdict(candidate_id=id, findings=form) for id, form in forms.items()}
        readable = [_spec(each) for each in candidates if _parses(forms[each.id])]
        suspicions = self._prober.read(readable, card) if readable else {}
        findings = {id: _with_suspicions(form, suspicions.get(id, ())) for id, form in forms.items()}
        sound = [_spec(each) for each in candidates if _passes(findings[each.id])]
        probed = self._prober.probe(sound) if sound else {}
        ranked = self._rank([each for each in sound if _passes(probed.get(each.candidate_id, ()))], earlier)
        return {
            id: Verdict(candidate_id=id, findings=(*found, *probed.get(id, ()), *ranked.get(id, ())))
            for id, found in findings.items()
        }

    def _rank(
        self, rewards: Sequence[RewardSpec], earlier: Sequence[CandidateRecord]
    ) -> dict[str, tuple[Finding, ...]]:
        files = kept_files(earlier)
        episodes = [episode for each in files for episode in each.episodes]
        if self._pricer is None or not rewards or not ordered_pairs(episodes):
            return {}
        sums = self._pricer.price(rewards, [each.name for each in files])
        # The worker ran the rewards: what it says may be of any length.
        told = {id: found for id, found in sums.items() if {len(each) for each in found.values()} == {len(episodes)}}
        ids = [each.candidate_id for each in rewards]
        return {id: check_preference(told[id], episodes) if id in told else (not_ranked(),) for id in ids}


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
    if not _parses(language):
        return language
    return (*language, *check_signature(candidate.source, card.input_names()))


def _with_suspicions(form: tuple[Finding, ...], suspicions: Sequence[Finding]) -> tuple[Finding, ...]:
    """All at once: a candidate is repaired only once, so it should hear of everything that one look can tell."""
    told = {(finding.detector, finding.line) for finding in form}
    return (*form, *(each for each in suspicions if (each.detector, each.line) not in told))


def _spec(candidate: Candidate) -> RewardSpec:
    return RewardSpec(candidate_id=candidate.id, source=candidate.source)


def _parses(findings: Sequence[Finding]) -> bool:
    return all(finding.gate != "parse" for finding in findings)


def _passes(findings: Sequence[Finding]) -> bool:
    return all(finding.severity != "reject" for finding in findings)
