"""Numpy in a reward: the values of real numpy, on tensors, and never a reduction over the envs."""

import math

import numpy as np
import pytest
import torch

from rewardgen.reward import program
from rewardgen.reward.language import check_language
from rewardgen.reward.numpy_subset import numpy_names
from rewardgen.reward.program import RewardError, compile_reward
from rewardgen.reward.vocabulary import words

SUBSET = numpy_names(lambda: torch.device("cpu"))
UNIT = ("arcsin", "arccos", "arctanh")
ABOVE_ONE = ("arccosh",)
ONE = words("""
exp exp2 expm1 log log2 log10 log1p sqrt square sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh
arctanh sinc deg2rad rad2deg radians degrees abs absolute fabs sign floor ceil trunc rint negative positive
reciprocal isfinite isinf isnan cbrt logical_not nan_to_num round zeros_like ones_like copy
""")
TWO = words("""
add subtract multiply divide true_divide remainder mod fmod floor_divide arctan2 fmax fmin maximum minimum hypot
copysign heaviside logaddexp logaddexp2 power float_power equal not_equal greater greater_equal less less_equal
logical_and logical_or logical_xor isclose
""")
REDUCED = words("""
sum mean prod max amax min amin std var median any all argmax argmin count_nonzero
""")
ALONG = words("""
cumsum cumprod diff sort
""")


def values(name, *shape, seed=3):
    made = np.random.default_rng(seed).uniform(0.1, 0.9, shape)
    return made + 1.0 if name in ABOVE_ONE else made


def same(ours, theirs, tolerance=1e-6):
    if isinstance(ours, torch.Tensor):
        assert tuple(ours.shape) == np.shape(theirs)
        ours = ours.numpy()
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ONE)
def test_a_function_of_one_value_is_numpys(name, dtype):
    x = values(name, 7, 3).astype(dtype)
    result = SUBSET[name](torch.from_numpy(x))
    same(result, getattr(np, name)(x))
    if result.is_floating_point():
        assert result.dtype == torch.from_numpy(x).dtype


@pytest.mark.parametrize("name", ONE)
def test_a_function_of_a_number_is_a_number(name):
    number = 1.3 if name in ABOVE_ONE else 0.3
    if name not in ("zeros_like", "ones_like"):
        assert isinstance(SUBSET[name](number), float | int)
        same(SUBSET[name](number), getattr(np, name)(number))


@pytest.mark.parametrize("name", TWO)
def test_a_function_of_two_values_is_numpys(name):
    x, y = values(name, 7, 3).astype(np.float32), values(name, 7, 3, seed=4).astype(np.float32)
    ours = [torch.from_numpy(x), torch.from_numpy(y)]
    same(SUBSET[name](*ours), getattr(np, name)(x, y))
    same(SUBSET[name](ours[0], 0.5), getattr(np, name)(x, 0.5))
    same(SUBSET[name](0.5, ours[1]), getattr(np, name)(0.5, y))
    same(SUBSET[name](0.5, 0.25), getattr(np, name)(0.5, 0.25))


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [-1, 1, 2, (1, 2)])
@pytest.mark.parametrize("name", REDUCED)
def test_a_reduction_along_an_axis_is_numpys(name, axis, keepdims):
    if name.startswith("arg") and isinstance(axis, tuple):
        return
    x = np.where(values(name, 5, 3, 4) > 0.4, values(name, 5, 3, 4), 0.0).astype(np.float32)
    same(
        SUBSET[name](torch.from_numpy(x), axis=axis, keepdims=keepdims),
        getattr(np, name)(x, axis=axis, keepdims=keepdims),
    )


@pytest.mark.parametrize("name", ALONG)
def test_a_function_along_an_axis_is_numpys(name):
    x = values(name, 5, 3).astype(np.float32)
    same(SUBSET[name](torch.from_numpy(x), axis=-1), getattr(np, name)(x, axis=-1))


