"""What a traced run shows inside a reward, and the detectors that look there."""

import pytest
import torch

from rewardgen.critic.probe import trace as tracing
from rewardgen.critic.probe.trace import ancestors, trace
from rewardgen.reward.program import RewardError, compile_reward
from tests.critic.walker import STATES, reward, run

PARAMETERS = "x_velocity, height, pitch, joint_velocity, action, *, width: float = 0.5"


def traced(body, before=""):
    program = compile_reward(reward(body, PARAMETERS, before))
    inputs = {name: STATES.inputs[name][:8] for name in program.inputs}
    return trace(lambda given: program(given), inputs), inputs


def test_every_operation_is_noted_with_its_operands_values_and_line():
    steps, inputs = traced("a = 2.0 * height\nb = 1.0 - a\nreturn {'c': (b / width).abs()}")
    made = steps[len(inputs) :]
    assert [(each.op, each.line) for each in made] == [("mul", 2), ("sub", 3), ("div", 4), ("abs", 4)]
    height = next(each for each in steps if each.name == "height")
    assert made[0].operands == (height, 2.0) and made[1].operands == (1.0, made[0])
    assert torch.equal(made[2].value, (1.0 - 2.0 * inputs["height"]) / 0.5)


def test_helpers_loops_containers_and_changes_in_place_are_followed():
    before = "def bell(x, w):\n    return torch.exp(-(x / w) ** 2)\n\n"
    body = (
        "terms = {'a': bell(height, width)}\nfor i in range(3):\n    terms[f'j{i}'] = joint_velocity[:, i]\n"
        "bonus = torch.zeros_like(height)\nbonus[height > 1.2] = 1.0\n"
        "best = torch.stack(list(terms.values())).max(dim=0).values\nreturn {'best': best * bonus}"
    )
    steps, _ = traced(body, before)
    (product,) = [each for each in steps if each.op == "mul"]
    reached = {each.op for each in ancestors([product])}
    assert {"exp", "getitem", "stack", "max", "setitem", "gt", "input"} <= reached


def test_what_happens_within_tolerance_is_one_kind_of_step():
    steps, inputs = traced("return {'c': tolerance(height, lower=1.2, upper=1.5, margin=width)}")
    assert {each.op for each in steps[len(inputs) :]} == {"tolerance"}


def test_a_trace_ends_after_so_many_steps_and_a_reward_that_fails_says_so(monkeypatch):
    monkeypatch.setattr(tracing, "_MOST_STEPS", 20)
    steps, _ = traced("x = height\nfor i in range(100):\n    x = x + 0.1\nreturn {'c': x}")
    assert len(steps) == 20
    with pytest.raises(RewardError):
        traced("return {'c': torch.log(height - height)}")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("torch.exp(-torch.exp(-height))", True),
        ("2.0 ** torch.exp(-height)", True),
        ("torch.exp(2.0 * grow(height) + x_velocity)", True),
        ("torch.exp(-height) * torch.exp(-x_velocity)", False),
        ("torch.exp(-torch.tanh(torch.exp(-height)))", False),
        ("torch.exp(-height / (1.0 + torch.exp(-x_velocity)))", False),
        ("torch.exp(-tolerance(height, lower=1.2, upper=1.5, margin=0.5))", False),
        ("torch.exp(torch.where(torch.exp(-height) > 0.5, height, pitch))", False),
    ],
)
def test_an_exponential_of_an_exponential_is_told(value, told):
    before = "def grow(x):\n    return torch.exp(-x)\n\n"
    assert ("nested-exponential" in run(f"return {{'c': {value}}}", PARAMETERS, before)) == told


@pytest.mark.parametrize(
    ("kernel", "told"),
    [
        ("(height - 1.7) ** 2 / 0.0005", True),
        ("joint_velocity.square().sum(-1) / 0.01", True),
        ("(x_velocity - 2.5).abs() / 0.01", True),
        ("(height - 1.2) ** 2 / 0.01", False),
        ("(x_velocity - 2.0) ** 2 / 0.5", False),
        ("joint_velocity.square().sum(-1) / 50.0", False),
    ],
)
def test_a_temperature_far_below_what_it_divides_is_told_with_the_exponent(kernel, told):
    found = run(f"return {{'c': torch.exp(-({kernel})), 'v': x_velocity}}", PARAMETERS)
    assert ("temperature-too-small" in found) == told
    assert not told or found["temperature-too-small"].evidence["typical exponent"] < -30.0


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("torch.exp(-pitch.abs() / 15.0)", True),
        ("1.0 - torch.tanh(pitch / 20.0)", True),
        ("torch.exp(-((pitch / 30.0) ** 2))", True),
        ("torch.exp(-pitch.abs() / 0.26)", False),
        ("-pitch.abs() / 15.0", False),
        ("torch.exp(-x_velocity.abs() / 15.0)", False),
    ],
)
def test_an_angle_that_is_squashed_by_degrees_is_told(value, told):
    found = run(f"return {{'c': {value}, 'v': x_velocity}}", PARAMETERS)
    assert ("angle-in-degrees" in found) == told
    assert not told or ("`pitch`" in found["angle-in-degrees"].message and found["angle-in-degrees"].line == 2)
