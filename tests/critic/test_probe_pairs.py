"""The task's pairs of situations: reversed ones, cliffs on the way between them, and ways that end early."""

import pytest

from rewardgen.tasks.baselines import own_program
from rewardgen.tasks.loading import load_task
from tests.critic.banks import found, probed, recorded

ALIVE = "healthy, x_velocity, action"


LEGGED = ("hopper", "walker2d", "half_cheetah", "ant", "humanoid")
OTHERS = ("cartpole", "reacher", "pusher", "inverted_double_pendulum")


@pytest.mark.parametrize("task", LEGGED + OTHERS)
def test_the_human_reward_of_a_shipped_task_has_no_finding(task):
    program = own_program(load_task(task), "human_reward")
    assert program is not None and probed(recorded(task), program.source) == {}


@pytest.mark.parametrize(
    ("parameters", "body", "pair"),
    [
        ("height", "return {'up': -2.0 * height}", "standing beats sinking"),
        ("x_velocity", "return {'speed': (x_velocity + 2.0).square()*-0.1}", "forward beats backward"),
        ("height, prev_height", "return {'rise': 50.0 * (prev_height - height)}", "standing beats sinking"),
        ("x_position, prev_x_position", "return {'way': prev_x_position - x_position}", "further on beats behind"),
        ("action, x_velocity", "return {'v': 0.1 * x_velocity, 'a': action.square().sum(-1)}", "gentle beats full"),
    ],
)
def test_a_reward_that_is_the_wrong_way_round_is_rejected(parameters, body, pair):
    finding = found("hopper", parameters, body)["pair-reversed"]
    assert finding.severity == "reject" and pair in finding.message
    assert finding.evidence["wrong"] == 1.0 and finding.evidence["difference"] < 0.0
    assert finding.component and finding.line == 2


def test_a_small_term_the_wrong_way_round_is_a_warning():
    body = "return {'speed': x_velocity, 'up': -0.08 * height}"
    assert found("hopper", "x_velocity, height", body)["pair-reversed"].severity == "warn"


@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        (ALIVE, "return {'v': x_velocity, 'alive': healthy, 'effort': -0.01 * action.square().sum(-1)}"),
        ("x_velocity", "return {'v': 2.0 * torch.tanh(x_velocity)}"),
        ("height, prev_height, x_velocity", "return {'rise': 50.0 * (height - prev_height), 'v': x_velocity}"),
        ("height, prev_height, x_velocity", "return {'s': 0.99 * 4.0 * height - 4.0 * prev_height, 'v': x_velocity}"),
        ("joint_velocity, foot_clearance", "return {'calm': -joint_velocity.square().sum(-1), 'f': foot_clearance}"),
    ],
)
def test_right_order_and_indifference_are_silent(parameters, body):
    assert "pair-reversed" not in found("hopper", parameters, body)


STAGES = "far = pole_upright < 0.3\nreturn {'r': torch.where(far, 2.0 + 2.0 * pole_upright, 0.5 + pole_upright)}"


def test_a_stage_that_begins_below_the_one_before_is_a_cliff():
    finding = found("cartpole", "pole_upright", STAGES)["cliff"]
    assert (finding.severity, finding.component, finding.line) == ("warn", "r", 3)
    assert finding.evidence["before"] > finding.evidence["after"]
    assert finding.evidence["at"] == pytest.approx(0.65, abs=0.03)


@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        ("pole_upright", STAGES.replace("0.5 + pole", "3.0 + pole")),
        ("pole_upright", "return {'up': 0.1 * pole_upright, 'bonus': 5.0 * (pole_upright > 0.9).float()}"),
        ("pole_angle", "return {'near': torch.exp(-10.0 * pole_angle.abs())}"),
        ("cart_position", "return {'rail': -10.0 * (cart_position.abs() > 1.5).float() - cart_position.abs()}"),
    ],
)
def test_a_rising_stage_a_bonus_and_a_penalty_at_the_edge_are_no_cliff(parameters, body):
    assert "cliff" not in found("cartpole", parameters, body)


def test_a_bound_that_is_reached_half_way_is_saturated():
    finding = found("hopper", "x_velocity", "return {'v': x_velocity.clamp(-1.0, 1.0)}")["saturated"]
    assert finding.severity == "warn" and finding.component == "v"
    assert finding.evidence["second"] == 0.0 < finding.evidence["first"]


@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        ("x_velocity", "return {'v': x_velocity.clamp(-1.0, 4.0)}"),
        ("x_velocity", "return {'v': torch.tanh(x_velocity / 2.0)}"),
        ("x_velocity", "return {'v': torch.exp(-(x_velocity - 1.5).square())}"),
        ("x_velocity, height", "return {'v': x_velocity, 'up': height.clamp(max=0.9)}"),
    ],
)
def test_a_wide_bound_a_target_and_a_posture_that_is_good_enough_are_not_saturated(parameters, body):
    assert "saturated" not in found("hopper", parameters, body)
