"""Conditions that no known state meets, and rare ones that some do."""

import pytest

from rewardgen.tasks.loading import load_task
from rewardgen.tasks.record_transitions import record_transitions
from tests.critic.banks import found, of_trap
from tests.tasks.files import point

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


# Flags: 1 while something holds, else 0.

FLAGS = (
    (
        '    velocity = Var("m/s", "velocity along the rail")\n',
        '    velocity = Var("m/s", "velocity along the rail")\n'
        '    touching = Var("1", "1 while the point touches the stop, else 0")\n'
        '    free = Var("1", "whether nothing holds the point")\n'
        '    dent = Var("m", "depth of the dent in the stop")\n',
    ),
    (
        '"velocity": sim.qvel[:, 0]}',
        '"velocity": sim.qvel[:, 0], **dict.fromkeys(("touching", "dent"), 0.0 * sim.qpos[:, 0]),'
        ' "free": 1.0 + 0.0 * sim.qpos[:, 0]}',
    ),
)


@pytest.fixture(scope="module")
def flagged(tmp_path_factory):
    """Transitions of a point that never touched the stop, where nothing ever held it, and that left no dent."""
    return record_transitions(load_task(point(tmp_path_factory.mktemp("flags"), *FLAGS)))


def told(bank, term):
    """What is said of a term beside two that are sound: its detectors."""
    terms = f"'near': 2.0 * torch.exp(-position.abs()), 'slow': 1.0 / (1.0 + velocity.square()), 'term': {term}"
    findings = found(bank, "position, velocity, touching, free, prev_touching, dent", f"return {{{terms}}}")
    return {name for name, finding in findings.items() if finding.component == "term" or finding.severity == "reject"}


@pytest.mark.parametrize(
    "term",
    [
        "(touching > 0.5).float()",
        "torch.where(touching >= 0.9, 1.0, 0.0) * torch.exp(-position.abs())",
        "((touching > 0.5) & (free < 0.5)).float()",
        "((touching > 0.1) & (prev_touching < 0.1)).float()",
        "0.5 * touching",
        "(free < 0.5).float()",
        "-0.1 * (free > 0.5).float()",
    ],
)
def test_a_flag_may_be_asked_for_though_it_was_never_seen_otherwise(flagged, term):
    assert told(flagged, term) == set()


@pytest.mark.parametrize(
    "term",
    [
        "(touching > 1.5).float()",
        "(free < 0.0).float()",
        "((touching > 0.5) & (position > 50.0)).float()",
        # What is no flag may have any range.
        "(dent > 0.5).float()",
    ],
)
def test_a_condition_that_no_value_of_a_flag_brings_about_is_told(flagged, term):
    assert told(flagged, term) == {"bonus-never-fires"}


def test_a_reward_that_fails_once_a_flag_is_raised_is_not_trained(flagged):
    assert told(flagged, "position / (1.0 - touching)") == {"non-finite"}
