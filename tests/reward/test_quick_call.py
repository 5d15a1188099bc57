"""A call after the first: as careful with what comes back as the first, whatever the calls before returned."""

import pytest
import torch

from rewardgen.reward.components import Components
from rewardgen.reward.contract import Contract
from rewardgen.reward.guards import MAX_TURNS, Guards
from rewardgen.reward.program import RewardError, compile_reward
from rewardgen.reward.quick_call import Form, Parts, quick_call

WORLDS = 6
SOUND_CALLS = 1000


class Subclass(torch.Tensor):
    pass


class OtherDict(dict):
    pass


def x():
    return torch.linspace(1.0, 2.0, WORLDS)


def turning(then, with_total=False):
    """A call of something that no reward can be: sound for many calls, and then it returns anything else."""
    calls, settled = [], []

    def function(given, **tunables):
        calls.append(0)
        if len(calls) > SOUND_CALLS:
            return then
        parts = {"a": given * 2.0, "b": given * 3.0}
        return (given * 5.0, parts) if with_total else parts

    contract = Contract(("x",), True)
    parts = Parts(function, ("x",), Guards(), settled.append, lambda error: error, contract.components)
    call = quick_call(parts, Form(("a", "b"), with_total))
    for _ in range(SOUND_CALLS):
        assert isinstance(call({"x": x()}, {}), Components)
    return lambda: call({"x": x()}, {})


REFUSED = {
    "nothing": None,
    "a tensor": x(),
    "a list": [x(), x()],
    "an empty dict": {},
    "a column": {"a": x(), "b": x().unsqueeze(-1)},
    "one world more": {"a": x(), "b": torch.ones(WORLDS + 1)},
    "one world": {"a": x(), "b": torch.ones(1)},
    "all worlds with all": {"a": x(), "b": torch.ones(WORLDS, WORLDS)},
    "a text": {"a": x(), "b": "1.0"},
    "a tensor with methods of its own": {"a": x(), "b": x().as_subclass(Subclass)},
    "other names": {"a": x(), "b c": x()},
    "not a number": {"a": x(), "b": x() * torch.nan},
    "opposite infinities": {"a": x() / 0.0, "b": x() / -0.0},
    "a tuple": (x(), x()),
    "a total and a text": (x(), {"a": x(), "b": "1.0"}),
    "an infinite total": (x() / 0.0, {"a": x(), "b": x()}),
    "a total that is a column": (x().unsqueeze(-1), {"a": x(), "b": x()}),
    "three things": (x(), {"a": x(), "b": x()}, 0),
}


@pytest.mark.parametrize("with_total", [False, True])
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_sound_is_refused_after_a_thousand_sound_calls(name, with_total):
    call = turning(REFUSED[name], with_total)
    with pytest.raises(RewardError):
        call()


CONVERTED = {
    "double precision": {"a": x(), "b": x().double()},
    "one value": {"a": x(), "b": torch.tensor(2.0)},
    "a number": {"a": x(), "b": 2},
    "another dict": OtherDict(a=x(), b=x()),
    "another name": {"a": x(), "c": x()},
    "one less": {"a": x()},
    "one more": {"a": x(), "b": x(), "c": x()},
    "another order": {"b": x() * 2.0, "a": x()},
    "a total": (x(), {"a": x(), "b": x()}),
}


@pytest.mark.parametrize("with_total", [False, True])
@pytest.mark.parametrize("name", CONVERTED)
def test_what_is_unlike_before_but_sound_is_told_as_in_a_first_call(name, with_total):
    returned = CONVERTED[name]
    found = turning(returned, with_total)()
    first = Contract(("x",), True).components(returned, [x()])
    assert list(found) == list(first) and type(found) is Components
    assert all(torch.equal(found[key], first[key]) for key in first) and torch.equal(found.total, first.total)
    assert all(type(value) is torch.Tensor and value.dtype == torch.float32 for value in (*found.values(), found.total))


