"""Planted defects in the text of a reward, each next to its sound form."""

import pytest

from tests.critic.walker import LEG, findings, of, reward


def test_an_input_that_is_never_read_is_told_by_name_and_line():
    (found,) = findings("\ndef compute_reward(height, pitch):\n    return {'h': height}\n")
    assert (found.gate, found.detector, found.severity, found.line) == ("static", "unused-input", "warn", 2)
    assert "`pitch`" in found.message


def test_a_tunable_that_is_never_read_is_told():
    assert of("unused-tunable", "return {'h': height}", "height, *, weight: float = 1.0")
    assert not of("unused-tunable", "return {'h': weight * height}", "height, *, weight: float = 1.0")


def test_a_helper_that_is_never_called_is_told():
    helper = "def bell(x):\n    return torch.exp(-x * x)\n\n"
    assert of("unused-helper", "return {'h': height}", "height", helper)
    assert not of("unused-helper", "return {'h': bell(height)}", "height", helper)


@pytest.mark.parametrize(
    "body",
    [
        "speed = x_velocity.clamp(-1.0, 4.0)\neffort = -0.1 * action.square().sum(-1)\nreturn {'speed': speed}",
        "effort = action.square().sum(-1)\ncost = -0.1 * effort\nreturn {'speed': x_velocity}",
    ],
)
def test_a_term_that_is_computed_and_not_returned_is_told_by_its_last_name(body):
    (found,) = of("forgotten-term", body, "x_velocity, action")
    assert ("`effort`" in found.message) == ("cost" not in body)


@pytest.mark.parametrize(
    "body",
    [
        "effort = action.square().sum(-1)\nreturn {'speed': x_velocity, 'effort': -0.1 * effort}",
        "total = x_velocity\ntotal = total - 0.1 * action.abs().sum(-1)\nreturn {'total': total}",
        "parts = {}\nspeed = x_velocity\nparts['speed'] = speed\nparts['a'] = -action.abs().sum(-1)\nreturn parts",
        "parts = []\nspeed = x_velocity\nparts.append(speed)\nreturn {'sum': sum(parts) - action.abs().sum(-1)}",
        "thigh, leg, foot = action.unbind(-1)\nreturn {'speed': x_velocity - 0.1 * thigh.abs()}",
        "speed = x_velocity\nspeed[speed > 1.0] = 1.0\nreturn {'speed': speed - action.abs().sum(-1)}",
    ],
)
def test_a_term_that_reaches_a_component_on_any_way_is_not_forgotten(body):
    assert not of("forgotten-term", body, "x_velocity, action")


def test_a_term_that_is_overwritten_before_it_is_used_is_told():
    body = "posture = upright\nposture = height\nreturn {'posture': posture}".replace("= upright", "= -pitch.abs()")
    assert of("forgotten-term", body)
    assert not of("forgotten-term", body.replace("= height", "= posture + height"))


def test_an_input_that_gets_a_new_value_by_augmented_assignment_is_told():
    (found,) = of("augmented-input", "action *= 2.0\nreturn {'c': -action.square().sum(-1)}")
    assert (found.line, found.severity) == (2, "warn")
    assert not of("augmented-input", "action = action.clone()\naction *= 2.0\nreturn {'c': -action.square().sum(-1)}")
    assert not of("augmented-input", "c = -action.square().sum(-1)\nc *= 2.0\nreturn {'c': c}")


def test_the_device_of_an_input_is_no_term_of_the_reward():
    body = "device = x_velocity.device\nworlds = x_velocity.shape[0]\nreturn {'speed': x_velocity}"
    assert not of("forgotten-term", body)


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(3):\n    total = x_velocity * i\n    if i > 1:\n        break\n    total = total + pitch",
        "if height.shape[0] > 3:\n    total = x_velocity\nelse:\n    total = pitch",
        "total = x_velocity\nif height.shape[0] > 3:\n    total = pitch",
    ],
)
def test_a_term_that_may_be_read_on_some_way_is_not_forgotten(body):
    assert not of("forgotten-term", f"{body}\nreturn {{'total': total}}")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("-(action * joint_velocity).abs().sum(-1)", True),
        ("-(action * joint_velocity.abs()).sum(-1)", True),
        ("-(torch.abs(action) - -joint_velocity).sum(-1)", True),
        ("-(action[:, [2, 1, 0]] * joint_velocity).sum(-1)", False),
        ("-(0.1 * action).sum(-1) + joint_velocity.sum(-1)", False),
    ],
)
def test_vectors_that_list_the_same_parts_in_different_orders_are_told(value, told):
    source = reward(f"return {{'c': {value}}}", "x_velocity, action, joint_velocity")
    found = {each.detector: each for each in findings(source, action_parts=LEG[::-1])}
    assert ("misordered-parts" in found) == told
    assert not told or "foot, leg, thigh" in found["misordered-parts"].message
    for parts in (LEG, ("a", "b", "c")):
        assert "misordered-parts" not in {each.detector for each in findings(source, action_parts=parts)}


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
