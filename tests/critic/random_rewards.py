"""Random rewards in the reward language, from a seed: nasty constants, empty loops, places that do not exist."""

from __future__ import annotations

import random

INPUTS = ("height", "pitch", "gap", "contact", "action", "joint_velocity", "prev_height", "target", "position")
CONSTANTS = (
    *("0", "1", "-1", "2", "3", "0.0", "0.5", "-2.5", "1e-9", "1e30", "-1e300", "1e999", "-1e999", "1000000000"),
    *(
        "float('inf')",
        "float('nan')",
        "math.pi",
        "torch.inf",
        "int(2.9)",
        "int(float('inf'))",
        "9 ** 9 ** 9",
        "7 // 2",
        "1 % 0",
    ),
    *("True", "None", "(-8.0) ** 0.5", "int(float('nan'))", "len([])", "'a'"),
)
PLACES = ("0", "-1", "1", "2", "99", "-99", ":", "0:0", "5:", "::2", "::-1", ":, 0", ":, -1", ":, 0:2", ":, [0, 1]")
PLACES += ("..., 0", "None", ":, None", "slice(0, 1)", "slice(0, 1, 0)", "[]", "'a'", "1.5", "True", ":, 10 ** 30:")
LOOPS = ("range(3)", "range(0)", "range(0, 3, 0)", "range(10, 0, -3)", "range(10 ** 9)", "[]", "{}", "[1.0, -2.0]")
LOOPS += (
    "enumerate([1, 2], 3)",
    "zip([1], [])",
    "range(2, 5, 1, 1)",
    "sorted([3, 1])",
    "{'a': 1}.items()",
    "range(2.5)",
)
UNARY = (
    "abs",
    "torch.exp",
    "torch.sqrt",
    "torch.log",
    "torch.floor",
    "torch.round",
    "torch.tanh",
    "torch.acos",
    "float",
)
UNARY += ("torch.square", "torch.sigmoid", "torch.cos", "torch.reciprocal", "torch.relu", "int", "bool", "torch.asin")
METHODS = (
    "abs()",
    "sum(-1)",
    "mean()",
    "norm(dim=-1)",
    "clamp(-1.0, 1.0)",
    "clamp(2.0, -2.0)",
    "max(dim=-1)",
    "square()",
)
METHODS += ("clamp(min=1e999)", "unsqueeze(9)", "squeeze(-1)", "unbind(1)", "pow(0.5)", "pow(-3)", "prod(1)", "float()")
METHODS += (
    "flatten(1)",
    "view(-1)",
    "sum(dim=(0, 1))",
    "where(height > 1.0, 0.0)",
    "argmax(-1)",
    "any(-1)",
    "cumsum(0)",
)
METHODS += (
    "new_zeros(3)",
    "expand(4, -1)",
    "transpose(0, 1)",
    "topk(1)",
    "values",
    "size(7)",
    "shape[0]",
    "shape[-9]",
    "ndim",
)
BINARY = ("+", "-", "*", "/", "**", "//", "%", "&", "|", "@", "<", ">=", "==", "!=")
ASSEMBLED = ("torch.stack([{}, {}])", "torch.stack([{}, {}], dim=-1).sum(-1)", "torch.maximum({}, {})", "max({}, {})")
ASSEMBLED += (
    "torch.cat([{}, {}], -1)",
    "min([{}, {}])",
    "sum([{}, {}])",
    "torch.zeros({}, {})",
    "torch.full(({},), {})",
)
ASSEMBLED += ("torch.where({} > 0, {}, 1.0)", "torch.atan2({}, {})", "torch.where({}, {})", "tolerance({}, upper={})")
ASSEMBLED += (
    "[{}, {}][1]",
    "({}, {})[-3]",
    "{{'a': {}, 'b': {}}}['a']",
    "{{'a': {}}}.get('b', {})",
    "torch.dot({}, {})",
)
ASSEMBLED += ("[{} for a, *b in [[1, 2], {}]]", "sum([i * {} for i in range(3) if i != {}])", "({} or {})")
ASSEMBLED += ("{{f'c{{i}}': {} for i in range(2)}}.get('c0', {})", "torch.ones_like({}) * {}", "torch.norm({}, {})")


