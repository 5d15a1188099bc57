"""The measurement of what a call costs; its numbers are for the benchmark, not for a busy test machine."""

import math

import pytest
import torch

from benchmarks.reward import RewardOptions, bench_reward
from benchmarks.reward_calls import RewardCalls, added_up_plainly, paired, plain_reward
from benchmarks.reward_examples import EXAMPLES, FLAT_INPUTS
from rewardgen.reward.language import check_language
from rewardgen.reward.program import compile_reward


def inputs(names, worlds=16):
    return {name: torch.rand(worlds if name in FLAT_INPUTS else (worlds, 3)) for name in names}


@pytest.mark.parametrize("name", EXAMPLES)
def test_both_sides_compute_the_same(name):
    assert check_language(EXAMPLES[name]) == ()
    program = compile_reward(EXAMPLES[name])
    given = inputs(program.inputs)
    found = program(given)
    total, terms = added_up_plainly(plain_reward(EXAMPLES[name]), given, program.inputs)
    torch.testing.assert_close(found.total, total)
    assert list(found) == list(terms)
    torch.testing.assert_close(dict(found), terms, rtol=1e-5, atol=1e-6)


def test_the_examples_hold_a_tuple_with_and_one_without_a_residual():
    residuals = {}
    for name in ("tuple", "unweighted tuple"):
        program = compile_reward(EXAMPLES[name])
        residuals[name] = bool(program(inputs(program.inputs))["residual"].any())
    assert residuals == {"tuple": False, "unweighted tuple": True}


def test_the_plain_side_looks_whether_the_total_is_finite():
    plain = plain_reward("def compute_reward(x):\n    return {'x': torch.log(x)}\n")
    with pytest.raises(ValueError, match="not finite"):
        added_up_plainly(plain, {"x": -torch.ones(4)}, ("x",))


def test_every_side_is_timed():
    threads = torch.get_num_threads()
    try:
        calls = RewardCalls()
        single = calls.calls("dict", worlds=8, pairs=4)
        rollout = calls.rollout("dict", steps=3, worlds=8, pairs=4)
    finally:
        torch.set_num_threads(threads)
    assert set(single) == {"function", "call"}
    for told in (*single.values(), rollout):
        assert set(told) == {"ratio", "plain"} and all(math.isfinite(value) for value in told.values())


def test_the_sides_take_turns_in_either_order():
    turns: list[str] = []
    paired(lambda: turns.append("a"), lambda: turns.append("b"), pairs=4)
    assert "".join(turns) == "baabbaab"


def test_a_side_that_does_the_work_several_times_is_told_to_cost_as_much():
    value = torch.rand(200, 200)
    told = paired(lambda: [value @ value for _ in range(4)], lambda: value @ value, pairs=100)
    assert 2.5 < told["ratio"] < 6.0 and told["plain"] > 0.0


def test_each_reward_is_reported_at_each_number_of_worlds_and_as_a_rollout():
    report = bench_reward(RewardOptions(worlds=(8, 16), repetitions=2, pairs=5), lambda message: None)
    kinds = [("function / plain", 1.03), ("call / plain", 1.03), ("plain call", None)]
    expected = [
        each
        for name in EXAMPLES
        for each in [
            *((f"{name} N={worlds}", *kind) for worlds in (8, 16) for kind in kinds),
            (name, "rollout / plain", None),
        ]
    ]
    assert [(figure.subject, figure.name, figure.target) for figure in report.figures] == expected
    assert all(len(figure.values) == 2 for figure in report.figures)
    assert all(figure.at_most for figure in report.figures if figure.unit == "x")
