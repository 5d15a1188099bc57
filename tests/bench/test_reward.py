"""The measurement of what a call costs; its numbers are for the benchmark, not for a busy test machine."""

import math

import pytest
import torch

from rewardgen.bench.reward import RewardOptions, bench_reward
from rewardgen.bench.reward_calls import RewardCalls, added_up_plainly, plain_reward
from rewardgen.bench.reward_examples import EXAMPLES, FLAT_INPUTS
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
        single = calls.calls("dict", worlds=8, rounds=2, calls=2)
        rollout = calls.rollout("dict", steps=3, worlds=8, rounds=2, calls=2)
    finally:
        torch.set_num_threads(threads)
    assert set(single) == {"function", "plain function", "call", "plain"} and set(rollout) == {"priced", "plain"}
    assert all(0.0 <= seconds < math.inf for seconds in (*single.values(), *rollout.values()))


def test_each_reward_is_reported_at_each_number_of_worlds_and_as_a_rollout():
    report = bench_reward(RewardOptions(worlds=(8, 16), repetitions=2, rounds=1, calls=5), lambda message: None)
    kinds = [("function / plain", 1.03), ("call / plain", 1.03)]
    expected = [
        each
        for name in EXAMPLES
        for each in [
            *((f"{name} N={worlds}", *kind) for worlds in (8, 16) for kind in kinds),
            (name, "rollout / plain", None),
        ]
    ]
    assert [(figure.subject, figure.name, figure.target) for figure in report.figures] == expected
    assert all(len(figure.values) == 2 and figure.at_most for figure in report.figures)
