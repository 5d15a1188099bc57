"""Planted defects of meaning, each next to its sound form."""

import pytest

from tests.critic.walker import of

PARAMETERS = (
    "x_velocity, height, prev_height, pitch, heading, prev_heading, roll, upright, healthy, gap, prev_gap, action,"
    " prev_action, joint_velocity, orientation, prev_orientation, foot_height, prev_foot_height"
)


@pytest.mark.parametrize(
    "value",
    [
        "0.1 * action.square().sum(-1)",
        "(action - prev_action).norm(dim=-1)",
        "gap",
        "(height - 1.25).abs()",
        "torch.tanh(2.0 * action.norm(dim=-1))",
        "torch.sum(torch.abs(action * joint_velocity), dim=-1)",
    ],
)
def test_a_cost_that_is_added_is_told(value):
    (found,) = of("rewards-cost", f"return {{'c': {value}}}", PARAMETERS)
    assert found.component == "c"


def test_a_penalty_that_is_never_negative_is_told_by_its_name():
    assert of("rewards-cost", "return {'spin_penalty': joint_velocity.square().sum(-1)}", PARAMETERS)
    assert not of("rewards-cost", "return {'spin_penalty': -joint_velocity.square().sum(-1)}", PARAMETERS)
    assert not of("rewards-cost", "return {'spin_cost': torch.exp(-joint_velocity.abs().sum(-1))}", PARAMETERS)


@pytest.mark.parametrize(
    "value",
    [
        "-0.1 * action.square().sum(-1)",
        "torch.exp(-gap / 0.3)",
        "1.0 - torch.tanh(gap)",
        "1.0 / (1.0 + gap)",
        "-(height - 1.25).abs()",
        "(gap < 0.2).float()",
        "prev_gap - gap",
        "((upright + 1.0) / 2.0) ** 2",
        "1.0 - 0.1 * action.abs().sum(-1)",
        "foot_height.amax(-1)",
    ],
)
def test_a_cost_that_is_charged_is_not_told(value):
    assert not of("rewards-cost", f"return {{'c': {value}}}", PARAMETERS)


@pytest.mark.parametrize(
    "value",
    ["-upright", "1.0 - upright", "-0.5 * x_velocity", "torch.exp(-x_velocity)", "-healthy", "(healthy == 0).float()"],
)
def test_a_term_that_falls_with_what_is_wanted_is_told(value):
    assert of("penalises-goal", f"return {{'c': {value}}}", PARAMETERS)


@pytest.mark.parametrize(
    "value",
    ["upright", "-(1.0 - upright)", "x_velocity", "-(x_velocity - 4.0).clamp(min=0.0)", "-(x_velocity - 2.0) ** 2"],
)
def test_a_term_that_grows_with_what_is_wanted_is_not_told(value):
    assert not of("penalises-goal", f"return {{'c': {value}}}", PARAMETERS)


@pytest.mark.parametrize(
    "value",
    [
        "(height - prev_height).abs()",
        "10.0 * torch.relu(prev_gap - gap)",
        "(prev_gap - gap).clamp(min=0.0)",
        "(height - prev_height).square()",
    ],
)
def test_a_term_that_pays_for_pacing_is_told(value):
    (found,) = of("pacing-pays", f"return {{'c': {value}}}", PARAMETERS)
    assert "to and fro" in found.message


@pytest.mark.parametrize(
    "value",
    [
        "10.0 * (prev_gap - gap)",
        "(prev_gap - gap).clamp(-1.0, 1.0)",
        "-(height - prev_height).abs()",
        "(foot_height - prev_foot_height).abs().sum(-1)",
        "-(action - prev_action).square().sum(-1)",
    ],
)
def test_a_difference_that_sums_to_zero_over_a_loop_is_not_told(value):
    assert not of("pacing-pays", f"return {{'c': {value}}}", PARAMETERS)


