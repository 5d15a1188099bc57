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
        "torch.where(y > x, x, torch.full_like(x, VALUE))",
        "tolerance(x, lower=-VALUE, upper=VALUE)",
        "torch.heaviside(x - VALUE, y)",
        "torch.minimum(x, torch.tensor(VALUE))",
        "(x - VALUE).abs()",
        "torch.sigmoid(300.0 * (x - VALUE))",
        "torch.exp(-(((x - y) / VALUE) ** 2))",
        "x % VALUE",
        "x // VALUE",
    ],
)
def test_a_number_in_a_place_where_pay_bends_counts(expression):
    one, other = (limits(f"return {{'a': {expression.replace('VALUE', value)}}}") for value in ("0.9", "0.97"))
    assert one != other


@pytest.mark.parametrize(
    ("before", "signature", "body"),
    [
        ("", "x, *, limit: float = VALUE", "return {'a': (x > limit).float()}"),
        ("LIMIT = VALUE", "x", "return {'a': (x > LIMIT).float()}"),
        ("", "x", "low, high = 0.0, VALUE\n    return {'a': ((x > low) & (x < high)).float()}"),
        ("", "x", "near = x - VALUE\n    return {'a': torch.where(near > 0, near, -near)}"),
        ("", "x", "total = 0.0 * x\n    for limit in [0.5, VALUE]:\n        total = total + (x > limit)\n"
         "    return {'a': total}"),
        ("", "x", "limits = {}\n    limits['x'] = VALUE\n    return {'a': (x > limits['x']).float()}"),
        ("", "x", "bonus = torch.zeros_like(x)\n    bonus[x > VALUE] = 1.0\n    return {'a': bonus}"),
        ("def above(a, limit):\n    return (a > limit).float()", "x", "return {'a': above(x, limit=VALUE)}"),
        ("def above(a, limit=VALUE):\n    return (a > limit).float()", "x", "return {'a': above(x)}"),
        ("def limit():\n    return VALUE", "x", "return {'a': (x > limit()).float()}"),
        ("", "x", "above = lambda a, limit: (a > limit).float()\n    return {'a': above(x, VALUE)}"),
    ],
)  # fmt: skip
def test_a_number_is_found_wherever_its_name_gets_it_from(before, signature, body):
    one, other = (
        limits(*(each.replace("VALUE", value) for each in (body, signature, before))) for value in ("0.9", "2")
    )
    assert one != other


def test_scale_shift_and_shaping_beside_such_places_do_not_count():
    plain = limits("return {'a': x.clamp(max=2.0)}")
    assert plain == {2.0: 1}
    assert plain == limits("return {'b': 3.0 * x.clamp(max=2) - 0.5 + 10.0 * (0.99 * x - y)}")


def test_how_often_a_number_is_used_counts():
    assert limits("return {'a': (x > 1) & (y > 1)}") != limits("return {'a': x > 1}")
