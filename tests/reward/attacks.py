"""What a reward must not do, each with the detector that sees it. `BODY` goes into a function that takes `height`."""

BODY = {
    # Reaching out of the language.
    "import os": ("import os", "forbidden-import"),
    "import of numpy's parts": ("import numpy.ctypeslib", "forbidden-import"),
    "numpy load": ("np.load('/etc/passwd')", "unknown-function"),
    "numpy out": ("np.exp(height, out=height)", "forbidden-keyword"),
    "numpy function as value": ("g = np.exp", "function-as-value"),
    "branch on numpy": ("if np.any(height < 0.7):\n    pass", "tensor-branch"),
    "from os": ("from os import system", "forbidden-import"),
    "import star": ("from torch import *", "syntax"),
    "torch private": ("from torch import _C", "forbidden-import"),
    "sys through typing": ("import typing\nx = typing.sys.modules", "unknown-name"),
    "dunder import": ("__import__('os').system('true')", "private-name"),
    "eval": ("eval('1')", "unknown-function"),
    "getattr": ("getattr(height, 'data')", "unknown-function"),
    "class hierarchy": ("().__class__.__bases__[0].__subclasses__()", "unknown-attribute"),
    "function globals": ("helper.__globals__", "unknown-attribute"),
    "builtins name": ("__builtins__['open']", "private-name"),
    "frame": ("(x for x in [1]).gi_frame.f_back", "unknown-attribute"),
    "traceback": ("height.with_traceback", "unknown-attribute"),
    "torch load": ("torch.load('x')", "unknown-function"),
    "numpy of tensor": ("height.numpy()", "unknown-method"),
    "tensor apply": ("height.apply_(abs)", "unknown-method"),
    "percent bomb": ("'%1000000000d' % 1", "forbidden-format"),
    "f-string conversion": ("f'{height!r}'", "forbidden-format"),
    "f-string width": ("f'{1:999999999d}'", "forbidden-format"),
    "f-string attribute": ("f'{height.__class__}'", "unknown-attribute"),
    "match class": ("match height:\n    case object(__class__=c):\n        pass", "forbidden-construct"),
    "import hook": ("torch.__loader__.load_module('os')", "unknown-function"),
    # Callables as values.
    "called subscript": ("[abs][0](height)", "computed-call"),
    "called call": ("helper(height)(height)", "computed-call"),
    "called lambda": ("(lambda x: x)(height)", "computed-call"),
    "called parameter": ("height(1)", "computed-call"),
    "function as argument": ("sorted([height], key=abs)", "forbidden-keyword"),
    "function as value": ("g = torch.exp", "function-as-value"),
    "module as value": ("m = torch", "function-as-value"),
    # Time without bound.
    "while": ("while True:\n    pass", "forbidden-construct"),
    "long range": ("for i in range(10**9 * 2 + 1):\n    pass", None),
    "literal long range": ("for i in range(1000000):\n    pass", None),
    "branch on any env": ("if (height < 0.7).any():\n    pass", "tensor-branch"),
    "loop over envs": ("for i in range(height.shape[0]):\n    pass", "batch-size"),
    "arithmetic with the number of envs": ("n = height.shape[0]\nx = height / n", "batch-size"),
    "loop over input": ("for x in height:\n    pass", "loop-bound"),
    "recursion": ("def f(x):\n    return f(x)", "recursion"),
    "lambda recursion": ("f = lambda x: f(x)", "recursion"),
    "huge integer": ("x = 10000000000000000000000000", "forbidden-literal"),
    # State and randomness.
    "global": ("global counter\ncounter = 1", "forbidden-construct"),
    "nonlocal": ("def f():\n    nonlocal y\n    y = 1\ny = 0", "forbidden-construct"),
    "function attribute": ("compute_reward.calls = 1", "attribute-assignment"),
    "generator argument": ("torch.zeros(3, generator=None)", "forbidden-keyword"),
    # In place.
    "constant changed": ("TABLE['x'] = 1", "changes-input"),
    "constant appended": ("TABLE.update({'x': 1})", "changes-input"),
    "mutable default": ("def f(x, seen=[]):\n    seen.append(x)", "changes-input"),
    "element": ("height[0] = 1.0", "changes-input"),
    "out argument": ("torch.exp(height, out=height)", "forbidden-keyword"),
    "data assignment": ("height.data = height", "attribute-assignment"),
    # Other constructs.
    "class": ("class A:\n    pass", "forbidden-construct"),
    "try": ("try:\n    pass\nexcept Exception:\n    pass", "forbidden-construct"),
    "raise what is called": ("raise SystemExit(0)", "forbidden-construct"),
    "raise a value": ("raise height", "forbidden-construct"),
    "raise with a leak": ("raise ValueError(height.__class__)", "unknown-attribute"),
    "raise": ("raise ValueError('x')", None),
    "with open": ("with open('x') as f:\n    pass", "forbidden-construct"),
    "walrus": ("(y := height)", "forbidden-construct"),
    "yield": ("yield height", "forbidden-construct"),
    "decorator": ("@helper\ndef f(x):\n    return x", "decorator"),
    "star arguments": ("helper(*[height])", "star-argument"),
    "double star arguments": ("helper(**{'x': height})", "star-argument"),
    "star parameters": ("def f(*xs):\n    return xs", "star-argument"),
    "bytes": ("x = b'abc'", "forbidden-literal"),
    "unknown name": ("x = heigth", "unknown-name"),
    "private attribute": ("height._base", "unknown-attribute"),
    "module rebound": ("torch = height", "rebinding"),
    "function rebound": ("helper = height", "rebinding"),
    "fixed device": ("height.to('cuda')", "fixed-device"),
    "tolerance bounds": ("tolerance(height, bounds=(0, 1))", "tolerance-argument"),
    "unicode disguise": ("ｅｖａｌ('1')", "unknown-function"),
    "hidden direction mark": ("x = 1 # \u202e", "hidden-character"),
    "terminal command in a comment": ("x = 1 # \x9b31mred", "hidden-character"),
    "invisible tags": ("x = 1 # \U000e0041\U000e0042", "hidden-character"),
}

