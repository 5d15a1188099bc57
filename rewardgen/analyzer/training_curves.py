"""The course of a candidate's training: its slices put together, averaged over seeds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeVar

from rewardgen.store.measurements import ComponentPoint, EvaluationPoint
from rewardgen.store.records import CandidateResult, SliceResult

TIME_LIMIT = "time limit"
"""How an episode ended that no termination condition ended."""

Point = TypeVar("Point", EvaluationPoint, ComponentPoint)


class TrainingCurves(NamedTuple):
    """Training as a whole.

    Attributes:
        curve: One point per evaluation that every seed has, mean over seeds.
        components: Component name to its points at these evaluations, at least one, mean over the seeds that have it.
        curves: The curve of each seed, at the same evaluations; none if they have no evaluation in common.
        endings: Share of the last evaluation's episodes that ended by each cause, mean over seeds.
    """

    curve: tuple[EvaluationPoint, ...]
    components: dict[str, tuple[ComponentPoint, ...]]
    curves: tuple[tuple[EvaluationPoint, ...], ...]
    endings: dict[str, float]


def course_of(result: CandidateResult) -> TrainingCurves:
    """Average a candidate's slices that have a curve, over the evaluations that all of them reached.

    Args:
        result: The candidate's slices.
    """
    slices = [each for each in result.slices if each.curve]
    together = _together([each.curve for each in slices])
    steps = {points[0].env_steps for points in together}
    components = {name: _mean_components(slices, name, steps) for each in slices for name in each.components}
    return TrainingCurves(
        curve=tuple(_mean_point(points) for points in together),
        components={name: points for name, points in components.items() if points},
        curves=tuple(zip(*together, strict=True)),
        endings=_mean_shares([each.terminations for each in slices]),
    )


def _together(series: Sequence[Sequence[Point]]) -> list[tuple[Point, ...]]:
    """The points of several series at the steps that all of them have: a slice may have ended before the others."""
    by_steps = [{point.env_steps: point for point in each} for each in series]
    common = set[int].intersection(*map(set, by_steps)) if by_steps else set[int]()
    return [tuple(each[steps] for each in by_steps) for steps in sorted(common)]


def _mean_point(points: Sequence[EvaluationPoint]) -> EvaluationPoint:
    return EvaluationPoint(
        env_steps=points[0].env_steps,
        fitness=_mean([point.fitness for point in points]),
        success_rate=_mean([point.success_rate for point in points]),
        episode_steps=_mean([point.episode_steps for point in points]),
        episode_return=_mean([point.episode_return for point in points]),
        return_correlation=_known_mean([point.return_correlation for point in points]),
        success_correlation=_known_mean([point.success_correlation for point in points]),
    )


def _mean_components(slices: Sequence[SliceResult], name: str, steps: Collection[int]) -> tuple[ComponentPoint, ...]:
    together = _together([each.components[name] for each in slices if name in each.components])
    return tuple(_mean_component(points) for points in together if points[0].env_steps in steps)


def _mean_component(points: Sequence[ComponentPoint]) -> ComponentPoint:
    return ComponentPoint(
        env_steps=points[0].env_steps,
        mean=_mean([point.mean for point in points]),
        std=_mean([point.std for point in points]),
        share=_mean([point.share for point in points]),
        activation=_mean([point.activation for point in points]),
        fitness_correlation=_known_mean([point.fitness_correlation for point in points]),
        saturation=_mean([point.saturation for point in points]),
    )


def correlation(course: Sequence[float | None]) -> float | None:
    """Mean of a correlation over the later half of training; None unless two evaluations have one.

    Args:
        course: One value per evaluation, None where it is not defined.
    """
    known = [value for value in course[len(course) // 2 :] if value is not None]
    return _mean(known) if len(known) >= 2 else None


def _mean_shares(shares: Sequence[dict[str, float]]) -> dict[str, float]:
    total: defaultdict[str, float] = defaultdict(float)
    for each in shares:
        for cause, share in each.items():
            total[cause] += share / len(shares)
    return dict(sorted(total.items(), key=lambda item: -item[1]))


def _known_mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return _mean(known) if known else None


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
