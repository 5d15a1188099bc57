"""Probability of improvement, with intervals that hold what they promise for the few runs that there are."""

import math
from functools import cache

import numpy as np
import pytest

from rewardgen.core.statistics import Interval, improvement_probability, mean_probability


@pytest.mark.parametrize(
    ("a", "b", "share"),
    [([2.0], [1.0], 1.0), ([1.0], [1.0], 0.5), ([1.0, 3.0], [2.0, 2.0], 0.5), ([-math.inf, 1.0], [0.0], 0.5)],
)
def test_every_value_meets_every_other_and_a_tie_counts_half(a, b, share):
    assert improvement_probability(a, b).value == share


def test_a_few_values_above_all_others_are_no_certainty_and_many_are():
    lows = [improvement_probability([1.0] * n, [0.0] * n).low for n in (1, 2, 3, 5, 20)]
    assert lows == sorted(lows) and lows[0] == 0.0
    assert lows[2] < 0.5 < lows[3] and lows[-1] > 0.85


def test_exchanged_groups_have_the_mirrored_interval():
    one, other = (improvement_probability(*pair) for pair in (([1, 4, 5], [2, 3]), ([2, 3], [1, 4, 5])))
    assert (other.value, other.low, other.high) == pytest.approx((1 - one.value, 1 - one.high, 1 - one.low))


@pytest.mark.parametrize("runs", [3, 5, 10])
@pytest.mark.parametrize("shift", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("spread", [1.0, 3.0])
def test_intervals_cover_the_truth_in_95_of_100_cases(runs, shift, spread):
    draws = np.random.default_rng(0).normal(size=(2, 10_000, runs))
    shares = (draws[0][:, :, None] * spread + shift > draws[1][:, None, :]).mean((1, 2))
    truth = 0.5 * math.erfc(-shift / math.hypot(1, spread) / math.sqrt(2))
    found = [interval_of(round(share * runs * runs), runs) for share in shares]
    assert sum(each.low <= truth <= each.high for each in found) >= 9_450  # 9,500 but for the luck of the draws


@cache
def interval_of(wins, runs):
    """The interval of so many wins: they alone decide, so few have to be computed."""
    b = [each + 0.5 for each in range(runs)]
    whole, rest = divmod(wins, runs)
    a = [float(runs)] * whole + ([float(rest)] + [0.0] * (runs - whole - 1) if whole < runs else [])
    assert sum(x > y for x in a for y in b) == wins
    return improvement_probability(a, b)


def test_the_mean_of_two_tasks_is_surer_than_each():
    each = Interval(value=0.7, low=0.4, high=0.9)
    both = mean_probability([each, each])
    assert both.value == pytest.approx(0.7)
    assert (both.value - both.low, both.high - both.value) == pytest.approx((0.3 / 2**0.5, 0.2 / 2**0.5))
    assert mean_probability([each]).low == pytest.approx(each.low)
