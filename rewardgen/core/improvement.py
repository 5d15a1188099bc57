"""Probability of improvement: how often a value of one group exceeds one of another (Agarwal et al., NeurIPS 2021)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rewardgen.core.statistics import TAIL, Interval, t_quantile

_HALVINGS = 50


def improvement_probability(a: Sequence[float], b: Sequence[float]) -> Interval:
    """Probability that a value of `a` exceeds one of `b`, with its 95 % interval. A tie counts half.

    The interval is Newcombe's pseudo-score one (Statistics in Medicine 25, 2006, method 5) with Student's quantile, not
    Agarwal's bootstrap: where three values all exceed three others, they do in every resample, and the bootstrap would
    be certain. One value against one says nothing.

    Args:
        a: At least one number; minus infinity for what came to nothing.
        b: Likewise, independent of them.
    """
    wins = sum((x > y) + 0.5 * (x == y) for x in a for y in b) / (len(a) * len(b))
    return Interval(value=wins, low=_lower(wins, len(a), len(b)), high=1.0 - _lower(1.0 - wins, len(a), len(b)))


def mean_probability(each: Sequence[Interval]) -> Interval:
    """Mean of independent probabilities; its bounds are as far from it as theirs are in the root of squares (MOVER).

    Args:
        each: At least one.
    """
    mean = sum(one.value for one in each) / len(each)
    below = math.hypot(*(one.value - one.low for one in each)) / len(each)
    above = math.hypot(*(one.high - one.value for one in each)) / len(each)
    return Interval(value=mean, low=mean - below, high=mean + above)


def _lower(wins: float, m: int, n: int) -> float:
    """The smallest probability that such a share of wins is no surprise for."""
    low, high, width = 0.0, wins, t_quantile(TAIL, m + n - 2) if m + n > 2 else math.inf
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if wins - middle > width * _error(middle, m, n) else (low, middle)
    return low


def _error(true: float, m: int, n: int) -> float:
    """Standard error of the share of wins where this is the true probability: Hanley and McNeil's, both sizes alike."""
    pairs = (m + n) / 2 - 1
    spread = 1 + pairs * ((1 - true) / (2 - true) + true / (1 + true))
    return math.sqrt(true * (1 - true) * spread / (m * n))
