"""Estimates, intervals and comparisons over seeds, and over runs."""

import math
from functools import cache

import numpy as np
import pytest

from rewardgen.core.statistics import (
    Interval,
    difference_interval,
    human_normalised,
    improvement_probability,
    interquartile_mean,
    mean_probability,
    standard_errors,
    standing,
)


def test_standard_errors_are_of_the_spread_within_all_groups_together():
    # Deviations 1, 1 and 2, 2: a sum of squares of 10 over 2 degrees of freedom.
    errors, freedom = standard_errors([[0.0, 2.0], [5.0, 9.0], [9.0]])
    assert errors == pytest.approx([2.5**0.5, 2.5**0.5, 5.0**0.5]) and freedom == 2
    errors, freedom = standard_errors([[0.0, 2.0], [5.0, 5.0]])
    assert errors == pytest.approx([1.0, 1.0]) and freedom == 1
    errors, freedom = standard_errors([[0.0, 2.0], [0.1] * 3])  # whose sum over three is not 0.1
    assert errors == pytest.approx([1.0, (2 / 3) ** 0.5]) and freedom == 1
    assert standard_errors([[1.0], [2.0]]) == ([0.0, 0.0], 0)


@pytest.mark.parametrize(
    ("values", "mean"),
    [
        ([-1000, 2, 4, 1000], 3.0),
        ([0, 1, 2, 4, 100], (0.75 * 1 + 2 + 0.75 * 4) / 2.5),  # the middle value, three quarters of its neighbours
        ([7.0], 7.0),
    ],
)
def test_interquartile_mean_counts_border_values_by_the_part_inside(values, mean):
    assert interquartile_mean(values) == pytest.approx(mean)


HIGH, LOW = [9.0, 10.0, 11.0, 10.5, 9.5], [1.0, 2.0, 1.5, 0.5, 1.2]


@pytest.mark.parametrize(
    ("a", "b", "result"),
    [
        (HIGH, LOW, "above"),
        (LOW, HIGH, "below"),
        ([1.0, 9.0, 4.0, 6.0, 2.0], [2.0, 8.0, 5.0, 5.0, 3.0], "on par"),
        ([9.0], [1.0], "on par"),
        ([0.7] * 10, [0.7] * 5, "on par"),  # whose sums are rounded differently
        ([9.0, 9.1], [1.0], "on par"),
    ],
)
def test_groups_are_compared_by_the_interval_and_a_single_seed_proves_nothing(a, b, result):
    assert standing(a, b) == result


def test_difference_has_the_sign_of_the_first_minus_the_second():
    difference = difference_interval([5.0, 5.0, 5.0], [3.0, 3.0, 3.0])
    assert (difference.low, difference.value, difference.high) == (2.0, 2.0, 2.0)


@pytest.mark.parametrize(
    ("method", "human", "sparse", "score"),
    [
        (2.0, 10.0, 2.0, 0.0),
        (10.0, 10.0, 2.0, 1.0),
        (0.0, 1.0, 3.0, -1.5),
        (5.0, 2.0, 2.0, None),
        (0.78, 0.7864583302, 0.7864583265, None),
    ],
    ids=["sparse", "human", "sparse beats human", "equal", "equal but for rounding"],
)
def test_human_normalised_is_a_scale_from_sparse_to_human(method, human, sparse, score):
    assert human_normalised(method, human=human, sparse=sparse) == (score if score is None else pytest.approx(score))


@pytest.mark.parametrize(
    ("a", "b", "share"),
    [([2.0], [1.0], 1.0), ([1.0], [1.0], 0.5), ([1.0, 3.0], [2.0, 2.0], 0.5), ([-math.inf, 1.0], [0.0], 0.5)],
)
def test_every_value_meets_every_other_and_a_tie_counts_half(a, b, share):
    assert improvement_probability(a, b).value == share
    one, other = improvement_probability(a, b), improvement_probability(b, a)
    assert (other.value, other.low, other.high) == pytest.approx((1 - one.value, 1 - one.high, 1 - one.low))


def test_a_few_values_above_all_others_are_no_certainty_and_many_are():
    lows = [improvement_probability([1.0] * n, [0.0] * n).low for n in (1, 2, 3, 5, 20)]
    assert lows == sorted(lows) and lows[0] == 0.0
    assert lows[2] < 0.5 < lows[3] and lows[-1] > 0.85


@pytest.mark.parametrize("runs", [3, 5, 10])
@pytest.mark.parametrize("shift", [0.0, 1.0, 2.0])
def test_intervals_cover_the_truth_in_95_of_100_cases(runs, shift):
    draws = np.random.default_rng(0).normal(size=(2, 10_000, runs))
    shares = (draws[0][:, :, None] * 3.0 + shift > draws[1][:, None, :]).mean((1, 2))
    truth = 0.5 * math.erfc(-shift / math.hypot(1, 3.0) / math.sqrt(2))
    intervals = [interval_of(round(share * runs * runs), runs) for share in shares]
    assert sum(one.low <= truth <= one.high for one in intervals) >= 9_450  # 9,500 but for the luck of the draws


@cache
def interval_of(wins, runs):
    """The interval of so many wins: they alone decide, so few have to be computed."""
    b = [number + 0.5 for number in range(runs)]
    whole, rest = divmod(wins, runs)
    a = [float(runs)] * whole + ([float(rest)] + [0.0] * (runs - whole - 1) if whole < runs else [])
    return improvement_probability(a, b)


def test_the_mean_of_two_tasks_is_surer_than_each():
    one = Interval(value=0.7, low=0.4, high=0.9)
    both = mean_probability([one, one])
    assert both.value == pytest.approx(0.7)
    assert (both.value - both.low, both.high - both.value) == pytest.approx((0.3 / 2**0.5, 0.2 / 2**0.5))
