"""Planted defects in batches, shapes and indices, each next to its sound form."""

import pytest

from tests.critic.walker import LEG, findings, of, reward, severities

PARAMETERS = "x_velocity, height, pitch, action, joint_position, joint_velocity, foot_height"


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
def test_a_value_that_mixes_worlds_is_rejected(value):
    assert severities("mixes-worlds", f"return {{'c': {value}}}", PARAMETERS) == ["reject"]


@pytest.mark.parametrize(
    "value",
    [
        "action.square().sum(-1)",
        "torch.norm(joint_velocity, dim=1)",
        "torch.norm(joint_velocity, 2, -1)",
        "torch.stack([height, pitch]).sum(0)",
        "torch.stack([height, pitch], dim=-1).amax(-1)",
        "action[:, 0] + joint_velocity[..., 1]",
        "torch.max(height, pitch)",
        "joint_velocity.max(dim=-1).values",
        "height * len(action[0])",
        "sum([action[:, i] for i in range(3)])",
        "torch.nn.functional.mse_loss(height, x_velocity, reduction='none')",
    ],
)
def test_a_value_per_world_is_not_told(value):
    assert not of("mixes-worlds", f"return {{'c': {value}}}", PARAMETERS)


def test_a_mean_that_is_only_printed_is_not_told():
    assert not of("mixes-worlds", "print(height.mean())\nreturn {'c': height}", "height")


@pytest.mark.parametrize(
    ("detector", "body"),
    [
        ("chained-comparison", "return {'c': (0.8 < height < 2.0).float()}"),
        ("tensor-branch", "return {'c': height if height > 1.0 else -height}"),
        ("tensor-branch", "if pitch > 0.2:\n    return {'c': -pitch}\nreturn {'c': height}"),
        ("tensor-branch", "return {'c': ((height > 1.0) and (pitch < 0.2)) * 1.0}"),
        ("tensor-branch", "return {'c': (not (height > 1.0)) * 1.0}"),
        ("tensor-branch", "return {'c': max(height, 0.0)}"),
        ("tensor-branch", "return {'c': float(height)}"),
    ],
)
def test_one_yes_or_no_for_a_whole_batch_is_rejected(detector, body):
    assert severities(detector, body, PARAMETERS) == ["reject"]


@pytest.mark.parametrize(
    "body",
    [
        "return {'c': ((0.8 < height) & (height < 2.0)).float()}",
        "return {'c': torch.where(height > 1.0, height, -height)}",
        "return {'c': height if weight > 0.0 else -height}",
        "if height.ndim == 1 and action.shape[-1] == 3:\n    return {'c': height}\nreturn {'c': pitch}",
        "return {'c': height / max(weight, 1e-6)}",
        "for i, name in enumerate(['a', 'b']):\n    if name == 'a':\n        c = height\nreturn {'c': c}",
    ],
)
def test_a_branch_on_what_is_the_same_for_all_worlds_is_not_told(body):
    parameters = f"{PARAMETERS}, *, weight: float = 1.0"
    assert not of("tensor-branch", body, parameters) + of("chained-comparison", body, parameters)


@pytest.mark.parametrize(
    ("detector", "value"),
    [
        ("component-shape", "height[:, None]"),
        ("component-shape", "action.norm(dim=-1, keepdim=True)"),
        ("component-shape", "joint_velocity.square()"),
        ("component-shape", "height.unsqueeze(-1)"),
        ("shape-mismatch", "height * action.norm(dim=-1, keepdim=True)"),
        ("shape-mismatch", "(height * action).sum(-1)"),
        ("shape-mismatch", "(joint_velocity * foot_height).sum(-1)"),
    ],
)
def test_a_shape_that_does_not_fit_is_rejected(detector, value):
    assert severities(detector, f"return {{'c': {value}}}", PARAMETERS) == ["reject"]


@pytest.mark.parametrize(
    "value",
    [
        "(height[:, None] * action).sum(-1)",
        "action.norm(dim=-1, keepdim=True).squeeze(-1)",
        "(action * torch.tensor([1.0, 2.0, 3.0])).sum(-1)",
        "action.norm(dim=-1, keepdim=True)[:, 0]",
        "1.0",
        "(joint_velocity * action).sum(-1)",
    ],
)
def test_a_shape_that_fits_is_not_told(value):
    body = f"return {{'c': {value}}}"
    assert not of("component-shape", body, PARAMETERS) + of("shape-mismatch", body, PARAMETERS)


