"""What a detector is given, and what the detectors of several themes ask of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from rewardgen.analyzer.training_curves import TrainingCurves
from rewardgen.store.measurements import EvaluationPoint, IdleReading
from rewardgen.store.records import CandidateResult, Flag, PolicyProbe, TaskCard

WITHOUT_SUCCESS = 0.05
"""Success rate below which a policy is said to be without success."""
LEARNED = 0.8
"""Success rate from which on the balance of components and what still varies between episodes are no faults."""
TRIVIAL_MARGIN = 0.02
"""Of the trivial policy's fitness: so much more is no better."""

Curve = Sequence[EvaluationPoint]


class TrainingEvidence(NamedTuple):
    """A trained candidate, as detectors see it.

    Attributes:
        result: Its slices.
        course: Their training.
        card: The task.
    """

    result: CandidateResult
    course: TrainingCurves
    card: TaskCard

    def everywhere(self, holds: Callable[[Curve], bool]) -> bool:
        """Whether every seed's curve shows something: what only one of them shows may be chance."""
        return all(holds(curve) for curve in self.course.curves)

    @property
    def without_success(self) -> bool:
        """Whether hardly an episode of the last evaluation succeeded."""
        return not self.course.curve or self.course.curve[-1].success_rate < WITHOUT_SUCCESS

    @property
    def learned(self) -> bool:
        """Whether nearly all episodes of the last evaluation succeeded: there is little left to guide to."""
        return bool(self.course.curve) and self.course.curve[-1].success_rate >= LEARNED

    @property
    def idle(self) -> IdleReading | None:
        """What the reward pays a policy that does nothing."""
        return next((each.idle for each in self.result.slices if each.idle), None)

    @property
    def trivial(self) -> PolicyProbe | None:
        """The better of the trivial policies."""
        return max(self.card.probes, key=lambda probe: probe.fitness, default=None)

    @property
    def no_better_than_trivial(self) -> bool:
        """Whether the fitness is within noise of what a trivial policy reaches."""
        probe, fitness = self.trivial, self.result.fitness
        if probe is None or fitness is None:
            return False
        return fitness - self.result.fitness_spread <= probe.fitness + TRIVIAL_MARGIN * abs(probe.fitness)


Detector = Callable[[TrainingEvidence], Iterator[Flag]]
"""Yields what it sees; nothing for a sound training."""


def flag(detector: str, message: str, component: str | None = None, /, **evidence: float) -> Flag:
    """A flag; of its evidence only what is finite."""
    finite = {name: float(value) for name, value in evidence.items() if math.isfinite(value)}
    return Flag(detector=detector, message=message, component=component, evidence=finite)
