"""Planted defects that only a run shows, each next to its sound form; the task of these states declares nothing."""

import pytest

from tests.critic.walker import run

PARAMETERS = (
    "x_velocity, height, prev_height, pitch, heading, prev_heading, roll, upright, healthy, gap, prev_gap, action,"
    " joint_velocity, orientation, prev_orientation, foot_height, position, target"
)
BEFORE = "def grow(x, width=0.1):\n    return torch.exp(x / width)\n\n"


def told(value):
    """What is said of a component, beside one that varies."""
    return run(f"return {{'c': {value}, 'v': 0.01 * x_velocity}}", PARAMETERS, BEFORE)


def rejected(value):
    return [each.detector for each in told(value).values() if each.severity == "reject"]


@pytest.mark.parametrize(
    "value",
    [
        "height - height.mean()",
        "action.square().sum()",
        "torch.norm(joint_velocity)",
        "x_velocity / (x_velocity.abs().max() + 1.0)",
        "height.sum(-1) + pitch",
        "torch.softmax(height, dim=0)",
        "height * action[0].sum()",
        "height - height.amax(dim=0)",
        "torch.nn.functional.mse_loss(height, x_velocity) + pitch",
    ],
)
def test_a_value_that_mixes_envs_is_rejected(value):
    assert rejected(value) == ["batch-dependent"]


@pytest.mark.parametrize(
    ("value", "detector"),
    [
        ("(0.8 < height < 2.0).float()", "probe-exception"),
        ("height if height > 1.0 else -height", "probe-exception"),
        ("((height > 1.0) and (pitch < 0.2)) * 1.0", "probe-exception"),
        ("(not (height > 1.0)) * 1.0", "probe-exception"),
        ("max(height, 0.0)", "probe-exception"),
        ("float(height)", "probe-exception"),
        ("height[:, None]", "probe-shape"),
        ("action.norm(dim=-1, keepdim=True)", "probe-shape"),
        ("joint_velocity.square()", "probe-shape"),
        ("tolerance(action, lower=0.5, upper=0.6, margin=1.0)", "probe-shape"),
        ("(height * action).sum(-1)", "probe-exception"),
        ("(joint_velocity * foot_height).sum(-1)", "probe-exception"),
        ("joint_velocity[:, 3]", "probe-exception"),
        ("action[:, -4]", "probe-exception"),
        ("foot_height[..., 2]", "probe-exception"),
        ("height[:, 0]", "probe-exception"),
    ],
)
def test_a_branch_a_shape_or_an_index_that_torch_refuses_is_rejected(value, detector):
    found = told(value)
    assert list(found) == [detector] and found[detector].severity == "reject"
    assert found[detector].hint


@pytest.mark.parametrize(
    "value",
    [
        "action.square().sum(-1)",
        "torch.stack([height, pitch]).sum(0)",
        "joint_velocity.max(dim=-1).values",
        "sum([action[:, i] for i in range(3)])",
        "torch.nn.functional.mse_loss(height, x_velocity, reduction='none')",
        "((0.8 < height) & (height < 1.2)).float()",
        "torch.where(height > 1.2, height, -height)",
        "(height[:, None] * action).sum(-1)",
        "(joint_velocity * action).sum(-1)",
        "joint_velocity[:, 2] + action[..., -3]",
        "1.0 / (1.0 + torch.exp(x_velocity.abs().clamp(max=10.0)))",
        "torch.acos(upright.clamp(-1.0, 1.0))",
        "torch.log(gap + 1e-6)",
        "torch.sqrt((1.0 - upright ** 2).clamp(min=0.0))",
        "x_velocity / (pitch.abs() + 1e-3)",
    ],
)
def test_a_value_per_env_that_is_finite_everywhere_is_not_rejected(value):
    assert rejected(value) == []


@pytest.mark.parametrize(
    "value",
    ["torch.log(gap)", "torch.log(x_velocity)", "torch.sqrt(x_velocity)", "x_velocity ** 0.5", "torch.asin(x_velocity)",
     "torch.acos((position * target).sum(-1))", "torch.sqrt(-1.0 - pitch ** 2)", "x_velocity / (height - prev_height)",
     "x_velocity / position.norm(dim=-1)", "x_velocity / pitch", "grow(joint_velocity.norm(dim=-1))"],
)  # fmt: skip
def test_a_value_that_is_not_finite_at_zero_at_rest_or_far_out_is_rejected(value):
    assert rejected(value) == ["non-finite"]


