"""The course of a candidate's training: its training runs put together, averaged over seeds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean
from typing import TypeVar

from rewardgen.store.measurements import ComponentPoint, EvaluationPoint, TrainingCurves
from rewardgen.store.records import CandidateResult, SliceResult

Point = TypeVar("Point", EvaluationPoint, ComponentPoint)
Curve = Sequence[EvaluationPoint]

NOT_AVERAGED = {"fitness_spread", "return_spread", "endings"}
"""Standard errors within one seed's evaluation, and what `terminations` has of the last."""


def training_curves(result: CandidateResult) -> TrainingCurves:
    """Average a candidate's training runs that have a curve, over the evaluations that all of them reached.

    Args:
        result: The candidate's training runs.
    """
    runs = [each for each in result.slices if each.curve]
    together = _together([each.curve for each in runs])
    steps = {points[0].env_steps for points in together}
    components = {}
    for name in dict.fromkeys(name for each in runs for name in each.components):
        series = _together([each.components[name] for each in runs if name in each.components])
        if points := tuple(_mean_point(each) for each in series if each[0].env_steps in steps):
            components[name] = points
    terminations: defaultdict[str, float] = defaultdict(float)
    for each in runs:
        for cause, share in each.terminations.items():
            terminations[cause] += share / len(runs)
    return TrainingCurves(
        seeds=len(together[0]) if together else 0,
        curve=tuple(map(_mean_point, together)),
        components=components,
        terminations=dict(sorted(terminations.items(), key=lambda item: -item[1])),
        credits=_credits(runs),
    )


def _credits(runs: Sequence[SliceResult]) -> dict[str, dict[str, float]]:
    """Return the pay of each component to each agent of a game, mean over the runs."""
    paid: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for each in runs:
        for agent, components in each.credits.items():
            for name, value in components.items():
                paid[agent][name].append(value)
    return {agent: {name: fmean(told) for name, told in own.items()} for agent, own in paid.items()}


def seed_curves(result: CandidateResult) -> tuple[Curve, ...]:
    """The curve of each seed at the evaluations that all of them reached; none if they have none in common."""
    return tuple(zip(*_together([each.curve for each in result.slices if each.curve]), strict=True))


def _together(series: Sequence[Sequence[Point]]) -> list[tuple[Point, ...]]:
    """The points of several series at the steps that all of them have: a training run may have ended early."""
    by_steps = [{point.env_steps: point for point in each} for each in series]
    common = set[int].intersection(*map(set, by_steps)) if by_steps else set[int]()
    return [tuple(each[steps] for each in by_steps) for steps in sorted(common)]


def _mean_point(points: Sequence[Point]) -> Point:
    """The mean of every field over the seeds that have it; a correlation may be None."""
    means = {}
    for field in type(points[0]).model_fields.keys() - {"env_steps"} - NOT_AVERAGED:
        known = [value for point in points if (value := getattr(point, field)) is not None]
        means[field] = sum(known) / len(known) if known else None
    return type(points[0])(env_steps=points[0].env_steps, **means)
