"""No reward gets to know how many worlds there are, or what a tensor holds, as a number of Python."""

import pytest
import torch

from rewardgen.reward.language import check_language
from rewardgen.reward.program import RewardError, compile_reward

HELPERS = "import numpy as np\nTABLE = torch.arange(200)\ndef count(x):\n    return x.shape[0]\n"


def source(body):
    return f"{HELPERS}def compute_reward(x, action):\n    {body.replace(chr(10), chr(10) + '    ')}\n"


def inputs(worlds):
    return {"x": torch.linspace(0.5, 1.5, worlds), "action": torch.full((worlds, 4), 0.5)}


SIZES = (
    *(
        "x.shape[0]",
        "x.shape[-1]",
        "len(x)",
        "x.size(0)",
        "x.size()[0]",
        "x.numel()",
        "torch.numel(x)",
        "action.shape[0]",
    ),
    *("action.size(dim=0)", "action.shape[:1][0]", "[*x.shape][0]", "list(x.shape)[0]", "action.numel()", "count(x)"),
    *("max(action.shape)", "action.T.shape[1]", "x[None].shape[1]", "torch.cat([x, x]).shape[0]", "len(x + 1.0)"),
    *("action.reshape(-1).shape[0]", "x.shape.numel()", "len(np.asarray(x))", "np.stack([x, x]).shape[1]"),
    *("torch.zeros(len(x)).shape[0]", "torch.arange(len(x)).numel()", "action[:, :2].shape[0]", "x[:, None].size(0)"),
    *("action.flatten().size(0)", "x.expand(3, -1).shape[1]", "torch.ones_like(x).shape[0]", "dict(n=len(x))['n']"),
)
USES = (
    *("if {} == 128:\n    pass", "if {} > 128:\n    pass", "y = 1.0 if {} != 128 else 2.0", "if {}:\n    pass"),
    *("y = not {}", "y = {} and 1.0", "for i in range({}):\n    pass", "y = [0] * {}", "y = 3 * {}", "y = {} // 2"),
    *("y = {} - 128", "y = {} * 0.5", "y = {} / 128", "y = {} % 128", "y = {} ** 2", "y = -{}", "y = abs({})"),
    *(
        "y = int({})",
        "y = float({})",
        "y = bool({})",
        "y = str({})",
        "y = f'{{{}}}'",
        "y = f'{{{}:d}}'",
        "y = round({})",
    ),
    *("y = {{{}: 1.0}}", "y = {{128: 1.0}}.get({})", "y = {{{}}}", "y = {{128: 1.0}}[{}]", "y = {} in [128, 256]"),
    *("y = 128 in [{}]", "y = {} in {{128}}", "y = [1.0, 2.0][{}]", "y = min({}, 128)", "y = sorted([{}, 128])"),
    *("y = max([{}, 128])", "y = sum([{}])", "y = math.sqrt({})", "y = [{}] == [128]", "y = ({}, 1) < (128, 1)"),
    *("y = 100 < {} < 200", "y = all([{}])", "y = any([{}])", "y = list(range(200))[:{}]", "y = 'a' * {}"),
    *(
        "y = enumerate([1.0], {})",
        "y = {{k: 1.0 for k in [{}]}}",
        "y = [1.0 for k in [1] if {}]",
        "y = np.sqrt({} * 1)",
    ),
)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("worlds", [64, 128, 4096])
def test_the_number_of_worlds_is_nothing_to_compare(size, worlds):
    text = source(f"y = {size}\nif y == 128:\n    x = 2.0 * x\nreturn {{'x': x}}")
    with pytest.raises(RewardError) as caught:
        compile_reward(text)(inputs(worlds))
    assert "any number of worlds" in caught.value.hint


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("worlds", [5, 128, 4096])
def test_the_number_of_worlds_is_good_for_nothing_in_python(use, worlds):
    text = source(f"{use.format('x.shape[0]')}\nreturn {{'x': x}}")
    with pytest.raises(RewardError) as caught:
        compile_reward(text)(inputs(worlds))
    assert caught.value.hint


