"""The sequential comparison of two rewards on fresh seeds, tried on groups whose true values are known."""

import math
import random
from itertools import product

import pytest

from rewardgen.core.sequential import BLOCK, MOST_SEEDS, look, power
from rewardgen.core.statistics import bootstrap_interval, proportion_interval


def normal(rng, mean=0.0):
    return rng.gauss(mean, 1.0)


def skewed(rng, mean=0.0):
    """Most seeds near the top, some far below, as with a fitness that is bounded above; standard deviation 1."""
    return mean + (rng.betavariate(4.0, 1.0) - 0.8) / 0.163299


def with_failures(rng, mean=0.0):
    """One seed in seven learns nothing; standard deviation 1."""
    return mean + (rng.gauss(0.1, 0.05) if rng.random() < 1 / 7 else rng.gauss(0.8, 0.05)) / 0.25


def finals(draw, gain, most, rng):
    """What a winner whose true mean is higher by `gain` is told, and the seeds that took."""
    a = [draw(rng, gain) for _ in range(most)]
    b = [draw(rng) for _ in range(most)]
    for seeds in range(min(BLOCK, most), most + BLOCK, BLOCK):
        seen = look(a[:seeds], b[:seeds], most)
        if seen.over:
            return seen, min(seeds, most)
    raise AssertionError("the last look is over")


def rates(draw, gain, most, times, seed=0):
    """Share of finals that end with `above` and with `below`, mean number of seeds, coverage of the difference."""
    rng = random.Random(seed)
    found = [finals(draw, gain, most, rng) for _ in range(times)]
    above, below = (sum(seen.standing == each for seen, _ in found) / times for each in ("above", "below"))
    inside = sum(seen.difference.low <= gain <= seen.difference.high for seen, _ in found) / times
    return above, below, sum(seeds for _, seeds in found) / times, inside


def slow(*case):
    return pytest.param(*case, marks=pytest.mark.slow)


def sampling_error(rate, times):
    return 3.0 * math.sqrt(rate * (1.0 - rate) / times)


@pytest.mark.parametrize(
    ("draw", "most"),
    [(skewed, 2), (normal, 20), *(slow(*each) for each in product((normal, skewed, with_failures), (2, 20)))],
)
def test_a_winner_that_is_no_better_is_said_to_be_in_at_most_three_of_a_hundred_runs(draw, most):
    above, below, _, inside = rates(draw, 0.0, most, times=600)
    allowed = 0.03 + sampling_error(0.03, 600)
    assert above <= allowed and below <= allowed
    assert inside >= 0.95 - sampling_error(0.95, 600)


@pytest.mark.parametrize("draw", [normal, skewed])
def test_a_gain_of_one_standard_deviation_is_seen_in_four_of_five_runs(draw):
    above, below, seeds, _ = rates(draw, 1.0, MOST_SEEDS, times=400)
    assert above >= 0.8 - sampling_error(0.8, 400) and below == 0.0
    assert seeds < 16, "many are decided before the last block"


@pytest.mark.parametrize("most", [2, 10, 20])
def test_what_finals_are_said_to_detect_they_detect(most):
    above, *_ = rates(normal, 1.0, most, times=500)
    assert abs(above - power(most)) <= 0.01 + sampling_error(power(most), 500)


def test_a_large_gain_takes_two_blocks_and_none_at_all_is_not_looked_for_to_the_end():
    assert rates(normal, 3.0, MOST_SEEDS, times=100)[2] < 7
    assert rates(normal, 0.0, MOST_SEEDS, times=200)[2] < 15


def test_one_seed_is_on_par_and_over_if_there_is_no_other():
    assert look([9.0], [1.0], 1) == ("on par", None, True)
    assert look([9.0], [1.0], 5).over is False


def test_the_first_look_of_four_is_stricter_than_the_only_one():
    a, b = [1.9, 2.2, 2.5, 2.1, 2.4], [1.6, 2.0, 1.5, 1.9, 2.1]
    assert look(a, b, 5).standing == "above" and look(a, b, 20).standing == "on par"


@pytest.mark.parametrize(
    ("draw", "seeds"),
    [(normal, 2), (skewed, 5), slow(normal, 3)]
    + [slow(*each) for each in product((normal, skewed, with_failures), (5, 20))],
)
def test_the_interval_of_the_fitness_holds_its_coverage(draw, seeds):
    rng = random.Random(seeds)
    many = sorted(draw(rng) for _ in range(40_000))
    true = sum(many[10_000:30_000]) / 20_000
    times, inside = 250, 0
    for _ in range(times):
        interval = bootstrap_interval([draw(rng) for _ in range(seeds)])
        inside += interval.low <= true <= interval.high
    assert abs(inside / times - 0.95) <= 0.02 + sampling_error(0.95, times)


@pytest.mark.parametrize(
    ("seeds", "alike"), [(5, (19.0, 1.0)), *(slow(*each) for each in product((5, 20), ((19.0, 1.0), (0.5, 0.5))))]
)
def test_the_interval_of_the_success_rate_holds_its_coverage(seeds, alike):
    rng = random.Random(seeds)
    times, inside = 400, 0
    for _ in range(times):
        shares = [rng.betavariate(*alike) for _ in range(seeds)]
        found = [sum(rng.random() < share for _ in range(16)) / 16 for share in shares]
        interval = proportion_interval(found, 16)
        inside += interval.low <= alike[0] / sum(alike) <= interval.high
    assert inside / times >= 0.93 - sampling_error(0.93, times)


def test_success_in_every_episode_is_no_certainty():
    interval = proportion_interval([1.0] * 5, 16)
    assert (interval.value, interval.high) == (1.0, 1.0) and interval.low == pytest.approx(0.478, abs=0.001)
