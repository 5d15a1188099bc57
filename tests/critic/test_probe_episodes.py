"""Rewards that are best served by doing nothing, by ending early or by not finishing are told, sound ones are not."""

import pytest

from tests.critic.banks import found, of_trap

PARAMETERS = "x_velocity, height, healthy, action"


@pytest.mark.parametrize(
    "terms",
    [
        "'alive': 30.0 * healthy, 'v': 0.3 * x_velocity",
        "'up': torch.exp(-(height - 1.25).square())",
        "'effort': -action.square().sum(-1)",
    ],
)
def test_a_reward_that_is_had_for_nothing_is_told(terms):
    finding = found("hopper", PARAMETERS, f"return {{{terms}}}")["idle-reward"]
    assert finding.severity == "warn"
    assert finding.evidence["best"] <= max(0.0, 1.1 * finding.evidence["idle"]) + 1e-9


@pytest.mark.parametrize(
    "terms",
    [
        "'alive': healthy, 'v': x_velocity, 'effort': -0.5 * action.square().sum(-1)",
        "'alive': 5.0 * healthy, 'v': 1.25 * x_velocity",
        "'v': healthy * torch.exp(-(height - 1.25).square() / 0.01) * (0.3 + x_velocity.clamp(0.0, 3.0))",
    ],
)
def test_a_bonus_for_living_beside_speed_is_silent(terms):
    assert "idle-reward" not in found("hopper", PARAMETERS, f"return {{{terms}}}")


def test_costs_alone_where_an_episode_can_end_are_rejected():
    terms = "'away': -(x_velocity - 5.0).square(), 'effort': -0.01 * action.square().sum(-1)"
    finding = found("hopper", PARAMETERS, f"return {{{terms}}}")["early-ending-pays"]
    assert finding.severity == "reject"
    assert finding.evidence["living"] < finding.evidence["ending"] < 0.0


@pytest.mark.parametrize(
    ("task", "parameters", "terms"),
    [
        ("hopper", PARAMETERS, "'away': -(x_velocity - 5.0).abs(), 'fell': -2000.0 * (1.0 - healthy)"),
        ("hopper", PARAMETERS, "'v': x_velocity, 'effort': -0.01 * action.square().sum(-1)"),
        ("hopper", PARAMETERS, "'alive': 10.0 * healthy, 'away': -(x_velocity - 3.0).abs()"),
        ("cartpole", "pole_upright, cart_position", "'cost': -(1.0 - pole_upright) - cart_position.square()"),
    ],
)
def test_costs_are_silent_if_falling_costs_more_or_nothing_ends_an_episode(task, parameters, terms):
    assert "early-ending-pays" not in found(task, parameters, f"return {{{terms}}}")


@pytest.mark.parametrize(
    ("trap", "detector"),
    [("hover", "success-ends-episode-hover"), ("falling", "early-ending-pays"), ("idle", "idle-reward")],
)
def test_the_traps_of_whole_episodes_are_seen_and_their_sound_rewards_pass(trap, detector):
    naive, sound = of_trap(trap, "naive_reward"), of_trap(trap, "sound_reward")
    assert naive[detector].evidence and naive[detector].hint
    assert detector not in sound
    assert all(finding.severity == "warn" for finding in sound.values())