ROADS = {
    # By comparing shapes.
    "equal shapes": "k = x.shape == torch.zeros(128).shape",
    "twice as many": "k = len(torch.cat([x, x])) == len(x)",
    "as many as a mask picks": "k = TABLE[TABLE < torch.ones_like(x).sum()].shape == x.shape",
    "sizes of two": "k = x.size() == (128,)",
    # By going through the worlds.
    "a loop": "k = 0\nfor each in x * 1.0:\n    k = k + 1",
    "a comprehension": "k = len([each for each in x * 1.0])",
    "a list": "k = len(list(x))",
    "a tuple": "k = len(tuple(x))",
    "pairs": "k = len(enumerate(x))",
    "zipped": "k = len(zip(x, x))",
    "backwards": "k = len(reversed(x))",
    "in order": "k = len(sorted(x))",
    "a star": "k = len([*x])",
    "a rest": "first, *rest = x\nk = len(rest)",
    "a rest in a loop": "for first, *rest in [x]:\n    k = len(rest)",
    "a rest in a comprehension": "k = [len(rest) for first, *rest in [x]]",
    "a rest in brackets": "(first, *rest), other = x, 1\nk = len(rest)",
    "extended": "y = [0]\ny.extend(x)\nk = len(y)",
    "distinct": "k = len(set(x))",
    "a dict": "k = len(dict(action))",
    "unbound": "k = len(x.unbind())",
    "unbound by name": "k = len(torch.unbind(action, dim=0))",
    "turned and unbound": "k = len(action.T.unbind(-1))",
    "split": "k = len(x.split(100))",
    "split by torch": "k = len(torch.split(x, 1000))",
    "chunks": "k = len(x.chunk(100000))",
    "tensor_split": "k = torch.tensor_split(x, (4000, 4100))[1].shape[0]",
    # By a tensor that became small.
    "every thousandth": "k = x[::1000].shape[0]",
    "the last ones": "k = len(x[4000:])",
    "some late ones": "k = len(x[4000:4100])",
    "some of a turned one": "k = action.T[:, 4000:4100].shape[1]",
    "some by names": "low = 4000\nk = len(x[low : low + 100])",
    "up to N": "k = len(TABLE[: len(x)])",
    "a mask": "k = len(TABLE[TABLE < torch.ones_like(x).sum() / 32])",
    "a mask in a list": "k = len(TABLE[[TABLE < torch.ones_like(x).sum() / 32]])",
    "a mask of worlds": "k = len(x[torch.arange(len(x)) < 3])",
    "places": "k = torch.where(x > 1.4)[0].shape[0]",
    "steps": "k = torch.arange(0, len(x), 1000).shape[0]",
    "steps of numpy": "k = len(np.arange(0, len(x), 1000))",
    "steps by names": "k = torch.arange(end=len(x), start=4000).shape[0]",
    "steps to a tensor": "k = torch.arange(torch.ones_like(x).sum() / 32).shape[0]",
    "cut off": "k = len(F.pad(x, (-4000, 0)))",
    "differences": "k = len(torch.diff(x, n=4000))",
    "differences of numpy": "k = np.diff(action, 4000, axis=0).shape[0]",
    "windows": "k = x.unfold(0, 4000, 1).shape[0]",
    "a window": "k = x.unfold(0, 64, 64).shape[0]",
    "a diagonal": "k = x[:, None].expand(-1, 200).diagonal(-4000).shape[0]",
    "diag": "k = torch.diag(x[:, None].expand(-1, 200), -4000).shape[0]",
    "squeezed": "k = TABLE[TABLE < torch.ones_like(x).sum() / 4096].squeeze().ndim",
    "zeros of a tensor": "k = torch.zeros((torch.ones_like(x).sum() / 100).long()).shape[0]",
    "ones of a tuple": "k = torch.ones(((torch.ones_like(x).sum() / 100).long(), 1)).shape[0]",
    "new_zeros": "k = x.new_zeros((torch.ones_like(x).sum() / 100).long()).shape[0]",
    "repeated": "k = torch.ones(1).repeat((torch.ones_like(x).sum() / 100).long()).shape[0]",
    "expanded": "k = torch.ones(1).expand((torch.ones_like(x).sum() / 100).long()).shape[0]",
    "narrowed": "k = TABLE.narrow(0, 0, (torch.ones_like(x).sum() / 100).long()).shape[0]",
    "linspace": "k = torch.linspace(0.0, 1.0, (torch.ones_like(x).sum() / 100).long()).shape[0]",
    "the largest": "k = TABLE.topk((torch.ones_like(x).sum() / 100).long()).values.shape[0]",
    "summed along": "k = torch.ones(3, 4).sum((x.sum() > 0.0).long()).shape[0]",
    "flattened from": "k = torch.ones(3, 4, 5).flatten((x.sum() > 0.0).long()).ndim",
    "padded by": "k = len(F.pad(TABLE, (0, (x.sum() > 0.0).long())))",
    "classes": "k = F.one_hot((x * 3.0).long()).shape[1]",
    "classes of a tensor": "k = F.one_hot((x * 3.0).long(), num_classes=(x.sum() > 0.0).long() + 5).shape[1]",
    "parts of so many": "k = len(TABLE.split(len(x)))",
    "so many parts": "k = len(torch.ones(4, 3).chunk(len(x)))",
    "so many parts of torch": "k = len(torch.tensor_split(TABLE, len(x)))",
    "parts at what a mask picks": "k = len(torch.tensor_split(TABLE, TABLE[TABLE < torch.ones_like(x).sum() / 4096]))",
    "parts of a tensor's number": "k = len(torch.ones(4, 3).split((x.sum() > 0.0).long() + 1))",
    "parts along a tensor's axis": "k = len(torch.ones(4, 3).unbind((x.sum() > 0.0).long()))",
    "the length of a shape": "k = len(TABLE[TABLE < torch.ones_like(x).sum() / 4096].squeeze().shape)",
    "the length of a shape of numpy": "k = len(np.squeeze(TABLE[TABLE < torch.ones_like(x).sum() / 4096], 0).shape)",
    "joined along": "k = torch.cat([torch.ones(3, 4)] * 2, dim=(x.sum() > 0.0).long()).shape[0]",
    "joined along by place": "k = torch.cat([torch.ones(3, 4)] * 2, (x.sum() > 0.0).long()).shape[0]",
    "stacked along": "k = torch.stack([torch.ones(3, 4)] * 2, dim=(x.sum() > 0.0).long()).shape[0]",
    "selected along": "k = torch.ones(3, 4).select((x.sum() > 0.0).long(), 0).shape[0]",
    "picked along": "k = torch.ones(3, 4).index_select((x.sum() > 0.0).long(), torch.tensor([0, 1])).shape[0]",
    "turned": "k = torch.ones(3, 4, 5).transpose((x.sum() > 0.0).long(), 2).shape[0]",
    "the larger of numpy": "m = 0\nk = np.maximum(len(x), m)",
    "clipped by numpy": "m = 0\nk = np.clip(len(x), m, 10 ** 9)",
    "chosen by numpy": "m = 1\nk = np.where(m, len(x), m)",
    "summed by numpy": "m = 0\nk = np.sum([len(x), m], axis=m)",
    "the largest of numpy": "m = None\nk = np.max([len(x), 3], axis=m)",
    "a root of numpy": "k = np.sqrt(len(x))",
    # By a size that hides it.
    "joined": "k = torch.cat([x[:, None], torch.ones(5, 1)]).shape[0]",
    "joined by numpy": "k = np.concatenate([x, np.zeros(5)]).shape[0]",
    "a part of them": "k = x.view(128, -1).shape[1]",
    "a part of them by torch": "k = torch.reshape(x, (128, -1)).shape[1]",
    "a part of them by unflatten": "k = x.unflatten(0, (128, -1)).shape[1]",
    "squeezed or not": "k = x.view(-1, 4096).squeeze().dim()",
    "squeezed or not, by its shape": "k = len(x.reshape((-1, 4096)).squeeze(0).shape)",
    "kept from a mask": "y, m = [], x > 1.0\nz = x.clone()\nz[m] = [y.append(x[m]), x[m]][1]\nk = y[0].shape[0]",
    "kept from a mask by a function": (
        "y, m = [], x > 1.0\ndef keep(v):\n    y.append(v)\n    return v\n"
        "z = x.clone()\nz[m] = keep(x[m])\nk = y[0].shape[0]"
    ),
    # By a tensor that holds it.
    "a tensor decides": "k = torch.ones_like(x).sum()\nif k == 128:\n    x = x * 2.0",
    "a tensor is compared": "k = 1.0 if torch.ones_like(x).sum() > 128 else 2.0",
    "a tensor is denied": "k = not (torch.ones_like(x).sum() > 128)",
    "a tensor and more": "k = torch.ones_like(x).sum() > 128 and 2.0",
    "a tensor or more": "k = torch.ones_like(x).sum() > 128 or 2.0",
    "between": "k = 100 < torch.ones_like(x).sum() < 200",
    "float": "k = float(torch.ones_like(x).sum())",
    "int": "k = int(torch.ones_like(x).sum())",
    "bool": "y = torch.ones_like(x).sum() > 128\nk = bool(y)",
    "round": "k = round(torch.ones_like(x).sum())",
    "digits": "k = round(1.23456, (torch.ones_like(x).sum() / 2048).long())",
    "math": "k = math.floor(torch.ones_like(x).sum())",
    "math of a list": "k = math.dist([torch.ones_like(x).sum()], [0.0])",
    "range": "k = len(range(torch.ones_like(x).long().sum()))",
    "times a list": "k = len([0] * torch.ones_like(x).long().sum())",
    "times a text": "k = len('a' * torch.ones_like(x).long().sum())",
    "an index of a list": "k = [1.0, 2.0][(torch.ones_like(x).sum() == 128).long()]",
    "an index of a text": "k = 'ab'[(torch.ones_like(x).sum() == 128).long()]",
    "a slice of a list": "k = [1.0, 2.0][: (torch.ones_like(x).sum() == 128).long()]",
    "a place of a list": "y = [0, 0]\ny[(torch.ones_like(x).sum() == 128).long()] = 1\nk = y[0]",
    "a popped place": "y = [0, 1]\nk = y.pop((torch.ones_like(x).sum() == 128).long())",
    "an inserted place": "y = [0, 1]\ny.insert((torch.ones_like(x).sum() == 128).long(), 2)\nk = y[0]",
    "a key": "k = {1.0: 2.0}.get(torch.ones_like(x).sum())",
    "a text": "k = str(torch.ones_like(x).sum()) == 'tensor(128.)'",
    "a text in a list": "k = str([torch.ones_like(x).sum()]) == '[tensor(128.)]'",
    "an f-string": "k = float(f'{torch.ones_like(x).sum()}') == 128.0",
    "equal lists": "k = [torch.ones_like(x).sum()] == [128.0]",
    "equal tuples": "k = (torch.ones_like(x).sum(),) == (128.0,)",
    "equal dicts": "k = {'a': torch.ones_like(x).sum()} == {'a': 128.0}",
    "smaller tuples": "k = (torch.ones_like(x).sum(), 1) < (128.0, 1)",
    "in a list": "k = torch.ones_like(x).sum() in [128.0]",
    "a list that has it": "k = 128.0 in [torch.ones_like(x).sum()]",
    "a tensor that has it": "k = 128.0 in torch.ones_like(x).cumsum(0)",
    "tensors that have it": "k = torch.ones_like(x).sum() in torch.ones_like(x).cumsum(0)",
    "the larger": "k = max(torch.ones_like(x).sum(), 128.0)",
    "the larger of a list": "k = max([torch.ones_like(x).sum(), 128.0])",
    "the larger of pairs": "k = max((torch.ones_like(x).sum(), 1), (128.0, 2))[1]",
    "the smaller": "k = min(128.0, torch.ones_like(x).sum())",
    "sorted": "k = sorted([128.0, torch.ones_like(x).sum()])[0]",
    "sorted backwards": "k = sorted([1.0, 3.0], reverse=torch.ones_like(x).sum() > 0)[0]",
    "all": "k = all([torch.ones_like(x).sum() == 128])",
    "any": "k = any([torch.ones_like(x).sum() == 128])",
    "some by a tensor": "k = len([1 for _ in range(3) if torch.ones_like(x).sum() > 128])",
    "counted from": "k = enumerate([1.0], torch.ones_like(x).long().sum())[0][0]",
    "strictly": "k = zip([1], [1, 2], strict=torch.ones_like(x).sum() > 128)",
    "distinct numbers": "k = len({128.0, torch.ones_like(x).sum()})",
}


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("worlds", [4096, 32768])
def test_no_road_leads_to_a_number_of_python(road, worlds):
    text = source(f"{ROADS[road]}\ny = 1.0 if k == 3.0 else 2.0\nreturn {{'x': x * y}}")
    try:
        found = compile_reward(text)(inputs(worlds))
    except RewardError as error:
        assert error.hint
    else:  # the text of a tensor says nothing of it
        assert "text" in road or "f-string" in road
        assert torch.equal(found["x"], inputs(worlds)["x"] * 2.0)


