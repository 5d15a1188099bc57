"""What training showed of a reward's components: which are dead, dominant or against the fitness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rewardgen.designer.builtin.ideas import Role
from rewardgen.store.measurements import ComponentPoint
from rewardgen.store.records import CandidateRecord

_LAST_POINTS = 3
"""Evaluations at the end of training that a verdict rests on; a single one has too few episodes for a correlation."""


@dataclass(frozen=True)
class Evidence:
    """One component at the end of training, means over seeds and the last evaluations.

    `correlation` is that of its episode means with the episodes' fitness, None where it was never defined. `role` is
    what the term is for: a drive may be most of a reward, and a cost is meant to be small.
    """

    share: float
    activation: float
    correlation: float | None
    role: Role = "posture"

    @property
    def dead(self) -> bool:
        """It made no difference to what was learned, and was meant to."""
        return self.activation < 0.02 or (self.share < 0.005 and self.role in ("drive", "posture", "alive"))

    @property
    def dominant(self) -> bool:
        """It was most of the reward though it is not what the task is about."""
        return self.share > 0.5 and self.role != "drive"

    @property
    def harmful(self) -> bool:
        """Episodes rich in it were poor in fitness."""
        return self.correlation is not None and self.correlation < -0.4


def evidence_of(record: CandidateRecord | None, roles: Mapping[str, Role]) -> dict[str, Evidence]:
    """Component to what is known of it; empty for a candidate that was not trained.

    Args:
        record: The parent.
        roles: What each of its components is for.
    """
    slices = record.result.slices if record and record.result else ()
    last: dict[str, list[ComponentPoint]] = {}
    for each in slices:
        for name, points in each.components.items():
            last.setdefault(name, []).extend(points[-_LAST_POINTS:])
    return {name: _evidence(points, roles.get(name, "posture")) for name, points in last.items() if points}


def _evidence(points: Sequence[ComponentPoint], role: Role) -> Evidence:
    known = [point.fitness_correlation for point in points if point.fitness_correlation is not None]
    return Evidence(
        share=sum(point.share for point in points) / len(points),
        activation=sum(point.activation for point in points) / len(points),
        correlation=sum(known) / len(known) if known else None,
        role=role,
    )


def ends_early(record: CandidateRecord | None) -> float:
    """Share of the last evaluation's episodes that a termination cause ended, mean over seeds."""
    slices = [each for each in (record.result.slices if record and record.result else ()) if each.terminations]
    if not slices:
        return 0.0
    return sum(1.0 - each.terminations.get("time limit", 0.0) for each in slices) / len(slices)


def blame(evidence: Mapping[str, Evidence], name: str) -> float:
    """How much speaks for changing a component: 1 without evidence, more if it is dead, dominant or harmful."""
    seen = evidence.get(name)
    if seen is None:
        return 1.0
    against = max(-(seen.correlation or 0.0), 0.0)
    return 1.0 + 3.0 * seen.dead + 1.5 * seen.dominant + 3.0 * against


def reason(evidence: Mapping[str, Evidence], name: str) -> str:
    """Why a component is to be changed, in words; empty if training said nothing on it."""
    seen = evidence.get(name)
    if seen is None:
        return ""
    if seen.dead:
        return f"it was all but absent ({seen.share:.1%} of the reward)"
    if seen.harmful:
        return f"episodes rich in it were poor in fitness (correlation {seen.correlation:.2f})"
    if seen.dominant:
        return f"it was {seen.share:.0%} of the reward"
    return ""