@pytest.mark.parametrize("value", ["torch.acos(upright)", "torch.sqrt(1.0 - upright ** 2)"])
def test_a_cosine_that_leaves_its_range_by_rounding_is_a_warning(value):
    found = told(value)["unguarded-domain"]
    assert found.severity == "warn" and "rounding takes `upright` beyond 1" in found.message and found.component == "c"
    assert "unguarded-domain" not in told(value.replace("upright", "upright.clamp(-0.99, 0.99)"))


@pytest.mark.parametrize(
    ("value", "detector"),
    [
        ("torch.exp(x_velocity.abs())", "overflow"),
        ("(height == 1.25).float()", "bonus-never-fires"),
        ("(upright > 1.2).float()", "bonus-never-fires"),
        ("(height > 12.0).float()", "bonus-never-fires"),
        ("(pitch.abs() < 15.0).float()", "constant-component"),
        ("height.clamp(3.0, 4.0)", "constant-component"),
        ("torch.ones_like(height)", "constant-component"),
        ("joint_velocity[:, 3:6].sum(-1)", "dead-component"),
        ("-0.02 * x_velocity", "contradictory-components"),
        ("0.02 * x_velocity", "redundant-components"),
    ],
)
def test_a_bound_or_a_threshold_that_makes_a_component_useless_is_told(value, detector):
    assert told(value)[detector].severity == "warn"


def test_a_component_that_is_the_sum_of_the_others_is_told():
    parts = "a = x_velocity\nb = -pitch.abs()\n"
    (found,) = run(f"{parts}return {{'a': a, 'b': b, 'total': a + b}}").values()
    assert (found.detector, found.component) == ("total-among-components", "total")
    assert "total-among-components" not in run(f"{parts}return {{'a': a, 'b': b, 'c': a * b}}")
    tiny = "return {'a': 1e-7 * x_velocity, 'b': 1e-7 * pitch, 'c': 1e-7 * action.sum(-1)}"
    assert "total-among-components" not in run(tiny)


# What the wording implies of a task that declares nothing.


@pytest.mark.parametrize(
    "value",
    ["0.1 * action.square().sum(-1)", "gap", "torch.tanh(2.0 * action.norm(dim=-1))", "-upright", "1.0 - upright",
     "(healthy == 0).float()", "torch.exp(-5.0 * upright)"],
)  # fmt: skip
def test_a_cost_that_is_paid_and_a_good_that_costs_are_told(value):
    found = told(value)["pair-reversed"]
    assert (found.severity, found.component) == ("warn", "c")


@pytest.mark.parametrize(
    "value",
    ["-0.1 * action.square().sum(-1)", "torch.exp(-gap / 0.3)", "1.0 / (1.0 + gap)", "(gap < 0.2).float()",
     "prev_gap - gap", "upright", "healthy", "-(height - 1.2).abs()"],
)  # fmt: skip
def test_a_cost_that_is_charged_and_a_good_that_is_paid_are_not_told(value):
    assert "pair-reversed" not in told(value)


@pytest.mark.parametrize(
    "value",
    [
        "-(orientation - prev_orientation).norm(dim=-1)",
        "(orientation * prev_orientation).sum(-1)",
        "-(heading - prev_heading).abs()",
        "-(heading - 2.0) ** 2",
        "-roll.abs()",
        "torch.exp(-(roll ** 2))",
    ],
)
def test_a_quaternion_with_its_sign_and_an_angle_that_jumps_are_told(value):
    found = told(value)["not-invariant"]
    assert (found.severity, found.component) == ("warn", "c") and ("cos" in found.hint or "abs" in found.hint)


@pytest.mark.parametrize(
    "value",
    [
        "(orientation * prev_orientation).sum(-1).abs()",
        "torch.cos(heading - prev_heading)",
        "-torch.atan2(torch.sin(heading - 2.0), torch.cos(heading - 2.0)).abs()",
        "-heading.abs()",
        "torch.cos(roll)",
        "-(pitch - 0.6).abs()",
    ],
)
def test_a_quaternion_without_its_sign_and_an_angle_that_is_wrapped_or_small_are_not_told(value):
    assert "not-invariant" not in told(value)