class Writer:
    """Writes one reward.

    Args:
        seed: Of its choices.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._names: list[str] = []
        self._called: tuple[str, ...] = ()

    def reward(self) -> str:
        """The text: a helper, statements, and a dict of components."""
        self._names = ["p", "q"]
        helper = ["def helper(p, q=2.0):", *self._block(1, 2), f"    return {self._expression(2)}"]
        self._names = [*INPUTS, "w"]
        self._called = ("helper({}, {})",)
        body = self._block(1, self._random.randint(2, 9))
        parts = [f"'c{place}': {self._expression(3)}" for place in range(self._random.randint(1, 4))]
        returned = f"{{{', '.join(parts)}}}"
        returned = self._random.choice([returned, returned, f"({self._name()}, {returned})", "terms"])
        start = (
            f"def compute_reward({', '.join(INPUTS)}, *, w: float = {self._random.choice(['1.0', '-3.0', '1e300'])}):"
        )
        return "\n".join([*helper, start, "    terms = {'t': w * gap}", *body, f"    return {returned}", ""])

    def _block(self, depth: int, statements: int) -> list[str]:
        return [line for _ in range(statements) for line in self._statement(depth)]

    def _statement(self, depth: int) -> list[str]:
        indent, kind = "    " * depth, self._random.randint(0, 11)
        if depth < 5 and kind == 0:
            test = self._random.choice([self._expression(1), "w > 1.0", "True", "height.shape[0] > 5"])
            other = [f"{indent}else:", *self._block(depth + 1, 1)]
            return [f"{indent}if {test}:", *self._block(depth + 1, 2), *other]
        if depth < 5 and kind in (1, 2):
            target = self._random.choice(["i", "i", "a, b", "_"])
            ends = self._random.choice([[], [f"{indent}    if w > 2.0:", f"{indent}        {self._leave()}"]])
            loop = self._random.choice(LOOPS)
            return [f"{indent}for {target} in {loop}:", *ends, *self._block(depth + 1, 2)]
        if kind == 3 and self._called:
            return [f"{indent}terms[{self._random.choice(['0', repr('t'), 'w', repr('u')])}] = {self._expression(2)}"]
        if kind == 4:
            change = self._random.choice(
                ["pop('t')", "pop('z', 0.0)", "update({'v': gap})", "setdefault('t', w)", "pop(w)"]
            )
            return [f"{indent}terms.{change}"] if self._called else [f"{indent}terms = {{}}"]
        name = self._random.choice(["x", "y", "z"])
        operator = self._random.choice(["=", "=", "=", "+=", "*="]) if name in self._names else "="
        line = f"{indent}{name} {operator} {self._expression(3)}"
        self._names += [name] * (name not in self._names)
        return [line]

    def _leave(self) -> str:
        return self._random.choice(["break", "continue", "return {'early': gap}"])

    def _name(self) -> str:
        return self._random.choice(self._names)

    def _expression(self, depth: int) -> str:
        kind = self._random.randint(0, 9) if depth else self._random.choice([0, 1])
        if kind == 0:
            return self._random.choice(CONSTANTS)
        if kind <= 2:
            return self._name()
        inner = self._expression(depth - 1)
        if kind <= 4:
            return f"({inner} {self._random.choice(BINARY)} {self._expression(depth - 1)})"
        if kind == 5:
            return f"{self._random.choice(UNARY)}({inner})"
        if kind == 6:
            return f"{self._name()}.{self._random.choice(METHODS)}"
        if kind == 7:
            return f"{self._name()}[{self._random.choice(PLACES)}]"
        if kind == 8:
            return self._random.choice(ASSEMBLED + self._called).format(inner, self._expression(depth - 1))
        return self._random.choice([f"(-{inner})", f"(~({inner} > 0))", f"({inner} if w > 0 else {self._name()})"])


def random_reward(seed: int) -> str:
    """A reward that may do anything that the language allows, also what fails when it is called.

    Args:
        seed: Of its choices.
    """
    return Writer(seed).reward()