FORMS = {
    "one": "return {'a': height * 2.0}",
    "three": "return {'a': height * 2.0, 'b': -height, 'c': action.sum(-1)}",
    "total": "a = height * 2.0\nb = action.sum(-1)\nreturn a + b, {'a': a, 'b': b}",
    "residual": "a = height * 2.0\nreturn a + 0.5, {'a': a}",
    "rounding": "a = height / 3.0\nb = height / 7.0\nc = height / 11.0\nreturn c + b + a, {'a': a, 'b': b, 'c': c}",
    "inputs themselves": "return {'height': height, 'part': action[:, 0]}",
    "vector first": "return {'part': action[:, 0] * 1.0, 'height': height * 1.0}",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("parameters", ["height, action", "action, height"])
def test_a_later_call_gives_what_the_first_one_gives_and_memory_of_its_own(form, parameters):
    body = FORMS[form].replace("\n", "\n    ")
    program = compile_reward(f"def compute_reward({parameters}, *, w: float = 2.0):\n    {body}\n")
    inputs = {"height": x(), "action": torch.rand(WORLDS, 3, generator=torch.Generator().manual_seed(1))}
    first, later = program(inputs), program(inputs)
    assert list(first) == list(later) and torch.equal(first.total, later.total)
    assert all(torch.equal(first[name], later[name]) for name in first)
    own = {each.untyped_storage().data_ptr() for each in inputs.values()}
    assert not own & {each.untyped_storage().data_ptr() for each in (*later.values(), later.total)}
    later["part" if "part" in later else next(iter(later))].zero_()
    assert torch.equal(program(inputs).total, first.total)


def test_a_later_call_takes_other_numbers_of_worlds_and_constants():
    program = compile_reward("def compute_reward(action, *, w: float = 2.0):\n    return {'a': w * action.sum(-1)}\n")
    for worlds in (4, 9, 1):
        weights = torch.arange(float(worlds))
        found = program({"action": torch.ones(worlds, 3)}, {"w": weights})
        assert torch.equal(found["a"], 3.0 * weights)


def test_an_error_in_a_later_call_has_its_line():
    program = compile_reward("def compute_reward(a, b):\n    c = a * 1.0\n    return {'c': c + b}\n")
    program({"a": torch.ones(4), "b": torch.ones(4)})
    with pytest.raises(RewardError) as caught:
        program({"a": torch.ones(4), "b": torch.ones(5)})
    assert (caught.value.kind, caught.value.line) == ("exception", 3)


LOOPS = {
    "a range": "for i in range({n}):\n    x = x + 1.0",
    "pairs": "for i, each in enumerate(range({n})):\n    x = x + 1.0",
    "a list": "for i in list(range({n})):\n    x = x + 1.0",
    "a comprehension": "x = sum([1.0 for _ in range({n})])",
    "one that is left": "for i in range({n}):\n    x = x + 1.0\n    if i < 0:\n        break",
}


@pytest.mark.parametrize("loop", LOOPS)
def test_turns_are_counted_over_all_loops_and_anew_in_each_call(loop):
    within = LOOPS[loop].format(n=MAX_TURNS // 100).replace("\n", "\n        ")
    source = "def compute_reward(height, *, times: float = 1.0):\n    x = 0.0\n    for _ in range(int(times)):\n"
    program = compile_reward(f"{source}        {within}\n    return {{'h': height + x}}\n")
    for _ in range(3):
        program({"height": torch.ones(2)}, {"times": 50.0})
    with pytest.raises(RewardError, match="loop turns"):
        program({"height": torch.ones(2)}, {"times": 110.0})


def test_a_loop_that_is_left_early_takes_no_more_turns_than_it_had():
    loops = "".join(
        f"    for i in range({MAX_TURNS // 10}):\n        if i > 2:\n            break\n" for _ in range(15)
    )
    program = compile_reward(f"def compute_reward(height):\n{loops}    return {{'h': height * i}}\n")
    assert program({"height": torch.ones(2)})["h"].tolist() == [3.0, 3.0]