HONEST = {
    "zeros": "y = torch.zeros(x.shape[0], device=x.device)\ny += x",
    "zeros by a tuple": "n = len(x)\ny = torch.zeros((n, 3), device=x.device).sum(-1)",
    "views": "n = action.size(0)\ny = action.view(n, 2, -1).sum((1, 2))",
    "shape of another": "y = torch.zeros(action.shape).sum(-1)",
    "unpacked": "n, k = action.shape\ny = action.reshape(n, k).sum(-1) / k",
    "joined shapes": "y = torch.ones(action.shape[:-1] + (3,)).sum(-1)",
    "starred shapes": "y = torch.ones((*x.shape, 3)).sum(-1)",
    "restored": "shape = action.shape\ny = action.reshape(-1, 4).view(shape).sum(-1)",
    "expanded": "y = torch.eye(3).expand(len(x), 3, 3).sum((1, 2))",
    "repeated": "y = torch.eye(3).repeat(len(x), 1, 1).sum((1, 2))",
    "numpy": "n = np.asarray(x).shape[0]\ny = np.zeros(n) + np.full((n, 2), 0.5)[:, 0]",
    "picked by world": "y = action[torch.arange(x.shape[0]), action.argmax(-1)]",
    "parts": "y = sum(action[:, i] for i in range(action.shape[1])) / action.shape[-1]",
    "parts by name": "y = action.sum(-1) / action.size(-1)",
    "rank": "y = action.sum(-1) if action.ndim == 2 and action.dim() > 1 else action",
    "rank of a result": "y = x if action.sum(-1).ndim == 1 and torch.abs(action).shape[-1] > 3 else x * 2.0",
    "keys": "d = {'a': 2.0}\ny = x * d['a'] if 'a' in d.keys() and d.get('b') is None and d.get('a', 0.0) > 1.0 else x",
    "unbound parts": "a, b, c, d = action.unbind(-1)\ny = a * b + c * d",
    "split parts": "a, b = action.split(2, dim=-1)\ny = (a * b).sum(-1)",
    "rows of parts": "a, b, c, d = action.T\ny = a * b + c * d",
    "masked, then parts": "y = x.clone()\ny[x > 1.0] = x[x > 1.0] * 2.0\na, *_ = action.unbind(-1)\ny += a",
    "added where": "y = x * 1.0\ny[x > 1.0] += 1.0\ny = y / len(action.T)",
    "differences of parts": "y = torch.diff(action, dim=-1).abs().sum(-1) / action.shape[-1]",
    "windows of parts": "y = action.unfold(1, 2, 1).mean(-1).amax(1) / action.shape[1]",
    "sliced parts": "y = action[:, 1:3].mean(-1) + action[..., :2].sum(-1) * action.shape[1]",
    "padded parts": "y = F.pad(action, (1, 1)).sum(-1) / action.shape[1]",
    "picked columns": "i = action.argmax(1, True)\ny = action.gather(1, i)[:, 0] + action.index_select(1, i[0])[:, 0]",
    "numbers by numpy": "m = 3.0\ny = x * np.maximum(2.0, m) + np.clip(action.shape[1], 0, m)",
    "a table": "weights = torch.tensor([0.1, 0.2, 0.3, 0.4])\ny = sum(w * x for w in weights) / len(weights)",
    "printed": "print(x.shape, x.mean())\nprint(f'{x.mean():.3f}')\ny = x",
    "none of it": "y = x if action is not None and action.shape[-1] in (3, 4) else x * 2.0",
    "whole numbers": "y = torch.where(x > 1.0, torch.tensor(1), torch.tensor(0))\na, *_ = action.unbind(-1)\ny = y + a",
    "one of a table": "y = max([x], default=0.0) + float(math.sqrt(action.shape[1])) + int(3.7) + round(1.26, 1)",
    "tables as large as the worlds": (
        "w = torch.linspace(0.0, 1.0, 64)\ny = x * sum(w[i] for i in range(len(w))) / len(w)\n"
        "v = torch.tensor([0.5] * 64)\ny = y + sum(each for each in v) * v[1:33].shape[0]"
    ),
    "large tables": "w = torch.arange(300)\ny = x * (1.0 / len(w)) + 1.0 / TABLE.shape[0]",
    "compared shapes": "y = x if x.shape == action[:, 0].shape and x.shape != action.shape else x * 2.0",
    "compared lengths": "y = x if len(x) == action.shape[0] else x * 2.0",
    "joined parts": "y = torch.cat([action, x[:, None], x[:, None]], -1)\ny = y.sum(-1) / y.shape[1]",
    "doubled": "y = torch.cat([x, x]).view(2, -1).sum(0)",
    "inferred parts": "y = action.view(-1, 2, 2).sum((1, 2)) + action.unflatten(1, (2, -1)).sum((1, 2))",
    "sets of names": "names = {'b', 'a'}\ny = sum(x for name in names if name in {'a', 'b'})",
}


