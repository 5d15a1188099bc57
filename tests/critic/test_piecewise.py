"""Where a reward bends or jumps, by the constants in its source."""

from __future__ import annotations

import pytest

from rewardgen.critic.piecewise import piecewise_constants

LIMIT = "x.clamp(max=2.0)"


def constants(body, signature="x, y", before=""):
    return piecewise_constants(f"import torch\n{before}\ndef compute_reward({signature}):\n    {body}\n")


@pytest.mark.parametrize(
    "expression",
    [
        "(x > VALUE).float()",
        "x.clamp(max=VALUE)",
        "x.clamp_(max=VALUE)",
        "torch.where(y > x, x, torch.full_like(x, VALUE))",
        "tolerance(x, lower=VALUE)",
        "torch.heaviside(x - VALUE, y)",
        "torch.minimum(x, torch.tensor(VALUE))",
        "(x - VALUE).abs()",
        "torch.sigmoid(300.0 * (x - VALUE))",
        "torch.exp(-(((x - y) / VALUE) ** 2))",
        "x % VALUE",
    ],
)
def test_a_constant_in_a_place_where_pay_bends_counts(expression):
    one, other = (constants(f"return {{'a': {expression.replace('VALUE', value)}}}") for value in ("0.9", "0.97"))
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
        ("def above(a, limit):\n    return (a > limit).float()", "x", "return {'a': above(x, VALUE)}"),
        ("def above(a, limit):\n    return (a > limit).float()", "x", "return {'a': above(x, limit=VALUE)}"),
        ("def above(a, limit=VALUE):\n    return (a > limit).float()", "x", "return {'a': above(x)}"),
        ("def limit():\n    return VALUE", "x", "return {'a': (x > limit()).float()}"),
        ("", "x", "above = lambda a, limit: (a > limit).float()\n    return {'a': above(x, VALUE)}"),
    ],
)  # fmt: skip
def test_a_constant_is_found_wherever_its_name_gets_it_from(before, signature, body):
    one, other = (
        constants(*(each.replace("VALUE", value) for each in (body, signature, before))) for value in ("0.9", "0.97")
    )
    assert one != other


def test_scale_shift_and_shaping_beside_such_places_do_not_count():
    plain = constants(f"return {{'a': {LIMIT}}}")
    assert plain == {"2.0": 1}
    assert plain == constants(f"return {{'b': 3.0 * {LIMIT} - 0.5 + 10.0 * (0.99 * x - y)}}")


def test_signs_count_and_how_a_number_is_written_does_not():
    assert constants("return {'a': x > 1}") == constants("return {'a': x > 1.0}") != constants("return {'a': x > -1}")


def test_how_often_a_constant_is_written_counts():
    assert constants("return {'a': (x > 1) & (y > 1)}") != constants("return {'a': x > 1}")


def test_names_that_define_each_other_come_to_an_end():
    assert constants("a = x\n    for i in range(3):\n        b = a + 1\n        a = b\n    return {'a': a > 2}")


def test_what_does_not_parse_is_not_told():
    assert piecewise_constants("def (") is None
