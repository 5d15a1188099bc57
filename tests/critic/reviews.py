"""The gates that need no run, on texts that are trusted: the static gate reads them in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rewardgen.critic.gates import Critic
from rewardgen.critic.static.detectors import find_suspicions
from rewardgen.store.records import Candidate, Finding, RewardSpec, TaskCard


class TrustingProber:
    """Reads rewards where it is called, and probes none."""

    def read(self, rewards: Sequence[RewardSpec], card: TaskCard) -> Mapping[str, tuple[Finding, ...]]:
        return {each.candidate_id: find_suspicions(each.source, card) for each in rewards}

    def probe(self, rewards: Sequence[RewardSpec]) -> Mapping[str, tuple[Finding, ...]]:
        return {}


def review_source(candidate: Candidate, card: TaskCard) -> tuple[Finding, ...]:
    """The findings of the gates `parse`, `language`, `signature` and `static`."""
    return Critic(TrustingProber()).review([candidate], card)[candidate.id].findings
