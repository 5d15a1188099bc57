import pytest

from tests.analyzer.flagged import fires, flags, with_component
from tests.analyzer.trained import SOUND, curve

LEARNED = curve(success=0.9)


def test_bonus_that_never_fired():
    found = with_component("bonus", mean=(0.0,) * 6, std=0.0, share=0.0, activation=0.0, r=None)
    fires(found, "bonus-never-fired", "`bonus` never fired", "bonus")


def test_component_that_fired_once_is_not_said_to_have_never_fired():
    found = with_component("bonus", mean=(0.0, 0.0, 0.0, 0.0, 0.1, 0.2), activation=(0.0, 0.0, 0.0, 0.0, 0.1, 0.3))
    assert found == ()


def test_dead_component():
    found = with_component("near", mean=(1e-4,) * 6, std=1e-3, share=0.001, activation=0.004)
    fires(found, "dead-component", "`near` is dead", "near")


def test_bonus_that_is_paid_once_in_an_episode_is_not_dead():
    assert with_component("goal", mean=(0.25,) * 6, std=3.5, share=0.5, activation=0.005) == ()


def test_constant_component():
    found = with_component("alive", mean=(1.0,) * 6, std=0.0, activation=1.0, r=None)
    fires(found, "constant-component", "`alive` was constant at 1", "alive")


def test_negligible_component():
    fires(with_component("smooth", share=0.0002), "negligible-component", "`smooth` is negligible: 0.02 %", "smooth")


NARROWS = {"mean": (0.3, 0.6, 0.9, 0.98, 0.99, 0.99), "std": (0.3, 0.3, 0.2, 0.1, 0.02, 0.01)}
AT_BEST = {"mean": (0.3, 0.6, 0.9, 0.9, 0.9, 0.9), "saturation": (0.1, 0.5, 0.8, 0.92, 0.95, 0.96)}


@pytest.mark.parametrize("changes", [NARROWS, AT_BEST])
def test_saturated_component(changes):
    fires(with_component("upright", **changes), "saturated-component", "`upright` is saturated", "upright")


@pytest.mark.parametrize("changes", [NARROWS, AT_BEST])
def test_component_at_its_largest_is_the_aim_once_the_task_is_learned(changes):
    assert flags(curves=LEARNED, components=SOUND | {"upright": changes}) == ()


def test_component_that_dominates():
    found = flags(components=SOUND | {"progress": {"share": 0.97}})
    fires(found, "dominant-component", "`progress` dominates: 97 %", "progress")


def test_only_component_does_not_dominate():
    assert flags(components={"progress": {"share": 1.0}}) == ()


def test_component_that_goes_against_the_fitness():
    found = with_component("height", r=-0.6)
    fires(found, "against-fitness", "`height` is higher in episodes of lower fitness (r = -0.60)", "height")


def test_small_penalty_that_the_fitter_episodes_pay_is_normal():
    assert flags(components=SOUND | {"effort": {"mean": (-0.05,) * 6, "share": 0.03, "r": -0.8}}) == ()


def test_large_penalty_that_the_fitter_episodes_pay():
    found = flags(components=SOUND | {"effort": {"mean": (-0.5,) * 6, "share": 0.4, "r": -0.8}})
    fires(found, "against-fitness", "`effort` costs the fitter episodes more", "effort")


def test_sum_that_ranks_the_episodes_the_wrong_way():
    found = flags(curves=curve(return_correlation=-0.7))
    fires(found, "against-fitness", "Episodes of higher reward have lower fitness (r = -0.70)")
    assert flags(curves=curve(return_correlation=0.7)) == ()


def test_what_differs_between_successful_episodes_is_chance():
    assert flags(curves=curve(return_correlation=-0.7, success=0.9)) == ()