@pytest.mark.parametrize("place", ["joint_velocity[:, 3]", "action[:, -4]", "foot_height[..., 2]", "height[:, 0]"])
def test_an_index_outside_the_parts_is_rejected_with_the_parts(place):
    (found,) = of("index-out-of-range", f"return {{'c': {place}}}", PARAMETERS)
    assert found.severity == "reject"
    assert ("0 thigh, 1 leg, 2 foot" in found.hint) == (place.startswith(("joint", "action")))


def test_an_index_within_the_parts_is_not_told():
    assert not of("index-out-of-range", "return {'c': joint_velocity[:, 2] + action[..., -3]}", PARAMETERS)


def test_a_slice_beyond_the_parts_is_told():
    assert of("empty-slice", "return {'c': joint_velocity[:, 3:6].sum(-1) + height}", PARAMETERS)
    assert not of("empty-slice", "return {'c': joint_velocity[:, 1:3].sum(-1)}", PARAMETERS)


def test_parts_that_are_read_by_number_only_are_told_once_with_their_names():
    body = "return {'c': joint_position[:, 0] + 2.0 * joint_position[:, 1] - joint_velocity[:, 2]}"
    (found,) = of("magic-index", body, PARAMETERS)
    assert "`joint_position[:, 1]` is leg" in found.message


@pytest.mark.parametrize(
    "body",
    [
        "thigh = J[:, 0]\nleg = J[:, 1]\nfoot = J[:, 2]\nreturn {'c': thigh + leg - foot}",
        "# thigh, leg and foot\na = J[:, 0] + J[:, 1] + J[:, 2]\nreturn {'c': a}",
        "return {'c': sum(joint_position[:, i] for i in range(3))}",
        "THIGH, LEG, FOOT = 0, 1, 2\na = joint_position\nreturn {'c': a[:, THIGH] + a[:, LEG] + a[:, FOOT]}",
        "return {'c': joint_position[:, 1]}",
    ],
)
def test_parts_that_are_named_on_any_way_are_not_told(body):
    assert not of("magic-index", body.replace("J[", "joint_position["), PARAMETERS)


def test_a_part_under_the_name_of_another_is_told():
    assert of("misnamed-part", "left_foot = foot_height[:, 0]\nreturn {'c': left_foot}", PARAMETERS)
    assert of("misnamed-part", "foot_angle = joint_position[:, 1]\nreturn {'c': foot_angle}", PARAMETERS)
    assert not of("misnamed-part", "left_foot = foot_height[:, 1]\nreturn {'c': left_foot}", PARAMETERS)
    assert not of("misnamed-part", "knee = joint_position[:, 1]\nreturn {'c': knee}", PARAMETERS)


def test_vectors_that_list_the_same_parts_in_different_orders_are_told():
    source = reward("return {'c': -(action * joint_velocity.abs()).sum(-1)}", PARAMETERS)
    told = {each.detector: each for each in findings(source, action_parts=LEG[::-1])}
    assert "foot, leg, thigh" in told["misordered-parts"].message
    assert "misordered-parts" not in {each.detector for each in findings(source, action_parts=LEG)}
    assert "misordered-parts" not in {each.detector for each in findings(source, action_parts=("a", "b", "c"))}


def test_a_slice_by_name_is_read_as_one():
    empty = "return {'c': -joint_velocity[:, slice(3, 6)].square().sum(-1)}"
    assert of("empty-slice", empty, PARAMETERS)
    assert not of("empty-slice", empty.replace("slice(3, 6)", "slice(1, 3)"), PARAMETERS)
    assert of("empty-slice", empty.replace("slice(3, 6)", "LEG"), PARAMETERS, before="LEG = slice(3, 6)\n")


@pytest.mark.parametrize("given", ["action", "x=action"])
def test_tolerance_of_a_vector_is_a_vector_however_it_is_given(given):
    assert severities("component-shape", f"return {{'c': tolerance({given}, lower=0.5, margin=1.0)}}") == ["reject"]
