"""Rewards as language models write them are accepted, and have the values of plain Python."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional

from rewardgen.reward.language import check_language
from rewardgen.reward.program import compile_reward
from rewardgen.reward.signature import check_signature
from rewardgen.reward.tolerance import tolerance
from tests.reward.corpus import HONEST, INPUTS, inputs
from tests.reward.corpus_numpy import HONEST_NUMPY


@pytest.mark.parametrize("style", HONEST)
def test_an_honest_reward_passes_language_and_signature(style):
    assert check_language(HONEST[style]) == ()
    assert check_signature(HONEST[style], INPUTS) == ()


@pytest.mark.parametrize("style", HONEST)
@pytest.mark.parametrize("envs", [1, 64])
def test_an_honest_reward_has_the_values_of_plain_python(style, envs):
    program = compile_reward(HONEST[style])
    components = program(inputs(envs))
    expected = in_plain_python(HONEST[style], program.inputs, envs)
    assert set(components) - {"residual"} == set(expected)
    for name, value in expected.items():
        torch.testing.assert_close(components[name], torch.as_tensor(value).float().expand(envs), rtol=1e-6, atol=1e-6)


def in_plain_python(source, names, envs):
    """Run a reward as plain Python: with torch, or with real numpy on arrays where that is its style."""
    scope = {"torch": torch, "math": math, "F": torch.nn.functional, "tolerance": tolerance, "np": np}
    exec(source.replace("@torch.jit.script", ""), scope)
    values = inputs(envs)
    if source in HONEST_NUMPY.values() and "import torch" not in source:
        returned = scope["compute_reward"](*(values[name].numpy().copy() for name in names))
    else:
        returned = scope["compute_reward"](*(values[name].clone() for name in names))
    return returned[1] if isinstance(returned, tuple) else returned
