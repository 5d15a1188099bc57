"""All that the numbers of a training say by themselves: the registry of the detectors."""

from __future__ import annotations

from rewardgen.analyzer.detectors import attractors, components, course, endings
from rewardgen.analyzer.detectors.seen import Detector, TrainingEvidence
from rewardgen.store.records import Flag

DETECTORS: tuple[Detector, ...] = (
    course.fitness_course,
    attractors.hovering,
    attractors.doing_nothing_pays,
    attractors.oscillation,
    endings.early_endings,
    endings.termination_avoidance,
    components.worst_fault,
    components.dominance,
    components.against_fitness,
    course.no_better_than_trivial,
    course.seeds_disagree,
    attractors.content,
)
"""In the order in which their flags are told: what the policy makes of the reward first, then its parts."""

EXPLAINED_BY = {
    "settled-without-success": ("reach-and-hover", "proxy-satisfied", "alive-attractor", "oscillation-farming"),
    "saturated-component": ("reach-and-hover", "proxy-satisfied"),
    "seeds-disagree": ("no-better-than-trivial",),
}
"""Flags that say less than others do, and are left out beside those."""


def flags_of(seen: TrainingEvidence) -> tuple[Flag, ...]:
    """All flags of a trained candidate."""
    found = [flag for detector in DETECTORS for flag in detector(seen)]
    return tuple(each for each in found if not any(_explains(other, each) for other in found))


def _explains(other: Flag, flag: Flag) -> bool:
    same = flag.component is None or flag.component == other.component
    return same and other.detector in EXPLAINED_BY.get(flag.detector, ())
