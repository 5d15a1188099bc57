"""Statistics over seeds: interquartile mean, bootstrap intervals, human-normalised fitness.

Interquartile mean and percentile bootstrap follow Agarwal et al., "Deep reinforcement learning at the edge of the
statistical precipice" (NeurIPS 2021). The human-normalised score is Eureka's (Ma et al., ICLR 2024, section 4.2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from rewardgen.core.schema import Frozen

if TYPE_CHECKING:
    import numpy as np

RESAMPLES = 4000

SAME_BASELINES = 1e-3
"""Gap of the human and the sparse reward, relative to the larger; to divide by a smaller one gives empty numbers."""

Standing = Literal["above", "on par", "below"]


class Interval(Frozen):
    """An estimate with the bounds of its 95 % interval."""

    value: float
    low: float
    high: float


def interquartile_mean(values: Sequence[float]) -> float:
    """Mean of the middle half; with few values the outer ones count by the fraction that lies inside.

    Args:
        values: At least one number.
    """
    weights = _middle_half(len(values))
    return sum(weight * value for weight, value in zip(weights, sorted(values), strict=True)) / sum(weights)


def _middle_half(count: int) -> list[float]:
    """The part of each of so many ordered values that lies in the middle half."""
    cut = count / 4
    return [max(0.0, min(i + 1, count - cut) - max(i, cut)) for i in range(count)]


def bootstrap_interval(values: Sequence[float], seed: int = 0) -> Interval:
    """Interquartile mean with its percentile bootstrap 95 % interval.

    Args:
        values: One number per seed, at least one. With a single one the interval is that point.
        seed: Seed of the resampling.
    """
    (draws,) = _resampled([values], seed)
    return _interval(interquartile_mean(values), draws)


def difference_interval(a: Sequence[float], b: Sequence[float], seed: int = 0) -> Interval:
    """Difference of the interquartile means of two independent groups, with its bootstrap 95 % interval."""
    of_a, of_b = _resampled([a, b], seed)
    return _interval(interquartile_mean(a) - interquartile_mean(b), of_a - of_b)


def standing(a: Sequence[float], b: Sequence[float]) -> Standing:
    """Whether group `a` is above, below, or within noise of group `b`. One value alone is always within noise."""
    if min(len(a), len(b)) < 2:
        return "on par"
    difference = difference_interval(a, b)
    if difference.low > 0:
        return "above"
    return "below" if difference.high < 0 else "on par"


def standard_errors(groups: Sequence[Sequence[float]]) -> list[float]:
    """Standard error of the mean of each group, by the spread within all of them together.

    Two or three seeds alone say next to nothing of their spread: those that happen to agree would look certain. Groups
    that are all the same, as at the floor of a fitness, do not count: others would look surer for them.

    Args:
        groups: The fitness of each candidate, by seed.

    Returns:
        One for each group; 0 where nothing is known, for no group has two values or they are all the same.
    """
    means = [sum(group) / len(group) for group in groups]
    squares = [sum((value - mean) ** 2 for value in group) for group, mean in zip(groups, means, strict=True)]
    freedom = sum(len(group) - 1 for group, square in zip(groups, squares, strict=True) if square)
    return [math.sqrt(sum(squares) / freedom / len(group)) if freedom else 0.0 for group in groups]


def noise(*standard_errors: float) -> float:
    """What a difference of means has to exceed to count: two standard errors of all of them together."""
    return 2.0 * math.hypot(*standard_errors)


def later_mean(series: Sequence[float | None]) -> float | None:
    """Mean over the later half of a training; None unless two evaluations have a value.

    Args:
        series: One value per evaluation, None where it is not defined.
    """
    known = [value for value in series[len(series) // 2 :] if value is not None]
    return sum(known) / len(known) if len(known) >= 2 else None


def human_normalised(method: float, human: float, sparse: float) -> float | None:
    """(M - S) / |H - S|: 0 is the sparse reward, 1 the human one. None if the two cannot be told apart."""
    gap = abs(human - sparse)
    return (method - sparse) / gap if gap > SAME_BASELINES * max(abs(human), abs(sparse)) else None


def _resampled(groups: Sequence[Sequence[float]], seed: int) -> list[np.ndarray]:
    """Interquartile means of bootstrap resamples of each group, all drawn from one stream, (RESAMPLES,) each."""
    # Not at the top of the module, for the commands that only list or explain.
    import numpy as np

    rng = np.random.default_rng(seed)
    draws = [np.sort(rng.choice(np.asarray(each, float), (RESAMPLES, len(each))), axis=1) for each in groups]
    weights = [np.asarray(_middle_half(len(each))) for each in groups]
    return [draw @ weight / weight.sum() for draw, weight in zip(draws, weights, strict=True)]


def _interval(value: float, draws: np.ndarray) -> Interval:
    """An estimate with the 95 % percentile interval of its resamples."""
    import numpy as np

    low, high = np.quantile(draws, (0.025, 0.975))
    return Interval(value=value, low=float(low), high=float(high))
