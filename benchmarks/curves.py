"""Times at which slices reach a fitness, from their curves."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple


class Point(NamedTuple):
    """One evaluation of a slice: control steps so far, seconds since the beginning, fitness."""

    env_steps: int
    seconds: float
    fitness: float


Curves = Mapping[str, Sequence[Point]]
"""Name of a slice to its evaluations, in their order."""


class Times(NamedTuple):
    """When the slices reached a target.

    Attributes:
        seconds: One per slice; the whole budget for one that did not reach it.
        missed: The slices that did not reach it.
    """

    seconds: dict[str, float]
    missed: tuple[str, ...]


def times_to(curves: Curves, target: float, budget_s: float | None = None) -> Times:
    """When each slice reached a fitness first.

    Args:
        curves: The slices.
        target: The fitness.
        budget_s: What a slice that misses it counts; the time of its last evaluation if not given.
    """
    seconds, missed = {}, []
    for name, points in curves.items():
        reached = first_at(points, target)
        if reached is None:
            missed.append(name)
            reached = budget_s if budget_s is not None else points[-1].seconds
        seconds[name] = reached
    return Times(seconds, tuple(missed))


def mean_curve(curves: Curves, seconds: Callable[[Iterable[float]], float]) -> list[Point]:
    """The mean over slices of the fitness, at the evaluations that all of them have.

    Args:
        curves: The slices, evaluated at the same control steps.
        seconds: What to make of their times: `max` for slices that go on side by side, `statistics.mean` for some that
            go on one after the other.
    """
    return [
        Point(
            at_once[0].env_steps,
            seconds([each.seconds for each in at_once]),
            statistics.mean(each.fitness for each in at_once),
        )
        for at_once in zip(*curves.values(), strict=False)
    ]


def first_at(curve: Sequence[Point], target: float) -> float | None:
    """When a curve reaches a fitness first [s]; None if it does not."""
    return next((point.seconds for point in curve if point.fitness >= target), None)


def last_before(curve: Sequence[Point], seconds: float) -> float:
    """Fitness of a curve's last evaluation until then; of its first one if that came later."""
    return next((point.fitness for point in reversed(curve) if point.seconds <= seconds), curve[0].fitness)


def one_after_the_other(seconds: Sequence[float], slices: int, cores: int) -> float:
    """Wall clock of training slices one after the other on every core, from the times of some of them [s].

    Args:
        seconds: Times of the slices that were trained.
        slices: How many there are in all.
        cores: Processes at a time.
    """
    return statistics.mean(seconds) * slices / cores
