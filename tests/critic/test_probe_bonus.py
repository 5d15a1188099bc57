"""Conditions that no known state meets, and rare ones that some do."""

import pytest

from tests.critic.banks import found, of_trap

PARAMETERS = "x_velocity, height, action"


@pytest.mark.parametrize(
    "term",
    [
        "10.0 * (height > 9.0).float()",
        "torch.where(height > 9.0, 10.0, 0.0)",
        "10.0 * torch.gt(height, 9.0).float() * x_velocity",
        "bonus",
    ],
)
def test_a_bonus_that_no_state_earns_is_told(term):
    body = f"high = height > 9.0\nbonus = high.float()\nreturn {{'v': x_velocity, 'bonus': {term}}}"
    findings = found("hopper", PARAMETERS, body)
    assert (findings["bonus-never-fires"].severity, findings["bonus-never-fires"].component) == ("warn", "bonus")
    assert "dead-component" not in findings


@pytest.mark.parametrize("term", ["5.0 * (x_velocity > 1.5).float()", "-5.0 * (height < 0.7).float()"])
def test_a_bonus_or_a_penalty_that_some_state_meets_is_silent(term):
    findings = found("hopper", PARAMETERS, f"return {{'v': x_velocity, 'bonus': {term}}}")
    assert not {"bonus-never-fires", "dead-component"} & set(findings)


def test_a_term_that_underflows_is_dead_but_no_bonus():
    findings = found("hopper", PARAMETERS, "return {'v': x_velocity, 'near': torch.exp(-1e4 * (height + 1.0))}")
    assert "dead-component" in findings and "bonus-never-fires" not in findings


def test_the_trap_of_the_threshold_is_seen_and_its_sound_reward_passes():
    assert of_trap("threshold", "naive_reward")["bonus-never-fires"].component == "lifted"
    assert of_trap("threshold", "sound_reward") == {}
