"""What a reward hands out shares no memory with its inputs, however it is written."""

import contextlib
import itertools
import operator

import pytest
import torch

from rewardgen.reward.numpy_subset import numpy_names
from rewardgen.reward.program import RewardError, compile_reward
from rewardgen.reward.vocabulary import FRESH_FUNCTIONS, FRESH_METHODS


def handed_out(body, helper=""):
    """The components of a first and a later call, and the memory of their inputs."""
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    program = compile_reward(f"{helper}def compute_reward(height, x):\n{lines}")
    inputs = {"height": torch.linspace(1.0, 2.0, 6), "x": torch.linspace(2.0, 3.0, 6)}
    found = [program(inputs), program(inputs)]
    return [value for each in found for value in (*each.values(), each.total)], [*map(memory, inputs.values())]


def memory(tensor):
    return tensor.untyped_storage().data_ptr()


STORED = {
    "merged": "d = {'a': x * 1.0}\nd |= {'b': height}",
    "merged anew": "d = {'a': x * 1.0}\nd = d | {'b': height}",
    "merged in a loop": "d = {'a': x * 1.0}\nfor _ in range(2):\n    d |= {'b': height}",
    "by a second name": "d = e = {'a': x * 1.0}\ne['b'] = height",
    "by a first name": "e = d = {'a': x * 1.0}\ne['b'] = height",
    "by a name of an element": "e = [0]\ne[0] = d = {'a': x * 1.0, 'b': height}",
    "updated": "d = {'a': x * 1.0}\nd.update(b=height)",
    "updated by pairs": "d = {'a': x * 1.0}\nd.update({'b': height})",
    "set by default": "d = {'a': x * 1.0}\nd.setdefault('b', height)",
    "an element": "d = {'a': x * 1.0}\nd['b'] = height",
    "an element of a chain": "d = {'a': x * 1.0}\nd['b'] = c = height",
    "an element among others": "d = {'a': x * 1.0}\nd['b'], c = height, 1.0",
    "an element with an annotation": "d = {'a': x * 1.0}\nd['b']: float = height",
    "an element of a loop": "d = {'a': x * 1.0}\nfor d['b'] in [height]:\n    pass",
    "an element in a comprehension": "d = {'a': x * 1.0}\n[d.update(b=each) for each in [height]]",
    "named arguments": "d = dict(a=x * 1.0, b=height)",
    "unpacked": "e = {'b': height}\nd = {'a': x * 1.0, **e}",
    "chosen": "d = {'a': x * 1.0} if x.ndim > 5 else {'a': x * 1.0, 'b': height}",
    "a chosen value": "d = {'a': x * 1.0, 'b': x * 1.0 if x.ndim > 5 else height}",
    "a chosen name": "b = x * 1.0\nb = b if x.ndim > 5 else height\nd = {'a': x * 1.0, 'b': b}",
    "unpacked with a star": "b = x * 1.0\nb, *rest = height, x\nd = {'a': x * 1.0, 'b': b}",
    "a name of a loop": "b = x * 1.0\nfor b in [height]:\n    pass\nd = {'a': x * 1.0, 'b': b}",
    "a dict of a loop": "d = {'a': x * 1.0}\nfor d in [{'b': height}]:\n    pass",
    "a comprehension": "d = {name: height for name in ['a', 'b']}",
    "a helper's dict": "d = given(height)",
    "a helper's value": "d = {'a': x * 1.0, 'b': same(height)}",
    "a sign": "d = {'a': x * 1.0, 'b': +height}",
}
VIEWS = (
    *("height.float()", "height.to(torch.float32)", "height.contiguous()", "height.expand(6)", "height.reshape(-1)"),
    *("height.view(-1)", "height.squeeze()", "height.squeeze(-1)", "height.detach()", "height[:]", "height[None][0]"),
    *("height.type_as(x)", "torch.as_tensor(height)", "torch.reshape(height, (-1,))", "height.expand_as(x)"),
    *("torch.atleast_1d(height)", "torch.squeeze(height)", "np.asarray(height)", "np.positive(height)"),
    *("height.unsqueeze(0).squeeze(0)", "max([height], default=0)", "[height][0]", "{'b': height}.get('b')"),
)
HELPERS = "def given(v):\n    return {'a': v * 1.0, 'b': v}\ndef same(v):\n    return v\n"


