import pytest

from rewardgen.analyzer.analyzer import Analyzer
from rewardgen.records import PolicyProbe
from tests.analyzer.trained import SOUND, curve, trained
from tests.builders import card


def flags(success_terminates=False, probes=(), **changes):
    given = card(success_terminates=success_terminates, probes=probes)
    return Analyzer(None).study(trained(**changes), [], given).flags


def with_component(name, **changes):
    return flags(components=SOUND | {name: changes})


def fires(found, words):
    assert [flag for flag in found if words in flag], found
    assert len(found) == 1, found


def test_sound_training_raises_no_flag():
    assert flags() == ()


def test_every_flag_is_one_sentence():
    found = flags(components=SOUND | {"bonus": {"mean": (0.0,) * 6, "std": 0.0, "activation": 0.0}})
    assert all(flag.endswith(".") and flag.count(". ") == 0 for flag in found)


# Components.


def test_bonus_that_never_fired():
    fires(with_component("bonus", mean=(0.0,) * 6, std=0.0, share=0.0, activation=0.0, r=None), "`bonus` never fired")


def test_component_that_fired_once_is_not_said_to_have_never_fired():
    found = with_component("bonus", mean=(0.0, 0.0, 0.0, 0.0, 0.1, 0.2), activation=(0.0, 0.0, 0.0, 0.0, 0.1, 0.3))
    assert found == ()


def test_dead_component():
    fires(with_component("near", mean=(1e-4,) * 6, std=1e-3, activation=0.004), "`near` is dead")


def test_constant_component():
    fires(with_component("alive", mean=(1.0,) * 6, std=0.0, activation=1.0, r=None), "`alive` was constant at 1")


def test_negligible_component():
    fires(with_component("smooth", share=0.0002), "`smooth` is negligible: 0.02 %")


def test_saturated_component():
    found = with_component("upright", mean=(0.3, 0.6, 0.9, 0.98, 0.99, 0.99), std=(0.3, 0.3, 0.2, 0.1, 0.02, 0.01))
    fires(found, "`upright` is saturated")


def test_component_that_dominates():
    fires(flags(components=SOUND | {"progress": {"share": 0.97}}), "`progress` dominates: 97 %")


def test_only_component_does_not_dominate():
    assert flags(components={"progress": {"share": 1.0}}) == ()


def test_component_that_goes_against_the_fitness():
    fires(with_component("height", r=-0.6), "`height` is higher in episodes of lower fitness (r = -0.60)")


def test_small_penalty_that_the_fitter_episodes_pay_is_normal():
    assert flags(components=SOUND | {"effort": {"mean": (-0.05,) * 6, "share": 0.03, "r": -0.8}}) == ()


def test_large_penalty_that_the_fitter_episodes_pay():
    found = flags(components=SOUND | {"effort": {"mean": (-0.5,) * 6, "share": 0.4, "r": -0.8}})
    fires(found, "`effort` costs the fitter episodes more")


# The course of training.

FALLS = curve(fitness=(0.0, 0.5, 0.9, 0.6, 0.3, 0.2))


def test_reward_that_rises_while_fitness_falls():
    fires(flags(curves=FALLS), "The reward rose while fitness fell, from 0.9 at 30000 steps to 0.2")


def test_one_seed_of_two_that_falls_is_no_flag():
    assert flags(curves=[FALLS, curve()]) == ()


def test_fitness_that_falls_together_with_the_reward():
    falls = curve(fitness=(0.0, 0.5, 0.9, 0.6, 0.3, 0.2), ret=(5.0, 50.0, 90.0, 60.0, 40.0, 20.0))
    fires(flags(curves=falls), "Fitness fell again after its peak")


def test_fitness_that_still_rises():
    fires(flags(curves=curve(fitness=(0.0, 0.1, 0.2, 0.3, 0.6, 0.9))), "still rising")


SHORTENS = curve(steps=(80.0, 100.0, 90.0, 60.0, 40.0, 30.0))


def test_episodes_that_shorten_while_the_reward_rises():
    fires(flags(curves=SHORTENS), "Episodes became shorter (100 to 30 steps)")


def test_shorter_episodes_are_the_aim_where_success_ends_them():
    assert flags(success_terminates=True, curves=SHORTENS) == ()


def test_episodes_that_end_early():
    fires(
        flags(terminations={"left the track": 0.75, "time limit": 0.25}), "75 % of the episodes still end by `left the"
    )


def test_negative_reward_that_ends_episodes_early():
    costly = curve(ret=(-50.0, -40.0, -30.0, -20.0, -15.0, -10.0))
    fires(flags(curves=costly, terminations={"left the track": 0.9, "time limit": 0.1}), "ending them stops the cost")


def test_reward_that_is_content_without_success():
    content = curve(ret=(5.0, 60.0, 90.0, 90.0, 91.0, 90.0), success=0.0)
    fires(flags(curves=content), "local optimum")


# Fitness.


def test_policy_that_is_no_better_than_doing_nothing():
    probe = PolicyProbe(policy="zero", fitness=0.94, success_rate=0, episode_steps=100, terminations={})
    fires(flags(probes=(probe,)), "no better than the zero policy (fitness 0.94)")


def test_seeds_that_disagree():
    fires(flags(fitness=(0.1, 0.9)), "The seeds disagree, from 0.1 to 0.9")


@pytest.mark.parametrize("length", [1, 2])
def test_short_training_raises_no_flag_of_its_course(length):
    short = curve(fitness=(0.9, 0.1)[:length], ret=(1.0, 2.0)[:length])
    components = {"progress": {"mean": (0.1, 0.4)[:length]}}
    assert flags(curves=short, components=components) == ()
