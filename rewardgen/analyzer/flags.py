"""What the numbers of a training say by themselves: detectors of the known ways in which rewards fail, a sentence each.

A detector that looks at the course of training fires only if every seed shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from rewardgen.analyzer.course import Course, correlation
from rewardgen.prompts import number, percent
from rewardgen.records import CandidateResult, ComponentPoint, EvaluationPoint, TaskCard

DEAD_ACTIVATION = 0.01
NEGLIGIBLE_SHARE = 0.001
DOMINANT_SHARE = 0.95
CONSTANT_STD = 1e-3
"""Standard deviation of a component, relative to its mean."""
SATURATED_STD = 0.05
NEGATIVE_CORRELATION = -0.3
EARLY_ENDINGS = 0.5
MOVED = 0.25
"""A loss or gain of fitness that counts, relative to its range over training."""
SHORTENED = 0.8
"""Steps per episode at the end, relative to their maximum."""
FLAT = 0.05
"""Change of the return over the later half, relative to its range over training."""
DISAGREE = 0.5
"""Range of the fitness over seeds, relative to its largest magnitude."""

Curve = Sequence[EvaluationPoint]


def flags_of(result: CandidateResult, course: Course, card: TaskCard) -> tuple[str, ...]:
    """All flags of a trained candidate.

    Args:
        result: The candidate's slices.
        course: Their training.
        card: The task.
    """
    components = [_component_flag(name, points) for name, points in course.components.items() if points]
    found = [
        *(flag for flag in components if flag),
        *_dominance(course),
        *_correlations(course),
        *_course_flags(course, card),
        *_fitness_flags(result, card),
    ]
    return tuple(found)


# Single components.


def _component_flag(name: str, points: Sequence[ComponentPoint]) -> str:
    """The first of its faults, from the worst to the mildest."""
    last = points[-1]
    if all(point.activation == 0 for point in points):
        return f"`{name}` never fired: it was 0 in every evaluation, so its condition is out of reach."
    if all(_varies_less(point, CONSTANT_STD) for point in points):
        return f"`{name}` was constant at {number(last.mean)}: it teaches nothing but to make episodes last or end."
    if last.activation < DEAD_ACTIVATION:
        return f"`{name}` is dead: at the end it is active at {100 * last.activation:.1f} % of the steps."
    if len(points) > 1 and last.share < NEGLIGIBLE_SHARE:
        return f"`{name}` is negligible: {100 * last.share:.2f} % of the reward."
    if _varies_less(last, SATURATED_STD) and not _varies_less(points[0], SATURATED_STD):
        return f"`{name}` is saturated: it hardly varies around {number(last.mean)} any more, so it guides no further."
    return ""


def _varies_less(point: ComponentPoint, bound: float) -> bool:
    return point.mean != 0 and point.std <= bound * abs(point.mean)


def _dominance(course: Course) -> Iterator[str]:
    for name, points in course.components.items():
        if len(course.components) > 1 and points and points[-1].share > DOMINANT_SHARE:
            yield f"`{name}` dominates: {percent(points[-1].share)} of the reward at the end; the others hardly count."


def _correlations(course: Course) -> Iterator[str]:
    for name, points in course.components.items():
        r = correlation(points)
        if r is None or r > NEGATIVE_CORRELATION:
            continue
        if points[-1].mean >= 0:
            yield f"`{name}` is higher in episodes of lower fitness (r = {r:+.2f}): it may reward the wrong thing."
        elif points[-1].share > 0.2:
            yield f"`{name}` costs the fitter episodes more (r = {r:+.2f}): the penalty may stand in the way."


# The course of training.


def _course_flags(course: Course, card: TaskCard) -> Iterator[str]:
    curve = course.curve
    if len(curve) < 3:
        return
    if _everywhere(course, _fell_while_return_rose):
        peak = max(curve, key=lambda point: point.fitness)
        yield (
            f"The reward rose while fitness fell, from {number(peak.fitness)} at {peak.env_steps} steps to "
            f"{number(curve[-1].fitness)}: the policy found something else to collect."
        )
    elif _everywhere(course, _fell):
        yield "Fitness fell again after its peak: training is unstable, or the reward misleads late."
    elif _everywhere(course, _still_rising):
        yield "Fitness was still rising when training ended."
    if not card.success_terminates:
        yield from _early_endings(course)
    if _everywhere(course, _content) and curve[-1].success_rate < 0.05:
        yield "The reward was flat over the later half of training, without success: it settled in a local optimum."


def _everywhere(course: Course, holds: Callable[[Curve], bool]) -> bool:
    return all(holds(curve) for curve in course.curves)


def _smooth_fitness(curve: Curve) -> list[float]:
    """Means of neighbouring evaluations: one evaluation is a few episodes, so its fitness is noisy."""
    return [(one.fitness + after.fitness) / 2 for one, after in pairwise(curve)]


def _fell(curve: Curve) -> bool:
    values = _smooth_fitness(curve)
    return max(values) - values[-1] > MOVED * (max(values) - min(values))


def _fell_while_return_rose(curve: Curve) -> bool:
    peak = max(curve, key=lambda point: point.fitness)
    return _fell(curve) and curve[-1].episode_return > peak.episode_return


def _still_rising(curve: Curve) -> bool:
    values = _smooth_fitness(curve)
    return values[-1] - max(values[: max(1, 3 * len(values) // 4)]) > MOVED * (max(values) - min(values)) > 0


def _content(curve: Curve) -> bool:
    values = [point.episode_return for point in curve]
    later = values[len(values) // 2 :]
    whole = max(values) - min(values)
    return whole > 0 and max(later) - min(later) < FLAT * whole


def _early_endings(course: Course) -> Iterator[str]:
    curve, last = course.curve, course.curve[-1]
    early = {cause: share for cause, share in course.endings.items() if cause != "time limit"}
    longest = max(curve, key=lambda point: point.episode_steps)
    if _everywhere(course, _shortened_while_return_rose):
        lengths = f"{number(longest.episode_steps)} to {number(last.episode_steps)} steps"
        yield f"Episodes became shorter ({lengths}) while the reward rose: ending early pays."
    elif (share := sum(early.values())) > EARLY_ENDINGS and last.episode_return < 0:
        yield f"The reward is negative and {percent(share)} of the episodes end early: ending them stops the cost."
    elif share > EARLY_ENDINGS:
        worst = max(early, key=early.__getitem__)
        length = number(last.episode_steps)
        yield f"{percent(early[worst])} of the episodes still end by `{worst}`, after {length} steps on average."


def _shortened_while_return_rose(curve: Curve) -> bool:
    longest = max(curve, key=lambda point: point.episode_steps)
    return (
        curve[-1].episode_steps < SHORTENED * longest.episode_steps
        and curve[-1].episode_return > longest.episode_return
    )


# Fitness.


def _fitness_flags(result: CandidateResult, card: TaskCard) -> Iterator[str]:
    if result.fitness is None:
        return
    trivial = max(card.probes, key=lambda probe: probe.fitness, default=None)
    if trivial is not None and result.fitness - result.fitness_spread <= trivial.fitness + 0.02 * abs(trivial.fitness):
        yield f"The policy is no better than the {trivial.policy} policy (fitness {number(trivial.fitness)})."
    values = [each.final_fitness for each in result.slices if each.final_fitness is not None]
    if len(values) > 1 and max(values) - min(values) > DISAGREE * max(abs(value) for value in values):
        yield f"The seeds disagree, from {number(min(values))} to {number(max(values))}: it works by luck."
