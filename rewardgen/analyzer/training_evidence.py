"""Evidence on a trained candidate: the argument of the analyzer's detectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from rewardgen.analyzer.training_curves import Curve
from rewardgen.store.measurements import IdleReading, TrainingCurves
from rewardgen.store.records import CandidateResult, Flag, PolicyProbe, TaskCard

WITHOUT_SUCCESS = 0.05
"""Success rate below which a policy counts as without success."""
LEARNED = 0.8
"""Success rate from which the balance of components and differences between episodes are no faults."""
TRIVIAL_MARGIN = 0.02
"""Share of the trivial policy's fitness by which a better policy must exceed it."""


class TrainingEvidence(NamedTuple):
    """A trained candidate.

    Attributes:
        result: Its training runs.
        curves: Their means over the seeds.
        seed_curves: The learning curve of each seed.
        card: The task.
    """

    result: CandidateResult
    curves: TrainingCurves
    seed_curves: tuple[Curve, ...]
    card: TaskCard

    def everywhere(self, holds: Callable[[Curve], bool]) -> bool:
        """Return True if a condition holds on every seed's curve; on one alone it may be chance."""
        return all(holds(curve) for curve in self.seed_curves)

    @property
    def without_success(self) -> bool:
        """True if hardly any episode of the last evaluation succeeded."""
        return not self.curves.curve or self.curves.curve[-1].success_rate < WITHOUT_SUCCESS

    @property
    def learned(self) -> bool:
        """True if nearly all episodes of the last evaluation succeeded."""
        return bool(self.curves.curve) and self.curves.curve[-1].success_rate >= LEARNED

    @property
    def idle(self) -> IdleReading | None:
        """Return and length of episodes of the policy that does nothing."""
        return next((run.idle for run in self.result.slices if run.idle), None)

    @property
    def trivial(self) -> PolicyProbe | None:
        """The better of the trivial policies."""
        return max(self.card.probes, key=lambda probe: probe.fitness, default=None)

    @property
    def no_better_than_trivial(self) -> bool:
        """True if the fitness is within noise of a trivial policy's."""
        probe, fitness = self.trivial, self.result.fitness
        if probe is None or fitness is None:
            return False
        return fitness - self.result.fitness_spread <= probe.fitness + TRIVIAL_MARGIN * abs(probe.fitness)


def flag(detector: str, message: str, component: str | None = None, /, **numbers: float) -> Flag:
    """Make a flag; of its numbers, keep the finite ones."""
    finite = {name: float(value) for name, value in numbers.items() if math.isfinite(value)}
    return Flag(detector=detector, message=message, component=component, evidence=finite)
