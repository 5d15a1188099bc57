"""The critic: gates in order of their cost, so that no training is spent on a reward that cannot work.

It never runs a reward itself; a prober does, in a process of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from rewardgen.critic.suspicions import find_suspicions
from rewardgen.records import Candidate, Finding, RewardSpec, TaskCard, Verdict
from rewardgen.reward.language import check_language
from rewardgen.reward.signature import check_signature


class Prober(Protocol):
    """Runs rewards on recorded transitions."""

    def probe(self, rewards: Sequence[RewardSpec]) -> Mapping[str, tuple[Finding, ...]]:
        """Findings of the gate `probe` by candidate id, for every reward given."""
        ...


class Critic:
    """Reviews candidates.

    Args:
        prober: Runs those that pass the gates before it.
    """

    def __init__(self, prober: Prober) -> None:
        self._prober = prober

    def review(self, candidates: Sequence[Candidate], card: TaskCard) -> dict[str, Verdict]:
        """Put candidates through the gates: source, language, signature, and for the survivors the probe.

        Args:
            candidates: With different ids.
            card: The task, for its input names.

        Returns:
            Verdict by candidate id, in the order given.
        """
        valid = card.input_names()
        findings = {each.id: review_source(each, valid) for each in candidates}
        sound = [
            RewardSpec(candidate_id=each.id, source=each.source) for each in candidates if _passes(findings[each.id])
        ]
        probed = self._prober.probe(sound) if sound else {}
        return {id: Verdict(candidate_id=id, findings=(*found, *probed.get(id, ()))) for id, found in findings.items()}


def review_source(candidate: Candidate, valid: Sequence[str]) -> tuple[Finding, ...]:
    """The findings that need no run: no code, language, signature, and what looks wrong in the text.

    Args:
        candidate: The candidate.
        valid: The input names of its task.
    """
    if candidate.failure:
        hint = "answer with one Python block that defines `compute_reward`"
        return (Finding(gate="parse", detector="no-code", severity="reject", message=candidate.failure, hint=hint),)
    language = check_language(candidate.source)
    if any(finding.gate == "parse" for finding in language):
        return language
    # All at once: a candidate is repaired only once, so it should hear of everything that one look can tell.
    return (*language, *check_signature(candidate.source, valid), *find_suspicions(candidate.source))


def _passes(findings: Sequence[Finding]) -> bool:
    return all(finding.severity != "reject" for finding in findings)
