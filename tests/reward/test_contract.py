"""The contract of a reward's return value, checked in every call."""

import pytest
import torch

from rewardgen.reward.caps import MAX_ITERATIONS
from rewardgen.reward.contract import Components, RewardError, checked_components
from rewardgen.reward.program import compile_reward

NUM_ENVS = 6


class Subclass(torch.Tensor):
    pass


class OtherDict(dict):
    pass


def x():
    return torch.linspace(1.0, 2.0, NUM_ENVS)


REFUSED = {
    "nothing": None,
    "a tensor": x(),
    "an empty dict": {},
    "a column": {"a": x(), "b": x().unsqueeze(-1)},
    "one env": {"a": x(), "b": torch.ones(1)},
    "all envs with all": {"a": x(), "b": torch.ones(NUM_ENVS, NUM_ENVS)},
    "a tensor with methods of its own": {"a": x(), "b": x().as_subclass(Subclass)},
    "other names": {"a": x(), "b c": x()},
    "not a number": {"a": x(), "b": x() * torch.nan},
    "a total and a text": (x(), {"a": x(), "b": "1.0"}),
    "an infinite total": (x() / 0.0, {"a": x(), "b": x()}),
    "a total that is a column": (x().unsqueeze(-1), {"a": x(), "b": x()}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_one_finite_value_per_env_and_name_is_refused(name):
    with pytest.raises(RewardError):
        checked_components(REFUSED[name], {"x": x()})


FAILS_WITHIN = {
    "a tensor on another device": "return {'a': x.to('me' + 'ta')}",
    "a zero on another device": "return {'a': x, 'b': torch.zeros((), device='me' + 'ta')}",
    "an integer too large for a float": "return {'a': int('9' * 500)}",
    "an integer too large for a text": "return {int('9' * 4000) * 1: x}",
    "a deep value": "y = x\nfor i in range(900):\n    y = ((((((((y,),),),),),),),)\nreturn {'a': y}",
    "a tensor of tensors": "return {'a': [x, x]}",
    "a slice": "return {'a': slice(0, 3)}",
    "an error without a text": "raise ValueError()",
    "a device that is none": "return {'a': x + torch.zeros(3, device='no' + 'ne')}",
}


@pytest.mark.parametrize("name", FAILS_WITHIN)
def test_what_fails_within_the_contract_is_the_reward_s_own_error(name):
    body = FAILS_WITHIN[name].replace("\n", "\n    ")
    program = compile_reward(f"def compute_reward(x):\n    {body}\n")
    with pytest.raises(RewardError) as caught:
        program({"x": x()})
    assert caught.value.message and caught.value.hint


def test_a_constant_among_the_components_is_handed_out_as_a_copy():
    source = "X = torch.ones(6)\nD = {'b': X}\ndef compute_reward(x):\n    return D['b'], {'x': X, 'y': D['b']}\n"
    program = compile_reward(source)
    for _ in range(3):
        found = program({"x": x()})
        assert found.total.tolist() == found["x"].tolist() == found["y"].tolist() == [1.0] * NUM_ENVS
        for value in (found.total, *found.values()):
            value.fill_(7.0)


CONVERTED = {
    "double precision": {"a": x(), "b": x().double()},
    "one value": {"a": x(), "b": torch.tensor(2.0)},
    "a number": {"a": x(), "b": 2},
    "yes or no": {"a": x(), "b": x() > 1.5},
    "another dict": OtherDict(a=x(), b=x()),
    "a total": (x() * 3.0, {"a": x(), "b": x()}),
}


@pytest.mark.parametrize("name", CONVERTED)
def test_what_can_be_one_float_per_env_becomes_that(name):
    returned = CONVERTED[name]
    parts = returned[1] if isinstance(returned, tuple) else returned
    found = checked_components(returned, {"x": x()})
    assert type(found) is Components and list(found)[:2] == ["a", "b"]
    expected = torch.as_tensor(parts["b"]).float().expand(NUM_ENVS)
    assert torch.equal(found["b"], expected) and torch.equal(sum(found.values(), torch.zeros(())), found.total)
    assert all(type(value) is torch.Tensor and value.dtype == torch.float32 for value in (*found.values(), found.total))
    assert all(value.shape == (NUM_ENVS,) for value in (*found.values(), found.total))


FORMS = {
    "three": "return {'a': height * 2.0, 'b': -height, 'c': action.sum(-1)}",
    "total": "a = height * 2.0\nb = action.sum(-1)\nreturn a + b, {'a': a, 'b': b}",
    "residual": "a = height * 2.0\nreturn a + 0.5, {'a': a}",
    "rounding": "a = height / 3.0\nb = height / 7.0\nc = height / 11.0\nreturn c + b + a, {'a': a, 'b': b, 'c': c}",
    "inputs themselves": "return {'height': height, 'part': action[:, 0]}",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("parameters", ["height, action", "action, height"])
def test_a_later_call_gives_what_the_first_one_gives_and_memory_of_its_own(form, parameters):
    body = FORMS[form].replace("\n", "\n    ")
    program = compile_reward(f"def compute_reward({parameters}, *, w: float = 2.0):\n    {body}\n")
    inputs = {"height": x(), "action": torch.rand(NUM_ENVS, 3, generator=torch.Generator().manual_seed(1))}
    first, later = program(inputs), program(inputs)
    assert list(first) == list(later) and torch.equal(first.total, later.total)
    assert all(torch.equal(first[name], later[name]) for name in first)
    own = {each.untyped_storage().data_ptr() for each in inputs.values()}
    assert not own & {each.untyped_storage().data_ptr() for each in (*later.values(), later.total)}
    later["part" if "part" in later else next(iter(later))].zero_()
    assert torch.equal(program(inputs).total, first.total)


def test_a_later_call_takes_other_numbers_of_envs_and_constants():
    program = compile_reward("def compute_reward(action, *, w: float = 2.0):\n    return {'a': w * action.sum(-1)}\n")
    for envs in (4, 9, 1):
        weights = torch.arange(float(envs))
        found = program({"action": torch.ones(envs, 3)}, {"w": weights})
        assert torch.equal(found["a"], 3.0 * weights)


@pytest.mark.parametrize("huge", ["sum(range({n}))", "len(list(range({n})))", "max(range(0, {n}, 1))"])
def test_no_huge_range_is_made_as_nothing_interrupts_a_sum_of_it(huge):
    source = f"def compute_reward(height):\n    return {{'h': height + float({huge.format(n='int(1e18)')})}}\n"
    with pytest.raises(RewardError, match="loop iterations"):
        compile_reward(source)({"height": torch.ones(2)})


LOOPS = {
    "a range": "for i in range({n}):\n    x = x + 1.0",
    "a comprehension": "x = sum([1.0 for _ in range({n})])",
    "one that is left": "for i in range({n}):\n    x = x + 1.0\n    if i < 0:\n        break",
}


@pytest.mark.parametrize("loop", LOOPS)
def test_turns_are_counted_over_all_loops_and_anew_in_each_call(loop):
    within = LOOPS[loop].format(n=MAX_ITERATIONS // 100).replace("\n", "\n        ")
    source = "def compute_reward(height, *, times: float = 1.0):\n    x = 0.0\n    for _ in range(int(times)):\n"
    program = compile_reward(f"{source}        {within}\n    return {{'h': height + x}}\n")
    for _ in range(3):
        program({"height": torch.ones(2)}, {"times": 50.0})
    with pytest.raises(RewardError, match="loop iterations"):
        program({"height": torch.ones(2)}, {"times": 110.0})