@pytest.mark.parametrize("name", HONEST)
def test_sizes_are_good_for_making_tensors_of_them(name):
    text = source(f"{HONEST[name]}\nreturn {{'y': y}}")
    assert check_language(text) == ()
    program = compile_reward(text)
    many = program(inputs(4096))["y"]
    for worlds in (1, 2, 5, 64, 32768):
        assert program(inputs(worlds))["y"].shape == (worlds,)
    assert many.shape == (4096,)


def test_constants_of_the_module_have_sizes_of_their_own():
    constants = (
        "GRID = torch.linspace(0.0, 1.0, 1000)\nHALF = GRID[GRID > 0.5]\nSTEP = 1.0 / len(GRID)\n"
        "COUNT = HALF.shape[0] if HALF.squeeze().ndim == 1 else 0\nMEAN = sum(each for each in GRID[:10]) / 10\n"
    )
    program = compile_reward(f"{constants}def compute_reward(x):\n    return {{'x': x * STEP * COUNT + MEAN}}\n")
    assert program({"x": torch.ones(3)})["x"].tolist() == pytest.approx([0.5 + 4.5 / 999] * 3)


CALLS = {
    "functions": "".join(f"def f{i}(x):\n    return f{i - 1}(x) + f{i - 1}(x)\n" for i in range(1, 40)),
    "lambdas": "".join(f"f{i} = lambda x: f{i - 1}(x) + f{i - 1}(x)\n" for i in range(1, 40)),
}


