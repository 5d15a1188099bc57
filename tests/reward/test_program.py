"""What a compiled reward returns, and what it says when it goes wrong."""

import math
from types import MappingProxyType, SimpleNamespace

import pytest
import torch

from rewardgen.reward.numpy_subset import numpy_names
from rewardgen.reward.program import RewardError, compile_reward
from rewardgen.reward.vocabulary import CHANGING_METHODS, FRESH_FUNCTIONS, METHODS, MODULE_NAMES


def call(body, envs=8, tunables=MappingProxyType({}), parameters="height, action", **inputs):
    indented = "".join(f"    {line}\n" for line in body.split("\n"))
    values = {"height": torch.linspace(0.5, 1.5, envs), "action": torch.full((envs, 3), 0.5)} | inputs
    return compile_reward(f"def compute_reward({parameters}):\n{indented}")(values, tunables)


def failure(body, **changes):
    with pytest.raises(RewardError) as caught:
        call(body, **changes)
    return caught.value


def test_inputs_and_tunables_are_read_from_the_signature():
    program = compile_reward(
        "def compute_reward(height, action, *, w: float = 2, b=-0.5):\n    return {'h': w * height}\n"
    )
    assert program.inputs == ("height", "action")
    assert program.tunables == {"w": 2.0, "b": -0.5}


def test_a_tunable_takes_a_number_or_one_value_per_env():
    body = "return {'h': w * height}"
    parameters = "height, *, w: float = 2.0"
    heights = torch.linspace(0.5, 1.5, 8)
    weights = torch.arange(8.0)
    assert torch.equal(call(body, parameters=parameters)["h"], 2.0 * heights)
    assert torch.equal(call(body, parameters=parameters, tunables={"w": 3.0})["h"], 3.0 * heights)
    assert torch.equal(call(body, parameters=parameters, tunables={"w": weights})["h"], weights * heights)


def test_numbers_and_single_values_are_spread_over_the_envs():
    components = call(
        "return {'alive': 1, 'mean': torch.tensor(0.25), 'flag': height > 1.0, 'double': height.double()}"
    )
    assert all(value.shape == (8,) and value.dtype == torch.float32 for value in components.values())
    assert components["alive"].tolist() == [1.0] * 8
    assert components["flag"].sum() == 4


def test_a_total_that_differs_from_its_parts_leaves_a_residual():
    components = call("up = height * 2.0\nreturn up + 0.5, {'up': up}")
    torch.testing.assert_close(components["residual"], torch.full((8,), 0.5))


def test_a_total_that_is_the_sum_of_its_parts_leaves_a_residual_of_exactly_zero():
    components = call("a = height / 3.0\nb = action.sum(-1) / 7.0\nreturn a + b, {'a': a, 'b': b}")
    assert components["residual"].abs().max() == 0.0


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


def test_large_but_finite_values_are_not_an_error():
    components = call("return {'h': height}", height=torch.full((8,), 3e38))
    assert components["h"][0] == pytest.approx(3e38)


def test_loops_are_counted_over_the_whole_call_and_start_anew_in_the_next():
    nested = "x = 0.0\nfor i in range({0}):\n    for j in range({0}):\n        x = x + 1.0\nreturn {{'h': height + x}}"
    assert "loop turns" in failure(nested.format(200)).message
    source = "def compute_reward(height):\n    x = sum([1.0 for _ in range(900)])\n    return {'h': height + x}\n"
    program = compile_reward(source)
    for _ in range(20):
        program({"height": torch.zeros(2)})


@pytest.mark.parametrize(
    "body",
    [
        "x = 10\nfor i in range(6):\n    x = x ** 30\nreturn {'h': height * x}",
        "s = '%1000000000d'\nx = s % 1\nreturn {'h': height}",
        "x = list(range(1000000 - 1 + 1 * 10))\nreturn {'h': height}",
    ],
)
def test_what_would_take_all_memory_is_an_error_instead(body):
    with pytest.raises(RewardError):
        call(body)


def test_integer_powers_within_reason_are_exact():
    assert call("n = 3\nreturn {'h': height * 2 ** n + 0 * n ** n}", height=torch.ones(4))["h"].tolist() == [8.0] * 4


def test_a_generator_kept_in_a_constant_is_no_memory_between_calls():
    constant = "TURNS = zip([1.0, 2.0], [3.0, 4.0])\n"
    body = "def compute_reward(height):\n    return {'h': height * sum([a * b for a, b in TURNS])}\n"
    program = compile_reward(constant + body)
    inputs = {"height": torch.ones(2)}
    assert program(inputs)["h"].tolist() == program(inputs)["h"].tolist() == [11.0, 11.0]


def test_annotations_and_assertions_are_never_evaluated():
    components = call("x: undefined_name[1 / 0] = height\nassert height.sum() < 0, 'never'\nreturn {'h': x}")
    assert components["h"].shape == (8,)


def test_augmented_assignment_leaves_an_input_alone():
    height = torch.ones(4)
    call("height += 1.0\nreturn {'h': height}", height=height)
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


def test_a_program_reaches_only_the_functions_that_it_names():
    program = compile_reward("def compute_reward(height):\n    return {'h': torch.exp(-height) * math.pi}\n")
    reachable = program._function.__globals__
    assert "torch" not in reachable and "math" not in reachable
    assert "open" not in reachable["__builtins__"] and "eval" not in reachable["__builtins__"]


