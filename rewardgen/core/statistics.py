"""Statistics over seeds: estimates with intervals that hold at 5 to 20 values, and differences that are not noise.

Interquartile mean: Agarwal et al., "Deep reinforcement learning at the edge of the statistical precipice" (NeurIPS
2021). The human-normalised score is Eureka's (Ma et al., ICLR 2024, section 4.2). Which interval is used for what was
chosen by its simulated coverage: docs/statistics.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist
from typing import Literal, NamedTuple

from rewardgen.core.schema import Frozen

RESAMPLES = 4000

_RESAMPLED = 5
"""Values from which on an interval is made of resamples."""

TAIL = 0.025
"""Of a 95 % interval, on either side."""

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
    """Interquartile mean with its 95 % bootstrap interval, expanded for few values.

    Percentiles of resamples are too narrow at 5 to 20 values. Here they lie as much further out as the quantile of
    Student's t and the unbiased variance ask for (Hesterberg 2015, "What teachers should know about the bootstrap",
    section 4.3.2). No resample of fewer values leaves their range, which is too narrow by itself: they have Student's
    interval of their mean.

    Args:
        values: One number per seed, at least one. With a single one the interval is that point.
        seed: Seed of the resampling.
    """
    # Not at the top of the module, for the commands that only list or explain.
    import numpy as np

    count = len(values)
    if 1 < count < _RESAMPLED:
        return mean_interval(values).model_copy(update={"value": interquartile_mean(values)})
    draws = np.sort(np.random.default_rng(seed).choice(np.asarray(values, float), (RESAMPLES, count)), axis=1)
    weights = np.asarray(_middle_half(count))
    wider = math.sqrt(count / (count - 1)) * t_quantile(TAIL, count - 1) if count > 1 else 0.0
    tail = NormalDist().cdf(-wider)
    low, high = np.quantile(draws @ weights / weights.sum(), (tail, 1.0 - tail))
    return Interval(value=interquartile_mean(values), low=float(low), high=float(high))


def mean_interval(values: Sequence[float]) -> Interval:
    """Mean with Student's 95 % interval; of a single value, that point.

    Args:
        values: At least one, independent of each other, such as the episodes of one policy.
    """
    if len(values) < 2:
        return Interval(value=values[0], low=values[0], high=values[0])
    mean, variance = _mean_and_variance(values)
    half = t_quantile(TAIL, len(values) - 1) * math.sqrt(variance / len(values))
    return Interval(value=mean, low=mean - half, high=mean + half)


def proportion_interval(values: Sequence[float], trials: int) -> Interval:
    """Mean of a share over seeds, with its 95 % interval: Clopper and Pearson's, with the effective number of trials.

    Episodes of one seed are alike, so that they count for less than as many independent ones; and seeds that happen to
    agree count for no more than all their episodes, nor less than the seeds (Korn and Graubard 1998, "Confidence
    intervals for proportions with small expected number of positive counts estimated from survey data").

    Args:
        values: One share per seed, each from 0 to 1, at least one.
        trials: Episodes of each seed.
    """
    count, mean = len(values), min(1.0, max(0.0, sum(values) / len(values)))
    effective = float(count)
    if count > 1 and (variance := sum((value - mean) ** 2 for value in values) / (count - 1) / count):
        few, many = t_quantile(TAIL, count - 1), t_quantile(TAIL, count * trials - 1)
        effective = mean * (1.0 - mean) / variance * (many / few) ** 2
        effective = min(max(effective, float(count)), float(count * trials))
    hits = mean * effective
    low = _beta_quantile(TAIL, hits, effective - hits + 1.0) if mean > 0.0 else 0.0
    high = _beta_quantile(1.0 - TAIL, hits + 1.0, effective - hits) if mean < 1.0 else 1.0
    return Interval(value=mean, low=low, high=high)


def difference_interval(a: Sequence[float], b: Sequence[float], tail: float = TAIL) -> Interval:
    """Difference of the means of two independent groups, with Welch's interval.

    Means, not interquartile means: at 20 seeds a true gain of one standard deviation is seen in 81 % of cases by means,
    in 74 % by interquartile means, and a seed that fails counts.

    Args:
        a: One number per seed, two at least.
        b: Of the other group.
        tail: Probability that the true difference lies beyond one end of the interval.
    """
    (mean_a, of_a), (mean_b, of_b) = (_mean_and_variance(group) for group in (a, b))
    value, variance = mean_a - mean_b, of_a / len(a) + of_b / len(b)
    if variance == 0.0:
        return Interval(value=value, low=value, high=value)
    freedom = variance**2 / ((of_a / len(a)) ** 2 / (len(a) - 1) + (of_b / len(b)) ** 2 / (len(b) - 1))
    half = t_quantile(tail, freedom) * math.sqrt(variance)
    return Interval(value=value, low=value - half, high=value + half)


def standing(a: Sequence[float], b: Sequence[float], tail: float = TAIL) -> Standing:
    """Whether group `a` is above, below, or within noise of group `b`. One value alone is always within noise."""
    if min(len(a), len(b)) < 2:
        return "on par"
    difference = difference_interval(a, b, tail)
    if difference.low > 0:
        return "above"
    return "below" if difference.high < 0 else "on par"


class PooledErrors(NamedTuple):
    """Standard errors of the means of some groups.

    Attributes:
        errors: One for each group; 0 where nothing is known.
        freedom: Degrees of freedom of their common spread; 0 where nothing is known.
    """

    errors: list[float]
    freedom: int


def standard_errors(groups: Sequence[Sequence[float]]) -> PooledErrors:
    """Standard error of the mean of each group, by the spread within all of them together.

    Two or three seeds alone say next to nothing of their spread: those that happen to agree would look certain. Groups
    that are all the same, as at the floor of a fitness, do not count: others would look surer for them.

    Args:
        groups: The fitness of each candidate, by seed.
    """
    means = [sum(group) / len(group) for group in groups]
    squares = [sum((value - mean) ** 2 for value in group) for group, mean in zip(groups, means, strict=True)]
    freedom = sum(len(group) - 1 for group, square in zip(groups, squares, strict=True) if square)
    errors = [math.sqrt(sum(squares) / freedom / len(group)) if freedom else 0.0 for group in groups]
    return PooledErrors(errors, freedom)


def noise(*standard_errors: float, freedom: int | None) -> float:
    """What a difference of means has to exceed to count, one way or the other.

    A quantile of Student's t, at 5 % on the side in question: of two candidates that are the best of their generations
    and equally good, one leads the other by more in 2 % of cases (docs/statistics.md).

    Args:
        standard_errors: Of the means.
        freedom: Degrees of freedom that they rest on; None if they are known exactly. With 0, nothing counts.
    """
    if freedom == 0:
        return math.inf
    quantile = NormalDist().inv_cdf(0.95) if freedom is None else t_quantile(0.05, freedom)
    return quantile * math.hypot(*standard_errors)


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


def t_quantile(tail: float, freedom: float) -> float:
    """What Student's t exceeds with a probability below one half.

    Args:
        tail: The probability.
        freedom: Degrees of freedom, at least 1.
    """
    freedom = math.floor(10.0 * freedom) / 10.0  # on the safe side, and known from the last time
    share = _beta_quantile(2.0 * tail, freedom / 2.0, 0.5)
    return math.sqrt(freedom * (1.0 - share) / share)


@cache
def _beta_quantile(probability: float, a: float, b: float) -> float:
    """Below what a beta-distributed number lies with a probability, by bisection."""
    low, high = 0.0, 1.0
    while high - low > 1e-15 * high:
        middle = (low + high) / 2.0
        if not low < middle < high:
            break
        low, high = (middle, high) if _beta_distribution(middle, a, b) < probability else (low, middle)
    return (low + high) / 2.0


def _beta_distribution(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (DLMF 8.17.22)."""
    if x > (a + 1.0) / (a + b + 2.0):  # where the fraction converges fast
        return 1.0 - _beta_distribution(1.0 - x, b, a)
    fraction = 1.0
    for m in range(60, 0, -1):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        fraction = 1.0 + even / (1.0 + odd / fraction)
    first = -(a + b) * x / (a + 1.0)
    log = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(log) / a / (1.0 + first / fraction)


def _mean_and_variance(values: Sequence[float]) -> tuple[float, float]:
    mean = sum(values) / len(values)
    return mean, sum((value - mean) ** 2 for value in values) / (len(values) - 1)