@pytest.mark.parametrize("kind", CALLS)
def test_calls_are_counted_as_turns_of_loops_are(kind):
    chain = f"def f0(x):\n    return 1.0\n{CALLS[kind]}"
    program = compile_reward(f"{chain}def compute_reward(x):\n    return {{'x': x + f8(x)}}\n")
    assert program({"x": torch.zeros(3)})["x"].tolist() == [256.0] * 3
    with pytest.raises(RewardError, match="loop turns and calls"):
        compile_reward(f"{chain}def compute_reward(x):\n    return {{'x': x + f39(x)}}\n")({"x": torch.zeros(3)})
    with pytest.raises(RewardError, match="loop turns and calls"):
        compile_reward(f"{chain}Y = f39(1.0)\ndef compute_reward(x):\n    return {{'x': x + Y}}\n")


@pytest.mark.parametrize("test", ["n is 128", "n is not 128", "128 is n", "n is n", "1.0 is x", "None is n is 128"])
def test_nothing_is_told_by_being_the_same_object(test):
    found = check_language(source(f"n = torch.zeros(128).shape[0]\nreturn {{'x': x if {test} else -x}}"))
    assert any("compares by `is`" in each.message for each in found)


def test_an_optional_value_may_be_compared_with_none():
    assert not check_language(source("y = None\nreturn {'x': x if y is None else -x}"))


def test_components_have_the_same_names_in_every_call():
    program = compile_reward("def compute_reward(x):\n    return {'a': x} if x.squeeze().ndim else {'b': x}\n")
    assert list(program({"x": torch.ones(1)})) == ["b"]
    with pytest.raises(RewardError, match="returned the components `a`, in another call `b`"):
        program({"x": torch.ones(20)})
