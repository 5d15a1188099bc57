"""Planted defects in the structure of a reward, each next to its sound form."""

import pytest

from tests.critic.walker import findings, of, reward


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


@pytest.mark.parametrize(
    "value",
    ["torch.ones_like(height)", "1.0", "weight * torch.ones(height.shape[0])", "alive", "0.5 + BONUS", "alive.float()"],
)
def test_a_constant_that_pays_for_living_is_told_where_episodes_can_end(value):
    body = f"alive = torch.ones_like(height)\nreturn {{'c': {value}, 'h': height + alive}}"
    (found,) = of("constant-alive-bonus", body, "height, *, weight: float = 1.0", "BONUS = 2.0\n")
    assert found.component == "c" and found.evidence["value"] > 0.0


def test_a_constant_that_pays_for_nothing_is_told():
    assert of("data-independent-component", "return {'c': -1.0, 'h': height}", "height")
    source = reward("return {'c': torch.ones_like(height), 'h': height}", "height")
    detectors = [each.detector for each in findings(source, termination_causes=())]
    assert detectors == ["data-independent-component"]


@pytest.mark.parametrize(
    "value",
    [
        "(height > 1.0).float()",
        "torch.where(height > 1.0, torch.ones_like(height), torch.zeros_like(height))",
        "torch.full_like(height, 1.0) * height",
        "helper(height)",
        "bonus",
        "filled",
        "sum([height])",
        "total",
    ],
)
def test_a_component_that_a_state_changes_is_not_constant(value):
    body = (
        "bonus = torch.zeros_like(height)\nbonus[height > 1.0] = 1.0\n"
        "filled = torch.zeros_like(height)\nfilled.masked_fill_(height > 1.0, 1.0)\n"
        "total = 0.0\nfor x in [height]:\n    total = total + x\n"
        f"return {{'c': {value}}}"
    )
    told = of("constant-alive-bonus", body, "height", "def helper(x):\n    return x\n\n")
    assert not told + of("data-independent-component", body, "height", "def helper(x):\n    return x\n\n")


TOTAL = "speed = x_velocity\neffort = action.square().sum(-1)\n"


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        ("speed - 0.1 * effort, {'speed': speed, 'effort': -effort}", "`effort` counts -0.1 times in the total"),
        ("speed - 0.1 * effort, {'speed': speed}", "`effort` counts -0.1 times in the total and 0 times"),
        ("speed - 0.1 * effort + 1.0, {'speed': speed, 'effort': -0.1 * effort}", "a constant"),
        ("torch.tanh(speed - effort), {'speed': speed, 'effort': -effort}", "an expression"),
    ],
)
def test_a_total_that_is_not_the_sum_of_its_parts_is_told_with_the_weights(returned, told):
    (found,) = of("unlisted-term", f"{TOTAL}return {returned}", "x_velocity, action")
    assert told in found.message


@pytest.mark.parametrize(
    "returned",
    [
        "speed - 0.1 * effort, {'speed': speed, 'effort': -0.1 * effort}",
        "sum(parts.values()), parts",
        "torch.stack(list(parts.values())).sum(0), parts",
        "parts['speed'] + parts['effort'], {name: value for name, value in parts.items()}",
    ],
)
def test_a_total_that_is_the_sum_of_its_parts_is_not_told(returned):
    body = f"{TOTAL}parts = {{'speed': speed, 'effort': -0.1 * effort}}\nreturn {returned}"
    assert not of("unlisted-term", body, "x_velocity, action")


def test_a_term_that_is_overwritten_before_it_is_used_is_told():
    body = "posture = upright\nposture = height\nreturn {'posture': posture}".replace("= upright", "= -pitch.abs()")
    assert of("forgotten-term", body)
    assert not of("forgotten-term", body.replace("= height", "= posture + height"))


def test_a_difference_of_a_value_with_itself_is_constant():
    value = "torch.exp(-(action[:, 0] - action[:, {}]).abs())"
    assert of("constant-alive-bonus", f"return {{'c': {value.format(0)}}}")
    assert not of("constant-alive-bonus", f"return {{'c': {value.format(1)}}}")


def test_a_total_among_the_components_is_told():
    parts = "a = x_velocity\nb = -pitch.abs()\n"
    assert of("total-among-components", f"{parts}return {{'a': a, 'b': b, 'total': a + b}}")
    assert not of("total-among-components", f"{parts}return {{'a': a, 'b': b, 'c': a * b}}")


def test_a_quantity_that_counts_twice_or_against_itself_is_told():
    assert of("double-counted", "return {'a': x_velocity, 'b': 0.5 * x_velocity}", "x_velocity")
    assert of("contradictory-terms", "return {'a': x_velocity, 'b': -0.5 * x_velocity}", "x_velocity")
    assert not of("double-counted", "return {'a': x_velocity, 'b': x_velocity.tanh()}", "x_velocity")


def test_an_input_that_gets_a_new_value_by_augmented_assignment_is_told():
    (found,) = of("augmented-input", "action *= 2.0\nreturn {'c': -action.square().sum(-1)}")
    assert (found.line, found.severity) == (2, "warn")
    assert not of("augmented-input", "action = action.clone()\naction *= 2.0\nreturn {'c': -action.square().sum(-1)}")
    assert not of("augmented-input", "c = -action.square().sum(-1)\nc *= 2.0\nreturn {'c': c}")
