"""`tolerance` means what it means in the DeepMind Control Suite."""

import math

import pytest
import torch

from rewardgen.reward.program import RewardError, compile_reward
from rewardgen.reward.tolerance import tolerance

SIGMOIDS = ("gaussian", "linear", "hyperbolic", "long_tail", "reciprocal", "cosine", "quadratic", "tanh_squared")


@pytest.mark.parametrize("sigmoid", SIGMOIDS)
def test_it_is_one_inside_the_bounds_and_the_given_value_at_the_margin(sigmoid):
    x = torch.tensor([-1.0, 1.0, 1.5, 2.0, 2.5, 4.0])
    values = tolerance(x, 1.0, 2.0, margin=2.0, sigmoid=sigmoid, value_at_margin=0.3)
    torch.testing.assert_close(values, torch.tensor([0.3, 1.0, 1.0, 1.0, float(values[4]), 0.3]))
    assert 0.3 < values[4] < 1.0


@pytest.mark.parametrize("sigmoid", SIGMOIDS)
def test_it_falls_with_distance_and_stays_between_zero_and_one(sigmoid):
    values = tolerance(torch.linspace(0.0, 50.0, 200), margin=3.0, sigmoid=sigmoid)
    assert bool((values.diff() <= 1e-7).all())
    assert float(values.min()) >= 0.0
    assert float(values.max()) == 1.0


def test_without_a_margin_the_edge_is_hard():
    assert tolerance(torch.tensor([0.9, 1.0, 2.0, 2.1]), 1.0, 2.0).tolist() == [0.0, 1.0, 1.0, 0.0]


def test_one_bound_may_be_infinite():
    values = tolerance(torch.tensor([0.0, 5.0, 1e6]), 5.0, math.inf, margin=5.0, sigmoid="linear", value_at_margin=0.0)
    assert values.tolist() == [0.0, 1.0, 1.0]


def test_a_margin_per_env_gives_the_values_of_each_margin_alone():
    x = torch.tensor([1.0, 1.0, 1.0])
    margins = torch.tensor([0.0, 1.0, 2.0])
    expected = torch.cat([tolerance(x[:1], margin=float(margin)) for margin in margins])
    torch.testing.assert_close(tolerance(x, margin=margins), expected)


@pytest.mark.parametrize(
    "wrong",
    [
        {"lower": 2.0, "upper": 1.0},
        {"margin": -1.0},
        {"sigmoid": "square"},
        {"margin": 1.0, "value_at_margin": 0.0},
        {"margin": 1.0, "value_at_margin": 1.0},
    ],
)
def test_arguments_without_meaning_are_refused(wrong):
    with pytest.raises(ValueError, match="tolerance"):
        tolerance(torch.zeros(3), **wrong)


def rewarding(call, before=""):
    return f"{before}def compute_reward(x):\n    near = {call}\n    return {{'near': near}}\n"


@pytest.mark.parametrize("call", ["tolerance(x, (0.1, 2.0))", "tolerance(x, bounds=x)", "tolerance(x, lower=(1, 2))"])
def test_bounds_in_one_argument_fail_with_line_and_remedy(call):
    with pytest.raises(RewardError, match="tolerance") as caught:
        compile_reward(rewarding(call))({"x": torch.zeros(3)})
    assert caught.value.line == 2 and "lower" in caught.value.hint and "upper" in caught.value.hint


@pytest.mark.parametrize("call", ["tolerance(x, BOUNDS)", "tolerance(x, BOUNDS, 0.4)", "tolerance(x, lower=BOUNDS)"])
def test_bounds_that_a_name_holds_are_told_with_line_and_remedy_when_they_are_used(call):
    program = compile_reward(rewarding(call, "BOUNDS = (0.1, 2.0)\n"))
    with pytest.raises(RewardError, match="both bounds are given as one argument") as caught:
        program({"x": torch.zeros(3)})
    assert caught.value.line == 3 and "lower=bounds[0], upper=bounds[1]" in caught.value.hint