@pytest.mark.parametrize(
    "value",
    [
        "-(orientation - prev_orientation).norm(dim=-1)",
        "(orientation * prev_orientation).sum(-1)",
        "-torch.acos((orientation * prev_orientation).sum(-1).clamp(-1.0, 1.0))",
    ],
)
def test_a_comparison_of_quaternions_that_minds_their_sign_is_told(value):
    assert of("quaternion-sign", f"return {{'c': {value}}}", PARAMETERS)


@pytest.mark.parametrize(
    "value",
    [
        "(orientation * prev_orientation).sum(-1).abs()",
        "(orientation * prev_orientation).sum(-1) ** 2",
        "torch.minimum((orientation - prev_orientation).norm(dim=-1), (orientation + prev_orientation).norm(dim=-1))",
        "1.0 - 2.0 * (orientation[:, 1] ** 2 + orientation[:, 2] ** 2)",
    ],
)
def test_a_comparison_of_quaternions_that_does_not_mind_is_not_told(value):
    assert not of("quaternion-sign", f"return {{'c': {value}}}", PARAMETERS)


@pytest.mark.parametrize(
    "value", ["-(heading - prev_heading).abs()", "-(heading - 2.0) ** 2", "-roll.abs()", "torch.exp(-(roll ** 2))"]
)
def test_an_angle_that_jumps_is_told(value):
    assert of("unwrapped-angle", f"return {{'c': {value}}}", PARAMETERS)


@pytest.mark.parametrize(
    "value",
    [
        "torch.cos(heading - prev_heading)",
        "-torch.atan2(torch.sin(heading - 2.0), torch.cos(heading - 2.0)).abs()",
        "-(torch.remainder(heading - 2.0 + math.pi, 2.0 * math.pi) - math.pi).abs()",
        "-heading.abs()",
        "torch.cos(roll)",
        "-(pitch - 0.6).abs()",
    ],
)
def test_an_angle_that_is_wrapped_or_stays_small_is_not_told(value):
    assert not of("unwrapped-angle", f"return {{'c': {value}}}", PARAMETERS)


@pytest.mark.parametrize("name", ["success", "success_bonus", "fitness", "gt_reward", "task_score"])
def test_a_component_with_the_name_of_the_measure_is_told(name):
    assert of("rederives-success", f"return {{'{name}': x_velocity}}", PARAMETERS)


@pytest.mark.parametrize(
    "value",
    [
        "5.0 * (x_velocity >= 1.5).float()",
        "torch.where(x_velocity > 1.5, 1.0, 0.0)",
        "((x_velocity > 1.5) & (upright > 0.94)).float()",
    ],
)
def test_a_component_that_only_repeats_the_test_of_success_is_told(value):
    (found,) = of("rederives-success", f"return {{'moving': {value}}}", PARAMETERS)
    assert found.component == "moving"


@pytest.mark.parametrize(
    "components",
    ["'c': x_velocity", "'c': (x_velocity > 0.3).float()", "'c': x_velocity, 'bonus': (x_velocity > 1.5).float()"],
)
def test_a_dense_term_or_another_threshold_is_not_told(components):
    assert not of("rederives-success", f"return {{{components}}}", PARAMETERS)


TIPPING = "x_velocity, pitch, *, tip_weight: float = -0.02, level_weight: float = 2.0"


@pytest.mark.parametrize(
    "value", ["-tip_weight * pitch ** 2", "-(tip_weight * pitch ** 2)", "1.0 - pitch * tip_weight"]
)
def test_a_negative_weight_behind_a_minus_sign_is_told(value):
    (found,) = of("double-negative", f"return {{'c': {value}}}", TIPPING)
    assert "`tip_weight`, which is -0.02" in found.message
    assert of("double-negative", f"return {{'c': {value}}}", "pitch", before="tip_weight = -0.02\n")


@pytest.mark.parametrize(
    "value", ["tip_weight * pitch ** 2", "-level_weight * pitch ** 2", "(pitch - tip_weight).abs()", "-pitch.abs()"]
)
def test_one_minus_sign_is_not_told(value):
    assert not of("double-negative", f"return {{'c': {value}}}", TIPPING)