@pytest.mark.parametrize("body", [*STORED.values(), *(f"d = {{'a': x * 1.0, 'b': {view}}}" for view in VIEWS)])
def test_an_input_among_the_components_is_handed_out_as_a_copy(body):
    values, inputs = handed_out(f"{body}\nreturn d", HELPERS)
    assert not set(map(memory, values)) & set(inputs)


@pytest.mark.parametrize("total", ["height", "+height", "height.view(-1)", "d['b']"])
def test_an_input_given_as_the_total_is_handed_out_as_a_copy(total):
    values, inputs = handed_out(f"d = {{'a': x * 1.0, 'b': height}}\nreturn {total}, d")
    assert not set(map(memory, values)) & set(inputs)


@pytest.mark.parametrize(
    "body",
    [
        "if (b := height).ndim:\n    pass\nreturn {'b': b}",
        "d = {'a': x * 1.0}\nstore(d, height)\nreturn d",
        "d = {'a': x * 1.0}\ne = d\ne['b'] = height\nreturn d",
        "d = {'a': x * 1.0}\n[d][0]['b'] = height\nreturn d",
    ],
)
def test_what_stores_through_another_name_is_refused(body):
    with pytest.raises(RewardError):
        handed_out(body, "def store(d, value):\n    d['b'] = value\n")


def test_a_select_without_choices_is_refused_as_in_numpy():
    with pytest.raises(RewardError, match="empty list of conditions"):
        handed_out("return {'a': np.select([], [], height)}")


# Every function whose results are taken for new memory, with arguments that may leave nothing to do.

V, SQUARE, CUBE, SINGLE = torch.tensor([2.0, 0.0, 1.0]), torch.eye(3), torch.ones(1, 3, 3), torch.tensor(1.0)
TRUTH, PLACES = torch.tensor([True, False, True]), torch.tensor([0, 1, 2])
TENSORS = (V, SQUARE, CUBE, SINGLE, TRUTH)
REST = (
    *([], [V], [SQUARE], [CUBE], [SINGLE], [TRUTH], [1], [0], [1.0], [0.0], [-1], [()], [[]], [0, 0], [V, V], [V, 0.0]),
    *(
        [-9.0, 9.0],
        [None, None],
        [(1,)],
        [0, PLACES],
        [TRUTH, V],
        [TRUTH, 1.0],
        [[V], V],
        [[], V],
        [[0.0, 1.0], [V, V]],
    ),
    *([[0.0, 1.0], [0.0, 1.0]], [torch.float32], [(), 1.0]),
)
NAMED = (
    *({"dim": ()}, {"dim": 0}, {"dim": (), "keepdim": True}, {"axis": ()}, {"axis": -1}, {"decimals": 0}),
    *({"min": None}, {"max": 9.0}, {"n": 0, "axis": -1}, {"copy": False}, {"dtype": torch.float32}),
)


def shared(function, firsts):
    """The arguments that the result of a function shares memory with, and how many calls went through."""
    # `torch.all` over no axis gives a bool tensor itself; inputs are never bool.
    inputs, calls, wrong = {memory(each) for each in TENSORS if each is not TRUTH}, 0, []
    rest = [*((each, {}) for each in REST), *(([], each) for each in NAMED)]
    for first, (positional, named) in itertools.product(firsts, rest):
        with contextlib.suppress(Exception):
            result = function(first, *positional, **named)
            calls += 1
            if isinstance(result, torch.Tensor) and result.numel() and memory(result) in inputs:
                wrong.append((first, positional, named))
    return wrong, calls


def resolved(dotted):
    module, _, name = dotted.partition(".")
    if module == "numpy":
        return numpy_names(lambda: torch.device("cpu"))[name]
    return operator.attrgetter(name)(torch)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dotted", sorted(FRESH_FUNCTIONS))
def test_a_function_taken_for_new_gives_new_memory_for_any_arguments(dotted):
    wrong, calls = shared(resolved(dotted), [*TENSORS, [V], [], 1, [TRUTH]])
    assert calls and not wrong


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(FRESH_METHODS - {"copy", "astype"}))  # these become functions of numpy
def test_a_method_taken_for_new_gives_new_memory_for_any_arguments(name):
    wrong, calls = shared(getattr(torch.Tensor, name), TENSORS)
    assert calls and not wrong
