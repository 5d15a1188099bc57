"""When a slice is stopped: a clear and lasting fall of fitness under a rising return, and nothing less."""

import pytest

from rewardgen.analyzer.hacking import fell_while_return_rose, find_hacking
from tests.analyzer.trained import curve

BUDGET = 80_000
"""Steps of eight evaluations."""
LEARNED_THEN_HACKED = (0.1, 0.7, 0.8, 0.75, 0.2, 0.1)
RISING = (5.0, 30.0, 40.0, 45.0, 70.0, 90.0)


def stop(fitness=LEARNED_THEN_HACKED, ret=RISING, spread=0.02, return_spread=1.0, budget=BUDGET):
    seen = curve(fitness=fitness, ret=ret[: len(fitness)], fitness_spread=spread, return_spread=return_spread)
    return find_hacking(seen, budget)


def test_what_was_learned_and_lost_while_the_return_rose_is_a_reason_to_stop():
    found = stop()
    assert found is not None
    assert (found.env_steps, found.of_env_steps) == (60_000, BUDGET)
    assert (found.fitness_from, found.fitness_to, found.return_from, found.return_to) == (0.8, 0.1, 40.0, 90.0)
    assert found.message == (
        "reward rose from 40 to 90 while fitness fell from 0.8 to 0.1; stopped at step 60000 of 80000"
    )


def test_a_single_bad_evaluation_is_not():
    assert stop(fitness=LEARNED_THEN_HACKED[:5]) is None


def test_nothing_is_stopped_before_half_of_the_steps():
    assert stop(budget=120_000) is not None
    assert stop(budget=121_000) is None


@pytest.mark.parametrize("length", range(4))
def test_fewer_than_four_evaluations_say_too_little(length):
    assert stop(fitness=(0.9, 0.1, 0.0)[:length], budget=30_000) is None


SOUND = {
    "a slow start": ((0.03, 0.1, 0.0, 0.0, 0.0), (52.0, 57.0, 79.0, 90.0, 99.0)),
    "a late dip": ((0.0, 0.3, 0.6, 0.8, 0.85, 0.75), (40.0, 90.0, 160.0, 200.0, 210.0, 214.0)),
    "a third lost for more of the rest": ((0.1, 0.8, 0.9, 0.9, 0.6, 0.6), RISING),
    "on its way back": ((0.1, 0.7, 0.8, 0.75, 0.1, 0.3), RISING),
    "a single peak": ((0.1, 0.1, 0.9, 0.1, 0.1, 0.1), RISING),
    "a return that falls too": (LEARNED_THEN_HACKED, (5.0, 50.0, 90.0, 85.0, 40.0, 20.0)),
    "a return that is level": (LEARNED_THEN_HACKED, (5.0, 88.0, 89.0, 89.0, 90.0, 92.0)),
    "a return that falls again": (LEARNED_THEN_HACKED, (5.0, 30.0, 40.0, 45.0, 90.0, 70.0)),
    "ups and downs as large before": ((0.9, 0.3, 0.85, 0.88, 0.3, 0.2), RISING),
    "only one evaluation that is far worse": ((0.1, 0.7, 0.8, 0.75, 0.6, 0.1), RISING),
    "a third lost of what it always had": ((1.0, 1.0, 0.98, 0.95, 0.7, 0.68), RISING),
    "a return that rose before the fall": ((0.1, 0.8, 0.75, 0.2, 0.1), (4.0, 5.0, 65.0, 70.0, 72.0)),
    "a best evaluation that was paid more": ((0.7, 0.75, 0.1, 0.95, 0.1, 0.1), (30.0, 40.0, 50.0, 120.0, 70.0, 90.0)),
    "no learning at all": ((0.0,) * 6, RISING),
    "fitness that rises": ((0.0, 0.2, 0.4, 0.6, 0.8, 0.9), RISING),
    "a hopper that falls and gets up": ((0.12, 0.22, 0.75, 1.61, 0.12, 1.46, 0.11), (*RISING, 95.0)),
}


@pytest.mark.parametrize("why", SOUND)
def test_a_sound_course_of_training_is_left_alone(why):
    fitness, ret = SOUND[why]
    for length in range(1, len(fitness) + 1):
        assert stop(fitness=fitness[:length], ret=ret, spread=0.0, return_spread=0.0) is None


@pytest.mark.parametrize("noise", [{"spread": 0.2}, {"return_spread": 10.0}])
def test_what_may_be_noise_of_the_episodes_is_no_reason(noise):
    assert stop(**noise) is None


def test_negative_fitness_and_return_are_read_alike():
    assert stop(
        fitness=tuple(value - 3.0 for value in (0.0, 2.8, 2.9, 2.8, 0.2, 0.0)), ret=(-90, -60, -50, -45, -20, -9)
    )


def test_a_fall_that_may_be_noise_of_the_episodes_is_not_marked_after_training():
    noisy = curve(fitness=LEARNED_THEN_HACKED, ret=RISING, fitness_spread=0.5, return_spread=1.0)
    assert not fell_while_return_rose(noisy)


def test_what_is_stopped_is_also_marked_after_training():
    assert fell_while_return_rose(curve(fitness=LEARNED_THEN_HACKED, ret=RISING))
