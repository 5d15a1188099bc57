"""Probability of improvement: how often a value of one group exceeds one of another (Agarwal et al., NeurIPS 2021)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rewardgen.core.statistics import Interval

_Z = 1.959964
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
    low, high, width = 0.0, wins, _quantile(m + n - 2)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if wins - middle > width * _error(middle, m, n) else (low, middle)
    return low


def _quantile(freedom: int) -> float:
    """Student's for 97.5 %, by its expansion about the normal one: within 1 % from 3 degrees of freedom on."""
    if freedom < 1:
        return math.inf
    first, second, third = (_Z**3 + _Z) / 4, (5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / 96, (3 * _Z**7 + 19 * _Z**5) / 384
    third += (17 * _Z**3 - 15 * _Z) / 384
    return _Z + first / freedom + second / freedom**2 + third / freedom**3


def _error(true: float, m: int, n: int) -> float:
    """Standard error of the share of wins where this is the true probability: Hanley and McNeil's, both sizes alike."""
    pairs = (m + n) / 2 - 1
    spread = 1 + pairs * ((1 - true) / (2 - true) + true / (1 + true))
    return math.sqrt(true * (1 - true) * spread / (m * n))
