"""Statistics over seeds: estimates with intervals for 2 to 20 values, and differences beyond noise.

Interquartile mean and probability of improvement: Agarwal et al., "Deep reinforcement learning at the edge of the
statistical precipice" (NeurIPS 2021). Human-normalised score: Eureka (Ma et al., ICLR 2024, section 4.2). Intervals are
chosen by their simulated coverage: docs/statistics.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist
from typing import Literal

from rewardgen.core.schema import Frozen

RESAMPLES = 4000

_RESAMPLED = 5
"""Number of values from which an interval is a bootstrap."""

TAIL = 0.025
"""Probability beyond either end of a 95 % interval."""

SAME_BASELINES = 1e-3
"""Smallest gap between the human and the sparse reward, relative to the larger, that can be a scale."""

Standing = Literal["above", "on par", "below"]


class Interval(Frozen):
    """An estimate with the bounds of its 95 % interval."""

    value: float
    low: float
    high: float


def interquartile_mean(values: Sequence[float]) -> float:
    """Return the mean of the middle half of one or more numbers; border values count by the fraction inside."""
    weights = _middle_half(len(values))
    return sum(weight * value for weight, value in zip(weights, sorted(values), strict=True)) / sum(weights)


def _middle_half(count: int) -> list[float]:
    """Return the fraction of each ordered value that lies in the middle half."""
    cut = count / 4
    return [max(0.0, min(i + 1, count - cut) - max(i, cut)) for i in range(count)]


def bootstrap_interval(values: Sequence[float]) -> Interval:
    """Return the interquartile mean with its 95 % bootstrap interval, expanded for few values.

    Percentiles of resamples are too narrow at 5 to 20 values, so they are moved out by the quantile of Student's t and
    the unbiased variance (Hesterberg 2015, "What teachers should know about the bootstrap", section 4.3.2). Fewer
    values get Student's interval of their mean: resamples never leave their range. That of a single value is a point.
    """
    import numpy as np  # slow to import: not for commands that only list or explain

    count = len(values)
    if 1 < count < _RESAMPLED:
        return mean_interval(values).model_copy(update={"value": interquartile_mean(values)})
    draws = np.sort(np.random.default_rng(0).choice(np.asarray(values, float), (RESAMPLES, count)), axis=1)
    weights = np.asarray(_middle_half(count))
    wider = math.sqrt(count / (count - 1)) * t_quantile(TAIL, count - 1) if count > 1 else 0.0
    tail = NormalDist().cdf(-wider)
    low, high = np.quantile(draws @ weights / weights.sum(), (tail, 1.0 - tail))
    return Interval(value=interquartile_mean(values), low=float(low), high=float(high))


def within_range(estimate: Interval, best_fitness: float | None, seen: Sequence[float]) -> Interval:
    """Bound an interval by the highest possible fitness, and by 0 where the fitness is a share."""
    if best_fitness is None:
        return estimate
    is_share = best_fitness == 1.0 and min(seen) >= 0.0
    low = max(estimate.low, 0.0) if is_share else estimate.low
    # A task may declare a best fitness that a policy exceeds.
    return estimate.model_copy(update={"low": low, "high": max(min(estimate.high, best_fitness), estimate.value)})


def mean_interval(values: Sequence[float]) -> Interval:
    """Return the mean of independent values with Student's 95 % interval, which is a point for a single value."""
    if len(values) < 2:
        return Interval(value=values[0], low=values[0], high=values[0])
    mean, variance = _mean_and_variance(values)
    half = t_quantile(TAIL, len(values) - 1) * math.sqrt(variance / len(values))
    return Interval(value=mean, low=mean - half, high=mean + half)


