"""Values and errors of a compiled reward."""

import math
from types import MappingProxyType

import pytest
import torch

from rewardgen.reward.caps import Caps
from rewardgen.reward.contract import Components
from rewardgen.reward.numpy_aliases import NUMPY
from rewardgen.reward.program import RewardError, _scope, compile_reward
from rewardgen.reward.vocabulary import METHODS, MODULE_NAMES


def call(body, envs=8, tunables=MappingProxyType({}), parameters="height, action", **inputs):
    indented = "".join(f"    {line}\n" for line in body.split("\n"))
    values = {"height": torch.linspace(0.5, 1.5, envs), "action": torch.full((envs, 3), 0.5)} | inputs
    return compile_reward(f"def compute_reward({parameters}):\n{indented}")(values, tunables)


def failure(body, **changes):
    with pytest.raises(RewardError) as caught:
        call(body, **changes)
    return caught.value


def test_a_tunable_takes_a_number():
    body = "return {'h': w * height}"
    parameters = "height, *, w: float = 2.0"
    heights = torch.linspace(0.5, 1.5, 8)
    assert torch.equal(call(body, parameters=parameters)["h"], 2.0 * heights)
    assert torch.equal(call(body, parameters=parameters, tunables={"w": 3.0})["h"], 3.0 * heights)


def test_a_total_that_differs_from_its_parts_leaves_a_residual():
    components = call("up = height * 2.0\nreturn up + 0.5, {'up': up}")
    torch.testing.assert_close(components["residual"], torch.full((8,), 0.5))


def test_a_column_is_a_shape_error_that_names_component_got_and_expected():
    error = failure("return {'effort': action.sum(-1, keepdim=True)}")
    assert (error.kind, error.component) == ("shape", "effort")
    assert "`effort`" in error.message and "(N, 1)" in error.message and "(N,)" in error.message


@pytest.mark.parametrize(
    ("body", "said"),
    {
        "tensor": ("return height", "returned a Tensor"),
        "none": ("x = height", "returned a NoneType"),
        "empty": ("return {}", "0 components"),
        "text value": ("return {'h': 'x'}", "is a str"),
        "bad name": ("return {'h e': height}", "`h e`"),
        "number name": ("return {1: height}", "`1`"),
        "mean over envs and parts": ("return {'h': action}", "(N, 3)"),
        "too many": ("return {f'c{i}': height for i in range(40)}", "40 components"),
    }.values(),
)
def test_anything_but_a_dict_of_one_value_per_env_is_a_shape_error(body, said):
    error = failure(body)
    assert error.kind == "shape"
    assert said in error.message and error.hint


def test_an_exception_carries_the_line_and_the_code_of_the_reward():
    error = failure("x = height\ny = action @ x\nreturn {'h': y}")
    assert (error.kind, error.line) == ("exception", 3)
    assert "action @ x" in error.message and str(error).startswith("line 3: ")


def test_the_line_of_an_exception_in_a_helper_is_the_helpers():
    source = "def helper(x):\n    return x[:, 7]\n\ndef compute_reward(action):\n    return {'h': helper(action)}\n"
    with pytest.raises(RewardError) as caught:
        compile_reward(source)({"action": torch.zeros(4, 3)})
    assert caught.value.line == 2


def test_branching_on_a_batch_is_answered_with_where():
    error = failure("if height > 1.0:\n    return {'h': height}\nreturn {'h': -height}")
    assert "torch.where" in error.hint


def test_a_value_that_is_not_finite_is_told_by_component_envs_and_inputs():
    error = failure("return {'fine': height, 'log': torch.log(height)}", height=torch.tensor([1.0, -2.0, 3.0, 0.5]))
    assert (error.kind, error.component) == ("non-finite", "log")
    assert "1 of 4 envs" in error.message and "height = -2" in error.message


def test_opposite_infinities_do_not_hide_each_other():
    zeros = torch.zeros(4)
    error = failure("return {'a': 1.0 / height, 'fine': height, 'b': -1.0 / height}", height=zeros)
    assert error.kind == "non-finite" and "not finite either: `b`, as" in error.message


@pytest.mark.parametrize(
    "expression",
    [
        "torch.zeros(10**9)",
        "torch.full((10**5, 10**5), 1.0)",
        "height.repeat(10**8)",
        "height.unsqueeze(-1) * torch.ones(10**6)",
        "height[torch.zeros(1100000).long()]",
        "sum([torch.ones(10**6) for _ in range(2)]).expand(2, 10**6)",
    ],
)
def test_a_tensor_of_too_many_elements_is_an_error_with_its_line(expression):
    error = failure(f"x = {expression}\nreturn {{'h': height}}")
    assert "is too large, the limit is" in error.message and error.line == 2


def test_all_envs_with_all_envs_is_an_error_that_names_the_axis_to_drop():
    error = failure("return {'h': (height.unsqueeze(-1) * height).sum(-1)}", height=torch.ones(2000))
    assert "is too large" in error.message and "squeeze" in error.hint


def test_an_iterator_kept_in_a_constant_is_no_memory_between_calls():
    constant = "TURNS = zip([1.0, 2.0], [3.0, 4.0])\n"
    body = "def compute_reward(height):\n    return {'h': height * sum([a * b for a, b in TURNS])}\n"
    program = compile_reward(constant + body)
    inputs = {"height": torch.ones(2)}
    assert program(inputs)["h"].tolist() == program(inputs)["h"].tolist() == [11.0, 11.0]


