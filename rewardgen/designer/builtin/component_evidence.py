"""What training showed of a reward's components: which are dead, dominant or against the fitness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rewardgen.designer.builtin.ideas import Role
from rewardgen.store.measurements import TIME_LIMIT, ComponentPoint
from rewardgen.store.records import CandidateRecord

_LAST_POINTS = 3
"""Evaluations at the end of training that a verdict rests on; a single one has too few episodes for a correlation."""


@dataclass(frozen=True)
class ComponentEvidence:
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

    @property
    def blame(self) -> float:
        """How much speaks for changing it: 1 for nothing, more if it is dead, dominant or harmful."""
        against = max(-(self.correlation or 0.0), 0.0)
        return 1.0 + 3.0 * self.dead + 1.5 * self.dominant + 3.0 * against

    @property
    def reason(self) -> str:
        """Why it is to be changed, in words; empty if training said nothing against it."""
        if self.dead:
            return f"it was all but absent ({self.share:.1%} of the reward)"
        if self.harmful:
            return f"episodes rich in it were poor in fitness (correlation {self.correlation:.2f})"
        return f"it was {self.share:.0%} of the reward" if self.dominant else ""


UNKNOWN = ComponentEvidence(share=0.1, activation=1.0, correlation=None)
"""Of a component that training said nothing of."""


Evidence = Mapping[str, ComponentEvidence]
"""Component to what training showed of it; one that is missing is `UNKNOWN`."""


def evidence_of(record: CandidateRecord, roles: Mapping[str, Role]) -> Evidence:
    """What training showed of a parent's components; empty for one that was not trained.

    Args:
        record: The parent.
        roles: What each of its components is for.
    """
    last: dict[str, list[ComponentPoint]] = {}
    for each in record.result.slices if record.result else ():
        for name, points in each.components.items():
            last.setdefault(name, []).extend(points[-_LAST_POINTS:])
    found = {}
    for name, points in last.items():
        if points:
            known = [point.fitness_correlation for point in points if point.fitness_correlation is not None]
            found[name] = ComponentEvidence(
                share=sum(point.share for point in points) / len(points),
                activation=sum(point.activation for point in points) / len(points),
                correlation=sum(known) / len(known) if known else None,
                role=roles.get(name, "posture"),
            )
    return found


def ends_early(record: CandidateRecord) -> float:
    """Share of the last evaluation's episodes that a termination cause ended, mean over seeds."""
    slices = [each for each in (record.result.slices if record.result else ()) if each.terminations]
    return sum(1.0 - each.terminations.get(TIME_LIMIT, 0.0) for each in slices) / len(slices) if slices else 0.0
