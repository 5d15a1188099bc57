"""What would take all memory or time is an error before it does; arithmetic that cannot grow is left as it is."""

# ruff: noqa: E501

import resource
import time

import pytest
import torch

from rewardgen.reward.language import check_language
from rewardgen.reward.program import RewardError, compile_reward

NUM_ENVS = 4096

BOMBS = {
    # Integers.
    "power of powers": "x = 10 ** 10 ** 10",
    "integer power in a loop": "x = 10\nfor i in range(12):\n    x = x ** 16",
    "integer product in a loop": "x = 9\nfor i in range(60):\n    x = x * x\nheight = height * (x % 7)",
    "integer product in a helper": "x = 9\nfor i in range(60):\n    x = square(x)\nheight = height * (x % 7)",
    "integer in place": "x = 9\nfor i in range(60):\n    x *= x\nheight = height * (x % 7)",
    # Lists and strings.
    "list times a number": "x = [0] * 1000000000",
    "list times a tensor": "x = [0] * torch.tensor(1000000000)",
    "number times a list": "x = 1000000000 * [0]",
    "string times a number": "x = 'a' * 1000000000",
    "list in a helper": "x = times([0.0], 1000000000)",
    "list from a dict": "d = {'a': [0.0]}\nx = d['a'] * 1000000000",
    "string in steps": "x = 'ab'\nfor i in range(40):\n    x = x + x",
    "list in steps": "x = [0]\nfor i in range(40):\n    x += x",
    "list of lists": "x = [0]\nfor i in range(40):\n    x = [*x, *x]",
    "tuple of lists": "x = (0,)\nfor i in range(40):\n    x = (*x, *x)",
    "list that extends itself": "x = [0]\nfor i in range(40):\n    x.extend(x)",
    "f-string in steps": "x = 'ab'\nfor i in range(40):\n    x = f'{x}{x}'",
    "text of nested lists": "x = [0]\nfor i in range(40):\n    x = [x, x]\ny = str(x)",
    "text of nested slices": "x = 0\nfor i in range(40):\n    x = slice(x, x)\ny = str(x)",
    "comparison of nested lists": "x = [0]\ny = [0]\nfor i in range(40):\n    x = [x, x]\n    y = [y, y]\nz = x == y",
    "sum of nested lists": "x = [0]\nfor i in range(40):\n    x = [x, x]\ny = np.sum(x)",
    "product of nested lists": "x = [0]\nfor i in range(40):\n    x = [x, x]\ny = np.multiply(x, 2.0)",
    "largest of nested lists": ("x = [0]\ny = [0]\nfor i in range(40):\n    x = [x, x]\n    y = [y, y]\nz = max(x, y)"),
    "tensor of nested lists": "x = [0]\nfor i in range(40):\n    x = [x, x]\ny = torch.tensor(x)",
    # Tensors from numbers.
    "zeros": "x = torch.zeros(10 ** 6, 10 ** 6)",
    "zeros of a tuple": "x = torch.zeros((100000, 100000))",
    "zeros by name": "x = torch.zeros(size=(100000, 100000))",
    "zeros of envs": "x = torch.zeros(height.shape[0], height.shape[0])",
    "zeros of a tensor": "x = torch.zeros(torch.tensor(10 ** 9))",
    "ones": "x = torch.ones(10 ** 10)",
    "full": "x = torch.full((10 ** 5, 10 ** 5), 1.0)",
    "eye": "x = torch.eye(10 ** 5)",
    "arange": "x = torch.arange(10 ** 10)",
    "arange of small steps": "x = torch.arange(0.0, 1.0, 1e-10)",
    "linspace": "x = torch.linspace(0.0, 1.0, 10 ** 9)",
    "linspace by name": "x = torch.linspace(0.0, 1.0, steps=10 ** 9)",
    "new_zeros": "x = height.new_zeros(10 ** 6, 10 ** 6)",
    "new_full": "x = height.new_full((10 ** 6, 10 ** 6), 1.0)",
    "numpy zeros": "x = np.zeros((10 ** 6, 10 ** 6))",
    "numpy eye": "x = np.eye(10 ** 6)",
    "numpy arange": "x = np.arange(10 ** 10)",
    "imported by name": "from torch import zeros as z\nx = z(10 ** 6, 10 ** 6)",
    # Tensors from tensors.
    "repeat": "x = height.repeat(100000)",
    "repeat in steps": "x = height\nfor i in range(40):\n    x = x.repeat(2)",
    "repeat_interleave": "x = height.repeat_interleave(100000)",
    "tile": "x = torch.tile(height, (100000,))",
    "expand and clone": "x = height.unsqueeze(1).expand(-1, 100000000).clone()",
    "chain of expands": "x = height[:, None].expand(-1, 200)\nx = x[:, :, None].expand(-1, -1, 100000) * 1.0",
    "broadcast_to": "x = torch.broadcast_to(height, (100000, 4096))",
    "column plus row": "x = height[:, None] + height[None, :]",
    "column plus flat": "x = action.sum(-1, keepdim=True) * height",
    "sliced column": "x = action[:, 0:1] - height",
    "listed column": "x = action[:, [0]] - height",
    "unsqueezed": "x = torch.maximum(height.unsqueeze(-1), height)",
    "by a method": "x = height.unsqueeze(-1).sub(height)",
    "by where": "x = torch.where(height.view(-1, 1) > 0, height, 0.0)",
    "from a dict": "x = {'a': height.view(-1, 1)}\nx = x.get('a') * height",
    "added from a dict": "x = {'a': height.view(-1, 1)}\nx = x.get('a') + x.get('b', height)",
    "power from a dict": "x = {'a': height.view(-1, 1)}\nx = x.get('a') ** height",
    "compared from a dict": "x = {'a': height.view(-1, 1)}\nx = x.get('a') < x.get('b', height)",
    "by a chain of comparisons": "x = height[:, None] < height < 2.0",
    "by lists of numpy": "x = np.maximum([height], height[:, None])",
    "by a stack of numpy": "x = np.stack([height[:, None], height])",
    "expand by name": "x = height.expand(size=(100000, 4096)).clone()",
    "by tolerance": "x = tolerance(height.view(-1, 1), lower=height)",
    "by a comparison": "x = height.reshape(-1, 1) < height",
    "by a sum": "x = sum([height[:, None], height])",
    "in place": "x = height[:, None]\nx *= height",
    "by a helper": "x = times(height[:, None], height)",
    "column of zeros": "x = torch.zeros(height.shape[0], 1) + height",
    "column by a flag": "k = True\nx = action.sum(-1, k) + height",
    "column of a stack": "x = torch.stack([height], dim=-1) + height",
    "column of a product": "x = action @ torch.ones(3, 1) + height",
    "column of numpy": "x = np.sum(action, axis=-1, keepdims=True) + height",
    "outer": "x = torch.outer(height, height)",
    "cdist": "x = torch.cdist(action, action)",
    "matmul": "x = action @ action.T",
    "mm": "x = torch.mm(action, action.T)",
    "matmul of columns": "x = torch.matmul(height.unsqueeze(1), height.unsqueeze(0))",
    "einsum": "x = torch.einsum('ia,ja->ij', action, action)",
    "meshgrid": "x, y = torch.meshgrid(height, height)",
    "pad": "x = F.pad(height, (0, 10 ** 9))",
    "picked again and again": "i = torch.zeros(900, 900, dtype=torch.long)\nx = height[i]\nx = x[i]",
    "picked crosswise": "i = torch.zeros(4096, dtype=torch.long)\nx = torch.zeros(9, 9)[i[:, None], i[None, :]]",
    "picked parts": "x = action[:, torch.zeros(900, 900, dtype=torch.long)]",
    "same tensor stacked": "x = torch.stack([height] * 10000)",
    "many parts": "x = torch.cat([torch.ones(1000000)] * 60)",
    "many parts by name": "x = torch.cat(tensors=[torch.ones(1000000)] * 60)",
    "many rows": "x = torch.vstack([torch.ones(1000000)] * 60)",
    "many columns": "x = torch.column_stack([torch.ones(1000000)] * 60)",
    "many parts of numpy": "x = np.concatenate([torch.ones(1000000)] * 60, axis=0)",
    "many numbers beside an array": "x = np.stack([0.0] * 9000 + [height])",
    "sum of tuples": "x = torch.ones((len(height),) + (100000,))",
    "sum of lists": "x = torch.ones([len(height)] + [1000] * 2)",
    "broadcast_to by name": "x = torch.broadcast_to(height, size=(100000, 4096)) * 1.0",
    "many axes": "x = torch.ones(64, 64, 64, 1) @ torch.ones(64, 64, 1, 64)",
    "diagonal": "x = torch.diag(height)",
    "diagonal by a method": "x = height.diag()",
    "classes": "x = F.one_hot(torch.zeros(4096).long(), num_classes=10 ** 6)",
    "classes by place": "x = F.one_hot(torch.zeros(4096).long(), 10 ** 6)",
    # Numbers and keys.
    "rounded to tens": "x = round(7, -999999999)",
    "rounded by a constant": "n = 999999999\nx = round(7, 0 - n)",
    "key of nested tuples": "x = (0,)\nfor i in range(40):\n    x = (x, x)\ny = {x: 1.0}",
    "deep key": f"x = 0\nfor i in range(900):\n    for j in range(9):\n        x = {'(' * 25}x{',)' * 25}\ny = {{x: 1.0}}",
    "deep set": f"x = 0\nfor i in range(900):\n    for j in range(9):\n        x = {'(' * 25}x{',)' * 25}\ny = {{x}}",
    "deep index": f"x = 0\nd = {{1: 2}}\nfor i in range(900):\n    for j in range(9):\n        x = {'(' * 25}x{',)' * 25}\ny = d[x]",
    "deep pairs": f"x = 0\nfor i in range(900):\n    for j in range(9):\n        x = {'(' * 25}x{',)' * 25}\ny = dict([(x, 1)])",
    "deep default": f"x = 0\nd = {{}}\nfor i in range(900):\n    for j in range(9):\n        x = {'(' * 25}x{',)' * 25}\nd.setdefault(x, 1)",
    "deep text": f"x = 0\nfor i in range(900):\n    for j in range(9):\n        x = {'(' * 25}x{',)' * 25}\ny = str(x)",
    "deep equality": f"x = 0\nfor i in range(900):\n    for j in range(9):\n        x = {'(' * 25}x{',)' * 25}\ny = x == (x,)",
}