def proportion_interval(values: Sequence[float], trials: int) -> Interval:
    """Return the mean of a share over seeds with Clopper and Pearson's 95 % interval for the effective trials.

    Episodes of one seed are alike, so they count for less than independent ones: at least as many trials as seeds, at
    most as many as episodes (Korn and Graubard 1998, "Confidence intervals for proportions with small expected number
    of positive counts estimated from survey data"). `trials` are the episodes of each seed.
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
    """Return the difference of the means of two independent groups, two values each at least, with Welch's interval.

    At 20 seeds, means detect a gain of one standard deviation in 81 % of cases, interquartile means in 74 %; and a
    failed seed pulls a mean down. The true difference lies beyond either end with probability `tail`.
    """
    (mean_a, variance_a), (mean_b, variance_b) = (_mean_and_variance(group) for group in (a, b))
    value, variance = mean_a - mean_b, variance_a / len(a) + variance_b / len(b)
    if variance == 0.0:
        return Interval(value=value, low=value, high=value)
    spread_a, spread_b = (variance_a / len(a)) ** 2 / (len(a) - 1), (variance_b / len(b)) ** 2 / (len(b) - 1)
    freedom = variance**2 / (spread_a + spread_b)
    half = t_quantile(tail, freedom) * math.sqrt(variance)
    return Interval(value=value, low=value - half, high=value + half)


def standing(a: Sequence[float], b: Sequence[float], tail: float = TAIL) -> Standing:
    """Compare group `a` with group `b`; a single value is always on par."""
    if min(len(a), len(b)) < 2:
        return "on par"
    difference = difference_interval(a, b, tail)
    if difference.low > 0:
        return "above"
    return "below" if difference.high < 0 else "on par"


def standard_errors(groups: Sequence[Sequence[float]]) -> tuple[list[float], int]:
    """Return the standard error of each group's mean by the spread within all groups, and its degrees of freedom.

    Both are 0 if unknown. Two or three seeds that happen to agree would look certain by themselves. Groups of equal
    values, as at the floor of a fitness, are left out: they would make the others look too certain.
    """
    varying = [(group, sum(group) / len(group)) for group in groups if min(group) < max(group)]
    squares = sum((value - mean) ** 2 for group, mean in varying for value in group)
    freedom = sum(len(group) - 1 for group, _ in varying)
    errors = [math.sqrt(squares / freedom / len(group)) if freedom else 0.0 for group in groups]
    return errors, freedom


def noise(*standard_errors: float, freedom: int | None) -> float:
    """Return the smallest difference of means that counts: its standard error times the 95 % quantile of Student's t.

    Of two equally good candidates that are the best of their generations, one leads the other by more in 2 % of cases
    (docs/statistics.md). Standard errors without degrees of freedom (None) are exact; with 0, no difference counts.
    """
    if freedom == 0:
        return math.inf
    quantile = NormalDist().inv_cdf(0.95) if freedom is None else t_quantile(0.05, freedom)
    return quantile * math.hypot(*standard_errors)


def complete_mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of some values; None if one is missing, or if there are none."""
    numbers = [value for value in values if value is not None]
    return sum(numbers) / len(values) if values and len(numbers) == len(values) else None


def later_mean(series: Sequence[float | None]) -> float | None:
    """Return the mean over the later half of a training's evaluations; None unless at least two have a value."""
    values = [value for value in series[len(series) // 2 :] if value is not None]
    return sum(values) / len(values) if len(values) >= 2 else None


def human_normalised(method: float, human: float, sparse: float) -> float | None:
    """Return (M - S) / |H - S|: 0 is the sparse reward, 1 the human one; None if the two are nearly equal."""
    gap = abs(human - sparse)
    return (method - sparse) / gap if gap > SAME_BASELINES * max(abs(human), abs(sparse)) else None


def improvement_probability(a: Sequence[float], b: Sequence[float]) -> Interval:
    """Return the probability that a value of `a` exceeds one of `b`, with its 95 % interval. A tie counts half.

    The interval is Newcombe's pseudo-score (Statistics in Medicine 25, 2006, method 5) with Student's quantile.
    Agarwal's bootstrap would be certain if three values all exceed three others, since they do in every resample. A
    failure counts as minus infinity.
    """
    wins = sum((x > y) + 0.5 * (x == y) for x in a for y in b) / (len(a) * len(b))
    return Interval(value=wins, low=_lower(wins, len(a), len(b)), high=1.0 - _lower(1.0 - wins, len(a), len(b)))


def mean_probability(probabilities: Sequence[Interval]) -> Interval:
    """Return the mean of independent probabilities; bounds add in squares (MOVER)."""
    count = len(probabilities)
    mean = sum(one.value for one in probabilities) / count
    below = math.hypot(*(one.value - one.low for one in probabilities)) / count
    above = math.hypot(*(one.high - one.value for one in probabilities)) / count
    return Interval(value=mean, low=mean - below, high=mean + above)


def _lower(wins: float, m: int, n: int) -> float:
    """Return the smallest probability that is consistent with a share of wins, by bisection."""
    low, high, width = 0.0, wins, t_quantile(TAIL, m + n - 2) if m + n > 2 else math.inf
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if wins - middle > width * _win_error(middle, m, n) else (low, middle)
    return low


def _win_error(true: float, m: int, n: int) -> float:
    """Standard error of the share of wins by Hanley and McNeil, at equal group sizes, for a true probability."""
    pairs = (m + n) / 2 - 1
    spread = 1 + pairs * ((1 - true) / (2 - true) + true / (1 + true))
    return math.sqrt(true * (1 - true) * spread / (m * n))


def t_quantile(tail: float, freedom: float) -> float:
    """Return the value that Student's t, with at least one degree of freedom, exceeds with probability `tail` < 0.5."""
    freedom = math.floor(10.0 * freedom) / 10.0  # rounded to the safe side, so that quantiles are cached
    share = _beta_quantile(2.0 * tail, freedom / 2.0, 0.5)
    return math.sqrt(freedom * (1.0 - share) / share)


@cache
def _beta_quantile(probability: float, a: float, b: float) -> float:
    """Quantile of the beta distribution, by bisection."""
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
    if min(values) == max(values):  # whose sum may be rounded
        return values[0], 0.0
    mean = sum(values) / len(values)
    return mean, sum((value - mean) ** 2 for value in values) / (len(values) - 1)
