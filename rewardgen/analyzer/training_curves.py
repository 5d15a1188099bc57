"""Learning curves of a candidate: its training runs, averaged over seeds."""

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
"""Fields without a mean over seeds: standard errors within one evaluation; endings, which `terminations` holds."""


def training_curves(result: CandidateResult) -> TrainingCurves:
    """Average a candidate's training runs that have a curve, over the evaluations that all of them reached."""
    runs = [run for run in result.slices if run.curve]
    together = _together([run.curve for run in runs])
    steps = {points[0].env_steps for points in together}
    components = {}
    for name in dict.fromkeys(name for run in runs for name in run.components):
        series = _together([run.components[name] for run in runs if name in run.components])
        if points := tuple(_mean_point(group) for group in series if group[0].env_steps in steps):
            components[name] = points
    terminations: defaultdict[str, float] = defaultdict(float)
    for run in runs:
        for cause, share in run.terminations.items():
            terminations[cause] += share / len(runs)
    return TrainingCurves(
        seeds=len(together[0]) if together else 0,
        curve=tuple(map(_mean_point, together)),
        components=components,
        terminations=dict(sorted(terminations.items(), key=lambda item: -item[1])),
        credits=_credits(runs),
    )


def _credits(runs: Sequence[SliceResult]) -> dict[str, dict[str, float]]:
    paid: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        for agent, components in run.credits.items():
            for name, value in components.items():
                paid[agent][name].append(value)
    return {agent: {name: fmean(values) for name, values in named.items()} for agent, named in paid.items()}


def seed_curves(result: CandidateResult) -> tuple[Curve, ...]:
    """Return the curve of each seed at the evaluations that all seeds reached; empty if there are none."""
    return tuple(zip(*_together([run.curve for run in result.slices if run.curve]), strict=True))


def _together(series: Sequence[Sequence[Point]]) -> list[tuple[Point, ...]]:
    """Return the points at the steps that all series have: a training run may have ended early."""
    by_steps = [{point.env_steps: point for point in points} for points in series]
    common = set[int].intersection(*map(set, by_steps)) if by_steps else set[int]()
    return [tuple(points[steps] for points in by_steps) for steps in sorted(common)]


def _mean_point(points: Sequence[Point]) -> Point:
    """Return the mean of every field over the seeds that have it; a correlation may be None."""
    if len(points) == 1:
        return points[0]
    means = {}
    for field in type(points[0]).model_fields.keys() - {"env_steps"} - NOT_AVERAGED:
        values = [value for point in points if (value := getattr(point, field)) is not None]
        means[field] = sum(values) / len(values) if values else None
    return type(points[0])(env_steps=points[0].env_steps, **means)