RUN = """
import numpy as np
def times(a, b):
    return a * b
def square(a):
    return a * a
"""


def source(body):
    indented = "".join(f"    {line}\n" for line in body.split("\n"))
    return f"{RUN}def compute_reward(height, action):\n{indented}    return {{'h': height}}\n"


def inputs(envs=NUM_ENVS):
    return {"height": torch.linspace(0.5, 1.5, envs), "action": torch.full((envs, 3), 0.5)}


def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@pytest.mark.parametrize("name", BOMBS)
def test_what_grows_without_bound_takes_neither_memory_nor_time(name):
    before, start = peak_mib(), time.perf_counter()
    try:
        compile_reward(source(BOMBS[name]))(inputs())
    except RewardError as error:
        assert error.hint
    else:
        # Integers that grow become floats, and the text of a list is short: those are no errors.
        assert name.startswith(("integer", "power", "text", "rounded", "deep text"))
    assert peak_mib() - before < 60.0
    assert time.perf_counter() - start < 2.0


GROWS_HONESTLY = {
    "difference of parts": "x = action[:, :, None] - action[:, None, :]\nheight = height + x.abs().sum((-1, -2))",
    "normalised": "x = action / action.norm(dim=-1, keepdim=True)\nheight = height + x.sum(-1)",
    "rotation": "r = torch.eye(3).expand(len(height), 3, 3)\nheight = (r @ action.unsqueeze(-1)).squeeze(-1).sum(-1)",
    "batched product": "x = torch.bmm(action.unsqueeze(1), action.unsqueeze(2))\nheight = height + x.flatten()",
    "repeated": "x = height.unsqueeze(1).repeat(1, 3)\nheight = (x * action).sum(-1)",
    "integers stay integers": "x = action.new_zeros(2 ** 3)\nfor i in range(3 * 2):\n    height = height + x[i]",
    "scaled list": "x = [0.0] * 3\nx[0] = 1.0\nheight = height * x[0]",
    "joined lists": "x = [height] + [2.0 * height]\nheight = sum(x)",
    "sum over pairs": "x = torch.einsum('ni,ni->n', action, action)\nheight = height + x",
    "picked by env": "i = action.argmax(-1)\nx = action[torch.arange(len(height)), i]\nheight = height + x",
    "picked from a table": "i = (height > 1.0).long()\nx = torch.tensor([0.5, 1.0])[i]\nheight = height + x",
    "masked": "x = height.clone()\nx[height > 1.0] = height[height > 1.0] * 2.0\nheight = x",
    "picked parts": "x = action[:, [0, 2]]\nheight = height + x.sum(-1)",
}