WHOLE = {
    "runs at import": (
        "import math\nprint('hello')\ndef compute_reward(height):\n    return {'h': height}",
        "top-level-statement",
    ),
    "main guard": (
        "def compute_reward(height):\n    return {'h': height}\nif __name__ == '__main__':\n    pass",
        "top-level-statement",
    ),
    "two definitions": ("def compute_reward(height):\n    return {'h': height}\n" * 2, "rebinding"),
    "utf-7 cookie": (
        "# -*- coding: utf_7 -*-\n# +AAo-eval('1')\nx = eval\ndef compute_reward(height):\n    return {'h': height}",
        "unknown-name",
    ),
    "default that calls": ("def compute_reward(height, *, w=open('x')):\n    return {'h': height}", "unknown-function"),
    "decorator that calls": ("@eval('x')\ndef compute_reward(height):\n    return {'h': height}", "decorator"),
    "top-level loop": (
        "for i in range(3):\n    pass\ndef compute_reward(height):\n    return {'h': height}",
        "top-level-statement",
    ),
    "constant by a call": (
        "X = ().__class__\ndef compute_reward(height):\n    return {'h': height}",
        "unknown-attribute",
    ),
}


def source(body: str) -> str:
    """A reward with a helper and a constant, and an attack in its body."""
    indented = "".join(f"    {line}\n" for line in body.split("\n"))
    start = (
        "TABLE = {'a': 1.0}\nTENSOR = torch.ones(4)\n\ndef helper(x):\n    return x\n\ndef compute_reward(height):\n"
    )
    return f"{start}{indented}    return {{'h': height}}\n"
