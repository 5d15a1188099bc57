import random

import pytest

from rewardgen.core.statistics import (
    bootstrap_interval,
    difference_interval,
    human_normalised,
    interquartile_mean,
    standard_errors,
    standing,
)


def test_standard_errors_are_of_the_spread_within_all_groups_together():
    # Deviations 1, 1 and 2, 2: a sum of squares of 10 over 2 degrees of freedom.
    found = standard_errors([[0.0, 2.0], [5.0, 9.0], [9.0]])
    assert found.errors == pytest.approx([2.5**0.5, 2.5**0.5, 5.0**0.5]) and found.freedom == 2
    at_the_floor = standard_errors([[0.0, 2.0], [5.0, 5.0]])
    assert at_the_floor.errors == pytest.approx([1.0, 1.0]) and at_the_floor.freedom == 1
    assert standard_errors([[1.0], [2.0]]) == ([0.0, 0.0], 0)


def test_interquartile_mean_drops_the_outer_quarters():
    assert interquartile_mean([-1000, 2, 4, 1000]) == 3


def test_interquartile_mean_counts_border_values_by_the_part_inside():
    # Five values: the middle half is the middle value and three quarters of its two neighbours.
    assert interquartile_mean([0, 1, 2, 4, 100]) == pytest.approx((0.75 * 1 + 2 + 0.75 * 4) / 2.5)


def test_interquartile_mean_of_one_value_is_that_value():
    assert interquartile_mean([7.0]) == 7.0


def test_interval_covers_the_true_value_about_as_often_as_it_claims():
    rng = random.Random(1)
    covered = 0
    for trial in range(60):
        values = [rng.gauss(5.0, 1.0) for _ in range(20)]
        interval = bootstrap_interval(values, seed=trial)
        covered += interval.low <= 5.0 <= interval.high
    assert 50 <= covered <= 60


def test_interval_is_the_same_for_the_same_seed():
    values = [1.0, 2.0, 5.0, 9.0]
    assert bootstrap_interval(values, seed=3) == bootstrap_interval(values, seed=3)


def test_clearly_better_group_is_above_and_worse_is_below():
    high, low = [9.0, 10.0, 11.0, 10.5, 9.5], [1.0, 2.0, 1.5, 0.5, 1.2]
    assert standing(high, low) == "above"
    assert standing(low, high) == "below"


def test_groups_that_overlap_are_on_par():
    assert standing([1.0, 9.0, 4.0, 6.0, 2.0], [2.0, 8.0, 5.0, 5.0, 3.0]) == "on par"


def test_difference_has_the_sign_of_the_first_minus_the_second():
    difference = difference_interval([5.0, 5.0, 5.0], [3.0, 3.0, 3.0])
    assert (difference.low, difference.value, difference.high) == (2.0, 2.0, 2.0)


def test_human_normalised_is_zero_at_sparse_and_one_at_human():
    assert human_normalised(2.0, human=10.0, sparse=2.0) == 0
    assert human_normalised(10.0, human=10.0, sparse=2.0) == 1


def test_human_normalised_keeps_its_sign_when_sparse_beats_human():
    assert human_normalised(0.0, human=1.0, sparse=3.0) == pytest.approx(-1.5)


def test_human_normalised_is_unknown_when_the_baselines_agree():
    assert human_normalised(5.0, human=2.0, sparse=2.0) is None


def test_human_normalised_is_unknown_when_the_baselines_differ_by_rounding_only():
    assert human_normalised(0.78, human=0.7864583302, sparse=0.7864583265) is None


def test_a_single_seed_proves_nothing():
    assert standing([9.0], [1.0]) == "on par"
    assert standing([9.0, 9.1], [1.0]) == "on par"
