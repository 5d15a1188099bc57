"""Detectors of components that teach nothing, outweigh the others, or work against the fitness."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rewardgen.analyzer.training_evidence import TrainingEvidence, flag
from rewardgen.core.formatting import number, percent
from rewardgen.core.statistics import later_mean
from rewardgen.store.measurements import ComponentPoint
from rewardgen.store.records import Flag

DEAD_ACTIVATION = 0.01
NEGLIGIBLE_SHARE = 0.001
DOMINANT_SHARE = 0.95
CONSTANT_STD = 1e-3
"""Standard deviation of a component, relative to its mean."""
SATURATED_STD = 0.05
SATURATED = 0.9
"""Share of the visited states at which a component is at its largest."""
NEGATIVE_CORRELATION = -0.3
COSTLY_SHARE = 0.2
"""Share of the reward from which on a penalty may stand in the way."""


def worst_fault(evidence: TrainingEvidence) -> Iterator[Flag]:
    """Find the worst fault of each component, which makes the milder ones superfluous."""
    for name, points in evidence.curves.components.items():
        fault = _fault(name, points, evidence.learned)
        # What pays on entering a stage is active at one step of an episode.
        rare = fault and fault.detector in ("dead-component", "negligible-component") and points[-1].activation > 0
        if fault and not (rare and any(run.stages for run in evidence.result.slices)):
            yield fault


def _fault(name: str, points: Sequence[ComponentPoint], learned: bool) -> Flag | None:
    first, last = points[0], points[-1]
    if not any(point.activation > 0 for point in points):
        message = f"`{name}` never fired: it was 0 in every evaluation, as a bonus out of reach or a cost avoided."
        return flag("bonus-never-fired", message, name, activation=0.0)
    if all(_varies_less(point, CONSTANT_STD) for point in points):
        message = f"`{name}` was constant at {number(last.mean)}: it teaches nothing but to make episodes last or end."
        return flag("constant-component", message, name, mean=last.mean, std=last.std)
    # A cost that the policy learned to avoid does its work.
    # What pays once in an episode may still be much of the reward.
    if max(last.activation, last.share) < DEAD_ACTIVATION and last.mean >= 0:
        message = f"`{name}` is dead: at the end it is active at {100 * last.activation:.1f} % of the steps."
        return flag("dead-component", message, name, activation=last.activation)
    # A cost may be that small; a component to be sought may not.
    if len(points) >= 2 and last.share < NEGLIGIBLE_SHARE and last.mean >= 0:
        message = f"`{name}` is negligible: {100 * last.share:.2f} % of the reward."
        return flag("negligible-component", message, name, share=last.share)
    # At its largest, or no longer varying, where the policy has yet to improve; it was not so at first.
    still = _varies_less(last, SATURATED_STD) and not _varies_less(first, SATURATED_STD)
    at_best = last.mean > 0 and last.saturation >= SATURATED > first.saturation
    if (still or at_best) and not learned:
        message = (
            f"`{name}` is saturated around {number(last.mean)}: it hardly varies any more, so it guides no further."
        )
        return flag("saturated-component", message, name, mean=last.mean, std=last.std, saturation=last.saturation)
    return None


def _varies_less(point: ComponentPoint, bound: float) -> bool:
    return point.mean != 0 and point.std <= bound * abs(point.mean)


def dominance(evidence: TrainingEvidence) -> Iterator[Flag]:
    """Find one component that is nearly the whole reward."""
    components = evidence.curves.components
    for name, points in components.items():
        share = points[-1].share
        if len(components) > 1 and not evidence.learned and share > DOMINANT_SHARE:
            message = f"`{name}` dominates: {percent(share)} of the reward at the end; the others hardly count."
            yield flag("dominant-component", message, name, share=share)


def against_fitness(evidence: TrainingEvidence) -> Iterator[Flag]:
    """Find components, or a whole reward, that are higher in episodes of lower fitness.

    Episodes that all succeed differ in their initial states only.
    """
    if evidence.learned:
        return
    for name, points in evidence.curves.components.items():
        r = later_mean([point.fitness_correlation for point in points])
        if r is None or r > NEGATIVE_CORRELATION:
            continue
        if points[-1].mean >= 0:
            message = f"`{name}` is higher in episodes of lower fitness (r = {r:+.2f}): it may reward the wrong thing."
            yield flag("against-fitness", message, name, correlation=r)
        elif points[-1].share > COSTLY_SHARE:
            message = f"`{name}` costs the fitter episodes more (r = {r:+.2f}): the penalty may stand in the way."
            yield flag("against-fitness", message, name, correlation=r, share=points[-1].share)
    r = later_mean([point.return_correlation for point in evidence.curves.curve])
    if r is not None and r <= NEGATIVE_CORRELATION:
        message = f"Episodes of higher reward have lower fitness (r = {r:+.2f}): their sum ranks them the wrong way."
        yield flag("against-fitness", message, correlation=r)
