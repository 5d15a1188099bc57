"""A fitted reward pays its components at their weights, reads back, and does not nest."""

import pytest
import torch

from rewardgen.reward.fitted import FittedReward, read_fitted
from rewardgen.reward.language import check_language
from rewardgen.reward.pricing import price_rows
from rewardgen.reward.program import compile_reward
from tests.reward.test_stages import STAGED

SIMPLE = '''def compute_reward(position, action, *, reach: float = 2.0, parts: int = 1):
    """Near, with little effort."""
    return {"near": -reach * position.abs(), "effort": -action[:, :parts].square().sum(-1), "lost": position}
'''
WITH_TOTAL = """def rest(x):
    return 3.0 * x

@torch.jit.script
def compute_reward(position: torch.Tensor):
    parts = {"near": -position.abs(), "far": position}
    return parts["near"] + parts["far"] + rest(position), parts
"""
SPARSE = """def compute_reward(speed, position):
    return {"fast": (speed > 0.5).float(), "there": (position > 0.5).float()}
"""
BLENDED = FittedReward(SIMPLE, {"near": 1.0, "sparse": 5.0}, False, SPARSE, ("fast", "there"))
ROWS = {"position": torch.tensor([-1.0, 0.75]), "speed": torch.tensor([1.0, 0.0]), "action": torch.full((2, 2), 2.0)}
ROWS["x"] = ROWS["position"]


def paid(source, **tunables):
    assert check_language(source) == ()
    components = price_rows(compile_reward(source), ROWS, tunables)
    return {name: value.tolist() for name, value in components.items()}


def test_components_are_paid_at_their_weights_and_those_without_a_weight_are_left_out():
    source = FittedReward(SIMPLE, {"near": 0.5, "effort": 2.0}).source
    assert paid(source) == {"near": [-1.0, -0.75], "effort": [-8.0, -8.0]}
    assert paid(source, reach=4.0)["near"] == [-2.0, -1.5]
    source = FittedReward(WITH_TOTAL, {"near": 2.0, "residual": 10.0}, has_total=True).source
    assert paid(source) == {"near": [-2.0, -1.5], "residual": [-30.0, 22.5]}
    assert paid(BLENDED.source) == {"near": [-2.0, -1.5], "sparse": [5.0, 5.0]}


@pytest.mark.parametrize("weights", [{"near": 0.5, "effort": 1e-05}, {"near": 1e20}])
def test_a_fit_of_a_fit_replaces_the_weights_and_nests_nothing(weights):
    long_signature = SIMPLE.replace("reach", "a_constant_with_quite_a_long_name")
    windows = FittedReward(WITH_TOTAL.replace("\n", "\r\n"), {"near": 2.0}, has_total=True)
    staged = FittedReward(STAGED.lstrip(), {"near": 2.0, "advance": 0.5})
    for fitted in (BLENDED, windows, staged, FittedReward(SIMPLE, weights), FittedReward(long_signature, weights)):
        again = read_fitted(fitted.source)
        assert again == fitted._replace(designed=fitted.designed.replace("\r\n", "\n"))
        assert paid(again.source).keys() == fitted.weights.keys() and again.source == fitted.source


def test_a_fitted_reward_that_a_designer_changed_is_a_designed_one_and_can_be_fitted():
    changed = BLENDED.source.replace("1.0 * parts", "2.0 + parts")
    assert read_fitted(changed) is None and read_fitted(SIMPLE) is None
    source = FittedReward(changed, {"near": 3.0}).source
    assert paid(source) == {"near": [0.0, 1.5]}
    assert read_fitted(source).designed == changed
