"""Statistics over seeds: interquartile mean, bootstrap intervals, human-normalised fitness.

Interquartile mean and percentile bootstrap follow Agarwal et al., "Deep reinforcement learning at the edge of the
statistical precipice" (NeurIPS 2021). The human-normalised score is Eureka's (Ma et al., ICLR 2024, section 4.2).
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Literal

from rewardgen.schema import Frozen

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
    ordered = sorted(values)
    count = len(ordered)
    cut = count / 4
    weights = [max(0.0, min(i + 1, count - cut) - max(i, cut)) for i in range(count)]
    return sum(weight * value for weight, value in zip(weights, ordered, strict=True)) / sum(weights)


def bootstrap_interval(values: Sequence[float], seed: int = 0) -> Interval:
    """Interquartile mean with its percentile bootstrap 95 % interval.

    Args:
        values: One number per seed, at least one. With a single one the interval is that point.
        seed: Seed of the resampling.
    """
    draws = sorted(interquartile_mean(each) for each in _resamples(values, random.Random(seed)))
    return Interval(value=interquartile_mean(values), low=_quantile(draws, 0.025), high=_quantile(draws, 0.975))


def difference_interval(a: Sequence[float], b: Sequence[float], seed: int = 0) -> Interval:
    """Difference of the interquartile means of two independent groups, with its bootstrap 95 % interval."""
    rng = random.Random(seed)
    pairs = zip(_resamples(a, rng), _resamples(b, rng), strict=True)
    draws = sorted(interquartile_mean(x) - interquartile_mean(y) for x, y in pairs)
    value = interquartile_mean(a) - interquartile_mean(b)
    return Interval(value=value, low=_quantile(draws, 0.025), high=_quantile(draws, 0.975))


def standing(a: Sequence[float], b: Sequence[float]) -> Standing:
    """Whether group `a` is above, below, or within noise of group `b`. One value alone is always within noise."""
    if min(len(a), len(b)) < 2:
        return "on par"
    difference = difference_interval(a, b)
    if difference.low > 0:
        return "above"
    return "below" if difference.high < 0 else "on par"


def noise(*standard_errors: float) -> float:
    """What a difference of means has to exceed to count: two standard errors of all of them together."""
    return 2.0 * math.hypot(*standard_errors)


def human_normalised(method: float, human: float, sparse: float) -> float | None:
    """(M - S) / |H - S|: 0 is the sparse reward, 1 the human one. None if the two cannot be told apart."""
    gap = abs(human - sparse)
    return (method - sparse) / gap if gap > SAME_BASELINES * max(abs(human), abs(sparse)) else None


def _resamples(values: Sequence[float], rng: random.Random) -> list[list[float]]:
    return [rng.choices(values, k=len(values)) for _ in range(RESAMPLES)]


def _quantile(ordered: Sequence[float], share: float) -> float:
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])
