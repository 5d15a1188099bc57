"""Comparing two rewards over blocks of fresh seeds, until the question is decided or the seeds are used up.

Who looks after every block would find a difference by chance more often than who looks once. So each look has a
stricter limit, by a spending function (Lan and DeMets 1983, `alpha * share ** 1.5`), so that all looks together err in
2.5 % of cases on either side. The limits are quantiles of simulated Brownian motion at equally spaced looks; with
Welch's t in place of a known variance, and with skewed fitness, they hold as docs/statistics.md tells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

from rewardgen.core.statistics import TAIL, Interval, Standing, difference_interval, standing

BLOCK = 5
"""Seeds of each reward between two looks."""
MOST_SEEDS = 20
"""Fresh seeds of a reward, at most: for more looks there are no limits here."""
_TAILS = (
    (TAIL,),
    (0.00877, 0.01979),
    (0.00474, 0.01053, 0.01726),
    (0.00312, 0.00671, 0.01092, 0.01577),
)
"""Tail of the interval at each look, for one look in all, for two, three and four."""
_POWER = {2: 0.04, 3: 0.12, 4: 0.19, 5: 0.26, 8: 0.42, 10: 0.52, 15: 0.71, 20: 0.81}
"""How often a gain of one standard deviation over seeds is seen, by most seeds of each reward (6,000 simulated)."""
_HOPELESS = 0.05
"""Probability to be decided at the last look, if it goes on as so far, below which no further block is opened."""
_SIGMA = NormalDist().cdf(-1.0)
"""Tail of an interval of one standard error."""
_FIRST_HOPELESS = 2
"""The look at which that is asked first: five seeds say too little."""


class Look(NamedTuple):
    """What a look at two groups shows.

    Attributes:
        standing: Of the first group against the second.
        difference: Of the means, with an interval that holds at all looks at once; None with a single seed.
        over: Whether to stop: it is decided, the seeds are used up, or more would hardly decide it.
    """

    standing: Standing
    difference: Interval | None
    over: bool


def look(a: Sequence[float], b: Sequence[float], most: int) -> Look:
    """Look at two groups after a block.

    Args:
        a: Fitness of one reward, one number per seed.
        b: Of the other.
        most: Seeds of each that there may be in all.
    """
    seeds, looks = min(len(a), len(b)), min(math.ceil(most / BLOCK), len(_TAILS))
    number = min(math.ceil(seeds / BLOCK), looks)
    tails = _TAILS[looks - 1]
    tail, last = tails[number - 1], seeds >= most
    if seeds < 2:
        return Look("on par", None, last)
    found = standing(a, b, tail)
    over = found != "on par" or last
    if not over and number >= _FIRST_HOPELESS:
        over = _chance(a, b, seeds / most, tails[-1]) < _HOPELESS
    return Look(found, difference_interval(a, b, tail), over)


def power(most: int) -> float:
    """The probability that a reward which is truly better by one standard deviation over seeds is found to be.

    Args:
        most: Seeds of each reward at most.
    """
    known = [seeds for seeds in _POWER if seeds <= most]
    return _POWER[known[-1]] if known else 0.0


def _chance(a: Sequence[float], b: Sequence[float], share: float, tail: float) -> float:
    """The probability to be beyond the last limit in the end, if the difference is as seen (conditional power).

    Args:
        a: Of one group.
        b: Of the other.
        share: Of the seeds that are in.
        tail: At the last look.
    """
    one_sigma = difference_interval(a, b, _SIGMA)
    half = one_sigma.high - one_sigma.value
    if half == 0.0:
        return 0.0
    walked = abs(one_sigma.value) / half * math.sqrt(share)
    missing = NormalDist().inv_cdf(1.0 - tail) - walked / share
    return 1.0 - NormalDist().cdf(missing / math.sqrt(1.0 - share))
