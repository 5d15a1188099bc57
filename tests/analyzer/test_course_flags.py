import pytest

from rewardgen.analyzer.analyzer import Analyzer
from rewardgen.store.measurements import IdleReading
from rewardgen.store.records import PolicyProbe
from tests.analyzer.flagged import fires, flags
from tests.analyzer.trained import curve, trained
from tests.builders import card

FALLS = curve(fitness=(0.0, 0.5, 0.9, 0.6, 0.3, 0.2))


def test_sound_training_raises_no_flag():
    assert flags() == ()


def test_reward_that_rises_while_fitness_falls():
    words = "The reward rose while fitness fell, from 0.9 at 30000 steps to 0.2"
    fires(flags(curves=FALLS), "reward-up-fitness-down", words)


def test_a_task_without_a_fitness_raises_no_flag_that_a_fitness_would_tell():
    given = card(fitness="", success_terminates=False, benign_terminations=False, probes=(), best_fitness=None)
    assert Analyzer(None).study(trained(curves=FALLS), [], given).flags == ()


def test_one_seed_of_two_that_falls_is_no_flag():
    assert flags(curves=[FALLS, curve()]) == ()


def idle(fitness, episode_return=10.0):
    return IdleReading(fitness=fitness, episode_return=episode_return, episode_steps=100)


def test_fitness_that_was_below_that_of_doing_nothing_from_the_first_evaluation_on():
    level = curve(fitness=(0.2, 0.24, 0.21, 0.24, 0.21, 0.24))
    fires(flags(curves=level, idle=idle(0.6)), "reward-up-fitness-down", "while fitness fell below it, 0.6 to 0.24")
    assert flags(curves=level, idle=idle(0.1)) == ()
    assert flags(curves=level, idle=idle(0.6, episode_return=100.0)) == ()


def test_fitness_that_falls_together_with_the_reward():
    falls = curve(fitness=(0.0, 0.5, 0.9, 0.6, 0.3, 0.2), ret=(5.0, 50.0, 90.0, 60.0, 40.0, 20.0))
    fires(flags(curves=falls), "fitness-fell", "Fitness fell again after its peak")


def test_fitness_that_still_rises():
    fires(flags(curves=curve(fitness=(0.0, 0.1, 0.2, 0.3, 0.6, 0.9))), "still-rising", "still rising")


def test_policy_that_is_no_better_than_doing_nothing():
    probe = PolicyProbe(policy="zero", fitness=0.94, success_rate=0, episode_steps=100, terminations={})
    fires(flags(probes=(probe,)), "no-better-than-trivial", "no better than the zero policy (fitness 0.94)")


def test_seeds_that_disagree():
    fires(flags(fitness=(0.1, 0.9)), "seeds-disagree", "The seeds disagree, from 0.1 to 0.9")


def test_seeds_that_reach_next_to_nothing_do_not_disagree():
    fires(flags(fitness=(0.0001, 0.007)), "seeds-disagree", "The seeds disagree, from 0.0001 to 0.007")
    assert flags(fitness=(0.0001, 0.007), best_fitness=1.0) == ()


@pytest.mark.parametrize("length", [1, 2])
def test_short_training_raises_no_flag_of_its_course(length):
    short = curve(fitness=(0.9, 0.1)[:length], ret=(1.0, 2.0)[:length])
    components = {"progress": {"mean": (0.1, 0.4)[:length]}}
    assert flags(curves=short, components=components) == ()