@pytest.mark.parametrize("ord", [None, 1, 2, np.inf])
def test_a_norm_is_numpys(ord):
    x = values("", 5, 3).astype(np.float32)
    same(SUBSET["linalg.norm"](torch.from_numpy(x), ord, axis=-1), np.linalg.norm(x, ord, axis=-1))
    keep = SUBSET["linalg.norm"](torch.from_numpy(x), axis=1, keepdims=True)
    same(keep, np.linalg.norm(x, axis=1, keepdims=True))


def cases():
    x, y = values("", 6).astype(np.float32), values("", 6, 3).astype(np.float32)
    table = ([0.0, 0.5, 1.0], [0.0, 2.0, 1.0])
    return (
        {
            "clip": lambda m, a, b: m.clip(a, 0.2, 0.6),
            "clip from below": lambda m, a, b: m.clip(a, 0.5, None),
            "clip by names": lambda m, a, b: m.clip(b, a_min=0.2, a_max=0.6),
            "clip between arrays": lambda m, a, b: m.clip(a, a * 0.5, 0.4),
            "where": lambda m, a, b: m.where(a > 0.5, 1.0, a),
            "where of numbers": lambda m, a, b: m.where(a > 0.5, 1.0, 0.0),
            "where of a float condition": lambda m, a, b: m.where(m.floor(a + 0.5), a, 2.0),
            "select": lambda m, a, b: m.select([a > 0.7, a > 0.3], [a * 2.0, a], default=-1.0),
            "interp": lambda m, a, b: m.interp(a * 2.0 - 0.5, *table),
            "stack": lambda m, a, b: m.stack([a, 2.0 * a], axis=-1),
            "sum of a list of terms": lambda m, a, b: m.sum([a, 2.0 * a], axis=0),
            "largest of a list of terms": lambda m, a, b: m.max([a, 1.0 - a], axis=0),
            "norm of a list of terms": lambda m, a, b: m.linalg.norm([a, 2.0 * a], axis=0),
            "concatenate": lambda m, a, b: m.concatenate([b, 2.0 * b], axis=-1),
            "concatenate numbers too": lambda m, a, b: m.concatenate((b, b[:, :1]), axis=1),
            "column_stack": lambda m, a, b: m.column_stack((a, b)),
            "array": lambda m, a, b: b * m.array([1.0, 2.0, 0.5]),
            "array of terms": lambda m, a, b: m.sum(m.array([a, a * a]), axis=0),
            "asarray": lambda m, a, b: m.asarray(b)[:, 1],
            "zeros": lambda m, a, b: m.zeros(3) + b + m.ones((3,)) + m.full(3, 2.0),
            "arange": lambda m, a, b: b * m.arange(3) + m.linspace(0.0, 1.0, 3),
            "full_like": lambda m, a, b: m.full_like(a, 0.5) + m.zeros_like(a),
            "dot with a constant": lambda m, a, b: m.dot(b, m.array([1.0, 2.0, 3.0])),
            "dot with a matrix": lambda m, a, b: m.dot(b, m.eye(3)),
            "cross": lambda m, a, b: m.cross(b, b[:, ::-1] if m is np else torch.flip(b, [1])),
            "cross with a constant": lambda m, a, b: m.cross(b, m.array([0.0, 0.0, 1.0])),
            "constants": lambda m, a, b: a * m.pi + m.e - m.sum([1.0, 2.0]) * m.mean([1.0, 3.0]),
            "axes": lambda m, a, b: m.squeeze(m.expand_dims(a, -1), axis=-1) + m.reshape(b, (-1, 3))[:, 0],
            "infinities": lambda m, a, b: m.nan_to_num(a / (a - a), posinf=5.0),
            "round": lambda m, a, b: m.round(a, 1),
            "isclose": lambda m, a, b: m.isclose(a, a + 1e-3, atol=1e-2),
        },
        x,
        y,
    )


class Ours:
    class linalg:  # noqa: N801
        norm = staticmethod(SUBSET["linalg.norm"])

    def __getattr__(self, name):
        return SUBSET[name]


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("name", cases()[0])
def test_arrays_are_made_joined_and_picked_as_numpy_does(name):
    table, x, y = cases()
    same(table[name](Ours(), torch.from_numpy(x), torch.from_numpy(y)), table[name](np, x, y))


