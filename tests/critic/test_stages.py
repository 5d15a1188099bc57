"""Stages that cannot be entered, are over at once, pay too little or pay for going back and forth are found."""

import pytest

from tests.critic.banks import probed, recorded

SOUND = """
STAGES = ("swing", "balance")


def next_stage(stage, pole_upright, *, reach: float = 0.8):
    return torch.where(pole_upright > reach, 1, stage)


def compute_reward(stage, prev_stage, pole_upright, cart_position):
    near = 2.0 - 0.1 * cart_position.square()
    return {"up": pole_upright, "stage": torch.where(stage == 1, near, 0.0), "enter": 5.0 * (stage - prev_stage)}
"""
DETECTORS = {"unreached-stage", "stage-skipped", "stage-costs", "stage-farming"}


def seen(old="", new=""):
    assert old in SOUND
    findings = probed(recorded("cartpole"), SOUND.replace(old, new))
    return {name: finding for name, finding in findings.items() if name in DETECTORS}


def test_sound_stages_have_no_finding():
    assert probed(recorded("cartpole"), SOUND) == {}


@pytest.mark.parametrize(
    ("old", "new", "detector", "message"),
    [
        ("> reach", "> 2.0", "unreached-stage", "no recorded or declared state leads to stage `balance`"),
        ("> reach", "> -2.0", "stage-skipped", "stage `swing` is over after the first step in 100 %"),
    ],
)
def test_a_threshold_beyond_the_recorded_states_is_a_warning(old, new, detector, message):
    finding = seen(old, new)[detector]
    assert finding.severity == "warn" and message in finding.message


def test_a_stage_that_pays_less_than_the_one_before_is_rejected():
    finding = seen("near, 0.0)", "-near, 0.0)")["stage-costs"]
    assert finding.severity == "reject" and "staying in `swing` pays more" in finding.message
    assert finding.evidence["share"] == 1.0


GOING_BACK = "return torch.where(pole_upright > reach, 1, torch.where(pole_upright < 0.0, 0, stage))"


def test_pay_for_entering_a_stage_again_and_again_is_rejected():
    assert seen("return torch.where(pole_upright > reach, 1, stage)", GOING_BACK) == {}  # the way back costs as much
    both = SOUND.replace("return torch.where(pole_upright > reach, 1, stage)", GOING_BACK)
    farmed = both.replace("5.0 * (stage - prev_stage)", "5.0 * (stage > prev_stage).float()")
    finding = probed(recorded("cartpole"), farmed)["stage-farming"]
    assert finding.severity == "reject" and "from stage `swing` to `balance` and back pays 5 each" in finding.message


def test_a_reward_that_fails_in_a_later_stage_is_rejected():
    failing = "torch.where(stage == 1, near, 0.0)", "torch.where(stage == 1, (near - 3.0).sqrt(), 0.0)"
    finding = probed(recorded("cartpole"), SOUND.replace(*failing))["non-finite"]
    assert finding.severity == "reject"


def test_a_reward_that_fails_only_in_states_that_one_step_does_not_lead_to_is_rejected():
    failing = "torch.where(stage == 1, near, 0.0)", "torch.where(stage == 1, near + pole_upright.sqrt(), 0.0)"
    finding = probed(recorded("cartpole"), SOUND.replace(*failing))["non-finite"]
    assert finding.severity == "reject" and finding.message.endswith("(in stage `balance`)")


SPARSE = """
STAGES = ("swing", "balance", "hold")


def next_stage(stage, pole_upright, *, reach: float = 0.8):
    later = torch.where((stage == 1) & (pole_upright < -2.0), 2, stage)
    return torch.where((stage == 0) & (pole_upright > reach), 1, later)


def compute_reward(stage, prev_stage, pole_upright):
    return {"enter": 5.0 * (stage - prev_stage), "rest": torch.where(stage == 2, pole_upright, 0.0)}
"""


def test_a_reward_that_pays_for_the_steps_between_its_stages_alone_has_a_signal():
    findings = probed(recorded("cartpole"), SPARSE)
    assert not {"no-signal", "dead-component", "dominant-component"} & set(findings)


def test_a_reward_whose_stages_are_never_left_has_none():
    assert "no-signal" in probed(recorded("cartpole"), SPARSE.replace("> reach", "> 2.0"))
