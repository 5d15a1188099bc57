"""Numbers that decide where a reward bends or jumps are found in its source."""

from __future__ import annotations

import ast

import pytest

from rewardgen.critic.probe.reward_source import RewardSource
from rewardgen.reward.program import compile_reward


def limits(body, signature="x, y", before=""):
    source = f"import torch\n{before}\ndef compute_reward({signature}):\n    {body}\n"
    return RewardSource(ast.parse(source)).limits(compile_reward(source).tunables)


@pytest.mark.parametrize(
    "expression",
    [
        "(x > VALUE).float()",
        "x.clamp(max=VALUE)",
        "tolerance(x, lower=-VALUE, upper=VALUE)",
        "(x - VALUE).abs()",
        "torch.sigmoid(300.0 * (x - VALUE))",
        "torch.exp(-(((x - y) / VALUE) ** 2))",
        "x % VALUE",
    ],
)
def test_a_number_in_a_place_where_pay_bends_counts(expression):
    one, other = (limits(f"return {{'a': {expression.replace('VALUE', value)}}}") for value in ("0.9", "0.97"))
    assert one != other


def test_scale_shift_and_shaping_beside_such_places_do_not_count():
    plain = limits("return {'a': x.clamp(max=2.0)}")
    assert plain == {2.0: 1}
    assert plain == limits("return {'b': 3.0 * x.clamp(max=2) - 0.5 + 10.0 * (0.99 * x - y)}")
