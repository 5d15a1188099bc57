"""Sequential comparison of two rewards over blocks of fresh seeds.

Several looks find a difference by chance more often than one. Each look therefore has a stricter limit, by a spending
function (Lan and DeMets 1983, `alpha * share ** 1.5`), so that all looks together err in 2.5 % of cases on either side.
The limits are quantiles of simulated Brownian motion at equally spaced looks. docs/statistics.md has the error rates
with Welch's t and skewed fitness.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

from rewardgen.core.statistics import TAIL, Interval, Standing, difference_interval, standing

BLOCK = 5
"""Seeds of each reward per look."""
MOST_SEEDS = 20
"""Fresh seeds of a reward at most: four looks."""
_TAILS = (
    (TAIL,),
    (0.00877, 0.01979),
    (0.00474, 0.01053, 0.01726),
    (0.00312, 0.00671, 0.01092, 0.01577),
)
"""Tail of the interval at each look, for one to four looks in all."""
_POWER = {2: 0.04, 3: 0.12, 4: 0.19, 5: 0.26, 8: 0.42, 10: 0.52, 15: 0.71, 20: 0.81}
"""Most seeds of each reward to the probability of detecting a gain of one standard deviation (6,000 simulations)."""
_HOPELESS = 0.05
"""Probability of a decision at the last look below which no further block is opened."""
_SIGMA = NormalDist().cdf(-1.0)
"""Tail of an interval of one standard error."""
_FIRST_HOPELESS = 2
"""First look that may stop without a decision: five seeds show too little."""


class Look(NamedTuple):
    """Result of a look at two groups.

    Attributes:
        standing: The first group against the second.
        difference: Difference of the means, with an interval that holds at all looks at once; None with a single seed.
        over: True to stop: decided, no seeds left, or a decision is improbable.
    """

    standing: Standing
    difference: Interval | None
    over: bool


def look(a: Sequence[float], b: Sequence[float], most: int) -> Look:
    """Look at two groups after a block: the fitness of each seed so far, of `most` seeds at the last look."""
    seeds, looks = min(len(a), len(b)), min(math.ceil(most / BLOCK), len(_TAILS))
    number = min(math.ceil(seeds / BLOCK), looks)
    tails = _TAILS[looks - 1]
    tail, last = tails[number - 1], seeds >= most
    if seeds < 2:
        return Look("on par", None, last)
    result = standing(a, b, tail)
    over = result != "on par" or last
    if not over and number >= _FIRST_HOPELESS:
        over = _chance(a, b, seeds / most, tails[-1]) < _HOPELESS
    return Look(result, difference_interval(a, b, tail), over)


def power(most: int) -> float:
    """Return the probability of detecting a gain of one standard deviation over seeds."""
    return max((chance for seeds, chance in _POWER.items() if seeds <= most), default=0.0)


def _chance(a: Sequence[float], b: Sequence[float], share: float, tail: float) -> float:
    """Return the conditional power: the probability of a decision at the last look if the difference stays.

    `share` is that of the seeds used so far, `tail` that of the last look.
    """
    one_sigma = difference_interval(a, b, _SIGMA)
    half = one_sigma.high - one_sigma.value
    if half == 0.0:
        return 0.0
    drift = abs(one_sigma.value) / half * math.sqrt(share)
    missing = NormalDist().inv_cdf(1.0 - tail) - drift / share
    return 1.0 - NormalDist().cdf(missing / math.sqrt(1.0 - share))