def test_lists_and_tensors_kept_in_constants_are_no_memory_between_calls():
    source = "SEEN = []\nCOUNT = torch.zeros(())\ndef compute_reward(height):\n    seen, count = SEEN, COUNT\n"
    program = compile_reward(
        f"{source}    seen.append(1.0)\n    count.add_(1.0)\n    return {{'h': sum(seen) + count}}\n"
    )
    for _ in range(3):
        assert program({"height": torch.ones(2)})["h"].tolist() == [2.0, 2.0]


def test_annotations_are_never_evaluated_and_assertions_are():
    assert call("x: undefined_name[1 / 0] = height\nreturn {'h': x}")["h"].shape == (8,)
    assert "never" in failure("assert height.dim() == 2, 'never'\nreturn {'h': height}").message


@pytest.mark.parametrize("change", ["height += 1.0", "x = height\nx[0] = 7.0", "height.view(-1).zero_()"])
def test_a_reward_changes_nothing_but_copies_of_its_inputs(change):
    height = torch.ones(4)
    call(f"{change}\nreturn {{'h': height}}", height=height)
    assert height.tolist() == [1.0] * 4


def test_tolerance_is_in_scope_and_can_be_replaced_by_a_helper_of_that_name():
    assert call("return {'h': tolerance(height, 0.0, 2.0)}")["h"].tolist() == [1.0] * 8
    source = (
        "def tolerance(x):\n    return 7.0 * x\n\ndef compute_reward(height):\n    return {'h': tolerance(height)}\n"
    )
    assert compile_reward(source)({"height": torch.ones(2)})["h"].tolist() == [7.0, 7.0]


def test_a_failing_constant_is_told_when_the_reward_is_compiled():
    with pytest.raises(RewardError, match="line 1") as caught:
        compile_reward("X = 1.0 / 0.0\ndef compute_reward(height):\n    return {'h': X * height}\n")
    assert caught.value.hint


def test_a_program_reaches_only_the_names_of_the_language():
    scope = _scope(Caps())
    assert not {"open", "eval", "getattr", "print", "__build_class__"} & scope["__builtins__"].keys()
    assert not hasattr(scope["torch"], "load") and not hasattr(scope["torch"], "os")
    for name in ("os", "torch.utils.cpp_extension", "numpy.ctypeslib", "rewardgen"):
        with pytest.raises(ImportError):
            scope["__builtins__"]["__import__"](name)


def test_every_name_of_the_language_exists():
    modules = {"torch": torch, "torch.nn.functional": torch.nn.functional, "torch.linalg": torch.linalg, "math": math}
    modules |= {"numpy": NUMPY, "numpy.linalg": NUMPY.linalg}
    for module, names in MODULE_NAMES.items():
        assert [name for name in names if not hasattr(modules[module], name)] == []
    assert METHODS - {*dir(torch.Tensor), *dir(dict), *dir(list)} == set()


def test_the_total_that_a_reward_returns_is_its_total():
    components = call("up = height * 2.0\nreturn up + 0.5, {'up': up}")
    assert torch.equal(components.total, 2.0 * torch.linspace(0.5, 1.5, 8) + 0.5)


def test_the_total_of_an_env_is_the_same_beside_any_number_of_others():
    text = ", ".join(f"'c{i}': action[:, {i}] * 1.0" for i in range(7))
    program = compile_reward(f"def compute_reward(action):\n    return {{{text}}}\n")
    action = torch.randn(131, 7, generator=torch.Generator().manual_seed(1))
    together = program({"action": action}).total
    assert all(torch.equal(program({"action": action[i:]}).total, together[i:]) for i in (1, 50, 100, 129))


def test_a_residual_that_comes_from_another_order_is_exactly_zero():
    terms = ", ".join(f"'c{i}': action[:, {i}] * 1.0" for i in range(7))
    backwards = " + ".join(f"action[:, {i}] * 1.0" for i in reversed(range(7)))
    action = torch.randn(64, 7, generator=torch.Generator().manual_seed(1))
    components = call(f"return {backwards}, {{{terms}}}", envs=64, action=action)
    assert not torch.equal(components.total, sum(list(components.values())[:-1], torch.zeros(())))
    assert components["residual"].abs().max() == 0.0


def test_finite_components_whose_sum_is_not_are_an_error():
    error = failure("return {'a': height, 'b': height * 1.0}", height=torch.full((8,), 3e38))
    assert error.kind == "non-finite" and "sum of the components" in error.message
    assert failure("return height, {'a': -height}", height=torch.full((8,), 3e38)).kind == "non-finite"


MAKERS = (
    "torch.zeros(1)",
    "torch.ones_like(height)",
    "torch.tensor([1.0])",
    "torch.arange(1)",
    "torch.full((1,), 0.5)",
    "torch.linspace(0, 1, 1)",
    "torch.eye(1)[0]",
    "np.zeros(1)",
)


@pytest.mark.parametrize("made", MAKERS)
def test_what_a_reward_makes_lies_where_its_inputs_are(made, monkeypatch):
    """On a device without numbers, of which there is one everywhere: what is computed is not looked at."""
    monkeypatch.setattr("rewardgen.reward.program.checked_components", lambda returned, given: Components(returned))
    program = compile_reward(f"def compute_reward(height, action):\n    return {{'made': height * 0 + {made}}}\n")
    for device in ("meta", "cpu"):
        made_there = program({"height": torch.ones(8, device=device), "action": torch.ones((8, 3), device=device)})
        assert made_there["made"].device.type == device