@pytest.mark.parametrize("name", GROWS_HONESTLY)
@pytest.mark.parametrize("envs", [1, 64, NUM_ENVS])
def test_what_grows_with_the_parts_of_an_env_is_allowed(name, envs):
    text = source(GROWS_HONESTLY[name])
    assert check_language(text) == ()
    assert compile_reward(text)(inputs(envs))["h"].shape == (envs,)


def test_columns_among_the_inputs_are_guarded_too():
    text = source("x = height * action")
    given = inputs()
    with pytest.raises(RewardError, match="too large"):
        compile_reward(text)(given | {"action": given["action"][:, :1]})


HELPERS = """
X = torch.ones(())
named = lambda a: a.view(-1)
def double(a):
    return 2.0 * a
def same(a):
    return a
def either(a, new):
    if new:
        b = a * 1.0
        return b
    return a
def nested(a):
    return double(a)
def nested_same(a):
    return same(a)
"""


@pytest.mark.parametrize(
    "body",
    [
        "return {'h': height, 'a': action[:, 0], 'x': X}",
        "return {'h': height}",
        "x = height.view(-1)\nreturn {'x': x * 1.0, 'y': x}",
        "d = {'x': height * 2.0}\nd['y'] = height\nreturn d",
        "d = {'x': height * 2.0}\nd.update({'y': height})\nreturn d",
        "d = {'x': height * 2.0}\nd['y'], z = height, 1.0\nreturn d",
        "d = {'x': height * 2.0}\nfor d['y'] in [height]:\n    pass\nreturn d",
        "x = height * 1.0\nfor x in [height]:\n    pass\nreturn {'x': x}",
        "return height + 1.0, {'h': height}",
        "x = height * 2.0\nreturn {'x': x, 'y': x.clamp(0.0, 9.0)}",
        "return height, {'h': height * 2.0}",
        "return {'x': double(height), 'y': same(height)}",
        "x = same(height)\nreturn {'x': x, 'y': double(height)}",
        "return {'x': either(height, 1), 'y': either(height, 0)}",
        "return {'x': named(height), 'y': tolerance(height, 0.0, 9.0)}",
        "return {'x': nested(height), 'y': nested_same(height)}",
    ],
)
def test_what_a_reward_returns_shares_no_memory_with_what_it_got(body):
    indented = "".join(f"    {line}\n" for line in body.split("\n"))
    program = compile_reward(f"{HELPERS}def compute_reward(height, action):\n{indented}")
    given = inputs(8)
    kept = {name: value.clone() for name, value in given.items()}
    expected = {name: value.clone() for name, value in program(given).items()}
    for _ in range(3):
        components = program(given)
        assert all(torch.equal(components[name], value) for name, value in expected.items())
        for value in components.values():
            value.fill_(7.0)
        assert all(torch.equal(given[name], value) for name, value in kept.items())
