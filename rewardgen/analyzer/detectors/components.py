"""Detectors of components that teach nothing, outweigh the others, or work against the fitness."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rewardgen.analyzer.detectors.seen import TrainingEvidence, flag
from rewardgen.analyzer.training_curves import correlation
from rewardgen.llm.prompts import number, percent
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

Points = Sequence[ComponentPoint]


def worst_fault(seen: TrainingEvidence) -> Iterator[Flag]:
    """Of each component the first of its faults, from the worst to the mildest."""
    for name, points in seen.course.components.items():
        found = (fault(name, points, seen) for fault in FAULTS) if points else ()
        yield from [each for each in found if each][:1]


def _never_fired(name: str, points: Points, _: TrainingEvidence) -> Flag | None:
    if any(point.activation > 0 for point in points):
        return None
    message = f"`{name}` never fired: it was 0 in every evaluation, so its condition is out of reach."
    return flag("bonus-never-fired", message, name, activation=0.0)


def _constant(name: str, points: Points, _: TrainingEvidence) -> Flag | None:
    last = points[-1]
    if not all(_varies_less(point, CONSTANT_STD) for point in points):
        return None
    message = f"`{name}` was constant at {number(last.mean)}: it teaches nothing but to make episodes last or end."
    return flag("constant-component", message, name, mean=last.mean, std=last.std)


def _dead(name: str, points: Points, _: TrainingEvidence) -> Flag | None:
    active = points[-1].activation
    if active >= DEAD_ACTIVATION:
        return None
    message = f"`{name}` is dead: at the end it is active at {100 * active:.1f} % of the steps."
    return flag("dead-component", message, name, activation=active)


def _negligible(name: str, points: Points, _: TrainingEvidence) -> Flag | None:
    """A cost may be as small as that; what is meant to be sought may not."""
    share = points[-1].share
    if len(points) < 2 or share >= NEGLIGIBLE_SHARE or points[-1].mean < 0:
        return None
    return flag(
        "negligible-component", f"`{name}` is negligible: {100 * share:.2f} % of the reward.", name, share=share
    )


def _saturated(name: str, points: Points, seen: TrainingEvidence) -> Flag | None:
    """At its largest, or no longer varying, where the policy has yet to improve; it was not so at first."""
    first, last = points[0], points[-1]
    still = _varies_less(last, SATURATED_STD) and not _varies_less(first, SATURATED_STD)
    at_best = last.mean > 0 and last.saturation >= SATURATED > first.saturation
    if not (still or at_best) or seen.learned:
        return None
    message = f"`{name}` is saturated around {number(last.mean)}: it hardly varies any more, so it guides no further."
    return flag("saturated-component", message, name, mean=last.mean, std=last.std, saturation=last.saturation)


FAULTS: tuple[Callable[[str, Points, TrainingEvidence], Flag | None], ...] = (
    _never_fired,
    _constant,
    _dead,
    _negligible,
    _saturated,
)
"""From the worst to the mildest; one that holds makes those after it superfluous."""


def _varies_less(point: ComponentPoint, bound: float) -> bool:
    return point.mean != 0 and point.std <= bound * abs(point.mean)


def dominance(seen: TrainingEvidence) -> Iterator[Flag]:
    """One component is nearly the whole reward."""
    for name, points in seen.course.components.items():
        if len(seen.course.components) > 1 and not seen.learned and points and points[-1].share > DOMINANT_SHARE:
            share = points[-1].share
            message = f"`{name}` dominates: {percent(share)} of the reward at the end; the others hardly count."
            yield flag("dominant-component", message, name, share=share)


def against_fitness(seen: TrainingEvidence) -> Iterator[Flag]:
    """A component, or the whole reward, is higher in episodes of lower fitness.

    Where all episodes succeed, what they differ in is their initial states.
    """
    if seen.learned:
        return
    for name, points in seen.course.components.items():
        r = correlation([point.fitness_correlation for point in points])
        if r is None or r > NEGATIVE_CORRELATION:
            continue
        if points[-1].mean >= 0:
            message = f"`{name}` is higher in episodes of lower fitness (r = {r:+.2f}): it may reward the wrong thing."
            yield flag("against-fitness", message, name, correlation=r)
        elif points[-1].share > COSTLY_SHARE:
            message = f"`{name}` costs the fitter episodes more (r = {r:+.2f}): the penalty may stand in the way."
            yield flag("against-fitness", message, name, correlation=r, share=points[-1].share)
    r = correlation([point.return_correlation for point in seen.course.curve])
    if r is not None and r <= NEGATIVE_CORRELATION:
        message = f"Episodes of higher reward have lower fitness (r = {r:+.2f}): their sum ranks them the wrong way."
        yield flag("against-fitness", message, correlation=r)
