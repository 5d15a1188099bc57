"""Reward up while fitness falls: the mark after training, and the stricter sign that stops a slice within it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from rewardgen.analyzer.training_curves import Curve
from rewardgen.store.measurements import EarlyStop

MOVED = 0.25
"""A loss or gain of fitness that counts after training, relative to its range over training."""
CLEARLY = 2.0
"""Standard errors, over evaluation episodes, that a loss of fitness exceeds after training."""
STOP_FROM = 0.5
"""Share of the step budget before which no slice is stopped: much that looks wrong early is learned later."""
LOST = 0.5
"""A loss of fitness that stops a slice, relative to its peak and to its range over training, whichever is larger."""
RISEN = 0.1
"""A rise of the return meanwhile that stops a slice, relative to its range over training."""
BEYOND = 3.0
"""Standard errors, over evaluation episodes, that such a loss and such a rise exceed."""
SETBACKS = 2.0
"""Such a loss exceeds so many times the largest one that the slice has made up for before."""


def smooth_fitness(curve: Curve) -> list[float]:
    """Means of neighbouring evaluations: one evaluation is a few episodes, so its fitness is noisy."""
    return [(one.fitness + after.fitness) / 2 for one, after in pairwise(curve)]


def fell(curve: Curve) -> bool:
    """Whether fitness ends clearly below its peak, beyond the noise of both."""
    values = smooth_fitness(curve)
    peak, last = max(range(len(values)), key=values.__getitem__), len(values) - 1
    spreads = [[point.fitness_spread for point in curve[each : each + 2]] for each in (peak, last)]
    return values[peak] - values[last] > max(MOVED * (max(values) - min(values)), CLEARLY * _error(*spreads))


def fell_while_return_rose(curve: Curve) -> bool:
    """Whether fitness ends clearly below its peak, with a higher return."""
    peak = max(curve, key=lambda point: point.fitness)
    return fell(curve) and curve[-1].episode_return > peak.episode_return


def find_hacking(curve: Curve, env_steps: int) -> EarlyStop | None:
    """The reason to stop a slice: its last two evaluations are far worse than two in a row before, and better paid.

    Lenient, since a sound reward that is stopped is a loss and a bad one that goes on costs only time: of the two
    evaluations on either side the one that speaks less for it counts, and the slice must not be on its way back.

    Args:
        curve: The evaluations of one slice so far, with the spread over their episodes.
        env_steps: Control steps of the whole training.

    Returns:
        None to go on.
    """
    if len(curve) < 4 or curve[-1].env_steps < STOP_FROM * env_steps or not fell_while_return_rose(curve):
        return None
    before, now = curve[:-2], curve[-2:]
    start = max(range(len(before) - 1), key=lambda i: min(point.fitness for point in before[i : i + 2]))
    peak = before[start : start + 2]
    if not (_lost(curve, peak, now, _setback(curve[: start + 2])) and _gained(curve, peak, now) and _goes_on(now)):
        return None
    best, last = max(peak, key=lambda point: point.fitness), now[-1]
    return EarlyStop(
        env_steps=last.env_steps,
        of_env_steps=env_steps,
        return_from=best.episode_return,
        return_to=last.episode_return,
        fitness_from=best.fitness,
        fitness_to=last.fitness,
    )


def _lost(curve: Curve, peak: Curve, now: Curve, setback: float) -> bool:
    best = min(point.fitness for point in peak)
    loss = best - max(point.fitness for point in now)
    whole = max(abs(best), _range([point.fitness for point in curve]))
    noise = BEYOND * _error([point.fitness_spread for point in peak], [point.fitness_spread for point in now])
    return loss > max(LOST * whole, noise, SETBACKS * setback)


def _gained(curve: Curve, peak: Curve, now: Curve) -> bool:
    gain = min(point.episode_return for point in now) - max(point.episode_return for point in peak)
    noise = BEYOND * _error([point.return_spread for point in peak], [point.return_spread for point in now])
    return gain > max(RISEN * _range([point.episode_return for point in curve]), noise)


def _goes_on(now: Curve) -> bool:
    """Whether the last evaluation is neither better nor paid less than the one before, but for noise."""
    one, last = now
    better = last.fitness - one.fitness > _error([one.fitness_spread], [last.fitness_spread])
    paid_less = one.episode_return - last.episode_return > _error([one.return_spread], [last.return_spread])
    return not better and not paid_less


def _setback(curve: Curve) -> float:
    """The largest loss of fitness from one evaluation to the next."""
    return max(0.0, *(one.fitness - after.fitness for one, after in pairwise(curve)))


def _error(one: Sequence[float], other: Sequence[float]) -> float:
    return math.hypot(max(one), max(other))


def _range(values: Sequence[float]) -> float:
    return max(values) - min(values)