@pytest.mark.parametrize("call", [f"{name}(x)" for name in (*REDUCED, "cumsum", "cumprod", "linalg.norm")])
@pytest.mark.parametrize("envs", [1, 8])
@pytest.mark.parametrize("column", ["x = height", "x = action", "x = action ** 2"])
def test_a_reduction_without_an_axis_is_an_error_that_says_which_to_pass(call, envs, column):
    error = failure(f"{column}\ny = np.{call}", envs)
    assert "would mix the envs" in error.message and "axis=-1" in error.hint
    assert error.line == 4


@pytest.mark.parametrize("call", ["concatenate([action, action])", "dot(height, height)", "sum(action, axis=())"])
def test_what_would_mix_envs_in_other_ways_is_an_error_too(call):
    assert "axis=-1" in failure(f"y = np.{call}").message


def failure(body, envs=8):
    with pytest.raises(RewardError) as caught:
        run(f"{body}\nreturn {{'h': height}}", envs)
    return caught.value


def run(body, envs=8):
    indented = "".join(f"    {line}\n" for line in body.split("\n"))
    source = f"import numpy as np\ndef compute_reward(height, action):\n{indented}"
    assert check_language(source) == ()
    inputs = {"height": torch.linspace(0.5, 1.5, envs), "action": torch.full((envs, 3), 0.5)}
    return compile_reward(source)(inputs)


def test_methods_mean_what_they_mean_in_numpy():
    body = """near = (height > 1.0).astype(np.float32)
held = action.copy()
held[:, 0] = 2.0
spread = held.std(axis=-1)
best = held.max(axis=-1)
return {"near": near, "spread": spread, "best": best, "half": np.float32(0.5) * height}"""
    components = run(body)
    assert components["near"].sum() == 4
    torch.testing.assert_close(components["spread"], torch.full((8,), float(np.std([2.0, 0.5, 0.5]))))
    assert components["best"].tolist() == [2.0] * 8


def test_real_numpy_is_out_of_reach():
    compiled = compile_reward("import numpy\ndef compute_reward(height):\n    return {'h': numpy.exp(height)}\n")
    reachable = compiled._function.__globals__
    assert not [name for name, value in reachable.items() if str(getattr(value, "__module__", "")).startswith("numpy")]
    assert math.isclose(compiled({"height": torch.zeros(2)})["h"][0], 1.0)


@pytest.mark.parametrize("source", ["np.load('x')", "np.random.rand(3)", "np.memmap('x')", "np.vectorize(abs)(height)"])
def test_what_is_not_in_the_subset_is_refused_with_a_remedy(source):
    findings = check_language(f"import numpy as np\ndef compute_reward(height):\n    return {{'h': {source}}}\n")
    assert findings and all(finding.hint for finding in findings)


@pytest.mark.parametrize(
    "make",
    [
        lambda np, x: np.zeros(3) + np.ones((3,)) + np.full(3, 2.0) + np.array([1.0, 2.0, 3.0]) + np.arange(3),
        lambda np, x: np.where(x > 0.5, np.maximum(x, 0.1), np.clip(x, 0.0, 1.0)),
        lambda np, x: np.dot(x, [1.0, 2.0, 3.0]) + np.sum([x[:, 0], x[:, 1]], axis=0),
        lambda np, x: np.cross(x, [0.0, 0.0, 1.0]) + np.stack([x[:, 0], 1.0, 2.0], axis=-1),
        lambda np, x: np.interp(x, [0.0, 1.0], [1.0, 0.0]) + np.arctan2(x, 2.0) + np.linspace(0.0, 1.0, 3),
    ],
)
def test_everything_stays_on_the_device_of_the_inputs(make):
    elsewhere = torch.device("meta")

    class Elsewhere:
        def __getattr__(self, name):
            return numpy_names(lambda: elsewhere)[name]

    assert make(Elsewhere(), torch.ones(4, 3, device=elsewhere)).device == elsewhere


def test_arrays_made_outside_the_function_follow_the_inputs():
    assert program._moved({"a": [torch.ones(2)]}, torch.device("meta"))["a"][0].device.type == "meta"