def test_every_name_of_the_language_exists():
    subset = numpy_names(lambda: torch.device("cpu"))
    numpy = SimpleNamespace(**subset, linalg=SimpleNamespace(norm=subset["linalg.norm"]))
    modules = {"torch": torch, "torch.nn.functional": torch.nn.functional, "torch.linalg": torch.linalg, "math": math}
    modules |= {"numpy": numpy, "numpy.linalg": numpy.linalg}
    for module, names in MODULE_NAMES.items():
        assert [name for name in names if not hasattr(modules[module], name)] == []
    offered = set(dir(torch.Tensor)) | set(dir(dict)) | set(dir(list)) | {"astype"}
    assert (METHODS | CHANGING_METHODS) - offered == set()


def test_no_method_of_the_language_changes_a_container():
    assert not METHODS & {
        "append",
        "extend",
        "insert",
        "pop",
        "popitem",
        "clear",
        "remove",
        "sort",
        "reverse",
        "update",
    }


UNARY = {name for name in FRESH_FUNCTIONS if name.startswith("torch.") and name.split(".")[1] in dir(torch.Tensor)}


@pytest.mark.parametrize(
    "value", [torch.rand(4, 4), torch.zeros(1), torch.tensor(0.5), torch.ones(4, 4, dtype=torch.bool)]
)
@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
def test_what_is_taken_for_new_memory_is_new_memory(value):
    for name in sorted(UNARY):
        try:
            result = getattr(torch, name.split(".")[1])(value)
        except (TypeError, RuntimeError, IndexError, ValueError):
            continue
        if isinstance(result, torch.Tensor):
            assert result.untyped_storage().data_ptr() != value.untyped_storage().data_ptr() or not value.numel(), name


def test_pairs_and_lists_of_operands_are_new_memory_too():
    value, zero, one = torch.rand(4), torch.zeros(4), torch.ones(4)
    results = [
        *(value + 0, value * 1, value**1, -value, value % 10, value // 1),
        *(torch.cat([value]), torch.stack([value]), torch.where(one > 0, value, zero), torch.clamp(value, -9, 9)),
        *(torch.maximum(value, -one), torch.add(value, zero), torch.roll(value, 0), torch.flip(value, [0])),
        *(
            torch.lerp(value, one, 0.0),
            torch.nan_to_num(value),
            torch.round(value, decimals=9),
            torch.tile(value, (1,)),
        ),
        *(
            value.new_tensor(value.tolist()),
            torch.full_like(value, 1.0),
            value.clone(),
            value.masked_fill(one < 0, 1.0),
        ),
    ]
    for result in results:
        assert result.untyped_storage().data_ptr() != value.untyped_storage().data_ptr()


def test_components_of_other_types_are_converted_at_every_call():
    program = compile_reward(
        "def compute_reward(x):\n    return {'high': x > 0.2, 'count': (x > 0.2) * 1, 'x': 2.0 * x}\n"
    )
    for _ in range(3):
        found = program({"x": torch.tensor([0.0, 1.0])})
        assert {value.dtype for value in found.values()} == {torch.float32}
        assert found["high"].tolist() == found["count"].tolist() == [0.0, 1.0]


def test_a_total_without_components_is_refused_at_every_call():
    program = compile_reward("def compute_reward(x):\n    return x, {}\n")
    for _ in range(2):
        with pytest.raises(RewardError, match="0 components"):
            program({"x": torch.ones(2)})


def test_the_total_is_the_sum_of_the_components():
    components = call("return {'a': height, 'b': 2.0 * height, 'c': 1}")
    torch.testing.assert_close(components.total, 3.0 * torch.linspace(0.5, 1.5, 8) + 1.0)
    assert torch.equal(call("return {'a': height * 2.0}").total, 2.0 * torch.linspace(0.5, 1.5, 8))


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


LATE = {
    "not a number": ("torch.sqrt(height)", "non-finite"),
    "infinite": ("1.0 / height.clamp(min=0.0)", "non-finite"),
}


@pytest.mark.parametrize("name", LATE)
@pytest.mark.parametrize("form", ["return {{'fine': height * 1.0, 'late': {0}}}", "x = {0}\nreturn x, {{'late': x}}"])
def test_a_reward_that_was_sound_in_many_calls_is_told_when_it_is_not(name, form):
    expression, kind = LATE[name]
    body = form.format(expression).replace("\n", "\n    ")
    program = compile_reward(f"def compute_reward(height):\n    {body}\n")
    for _ in range(100):
        program({"height": torch.ones(8)})
    with pytest.raises(RewardError) as caught:
        program({"height": -torch.ones(8)})
    assert (caught.value.kind, caught.value.component) == (kind, "late")


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
    monkeypatch.setattr("rewardgen.reward.program.checked_components", lambda returned, given: returned)
    program = compile_reward(f"def compute_reward(height, action):\n    return {{'made': height * 0 + {made}}}\n")
    for device in ("meta", "cpu"):
        made_there = program({"height": torch.ones(8, device=device), "action": torch.ones((8, 3), device=device)})
        assert made_there["made"].device.type == device
