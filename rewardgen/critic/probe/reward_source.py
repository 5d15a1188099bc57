"""Syntax of a reward: the line of each component, components behind a condition, and the numbers where pay bends."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from rewardgen.reward.signature import ENTRY
from rewardgen.reward.vocabulary import words

_DECIDING = (ast.Compare, ast.BoolOp, ast.IfExp)
_DECIDING_NAMES = frozenset(words("where gt ge lt le eq ne greater less logical_and logical_or heaviside"))
_BENDING_OPERATORS = (ast.Mod, ast.FloorDiv)
_BENDING_NAMES = _DECIDING_NAMES | frozenset(
    words("""
clamp clamp_min clamp_max clip masked_fill tolerance minimum maximum min max fmin fmax amin amax abs sgn sign round
floor ceil trunc fix frac fmod remainder floor_divide isclose greater_equal less_equal not_equal relu relu6 leaky_relu
elu selu celu gelu silu mish hardtanh hardsigmoid hardswish threshold huber_loss smooth_l1_loss l1_loss sigmoid
logsigmoid tanh softplus softsign softmax softmin exp exp2 expm1 erf erfc atan arctan
""")
)
"""Functions with a kink, a step, or a tail so flat that rounding hides changes in it."""


class RewardSource:
    """Syntax tree of a reward that compiles."""

    def __init__(self, tree: ast.Module) -> None:
        entry = next((node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == ENTRY), None)
        self._tree = tree
        self._assigned = _assignments(tree)
        self._components = dict(_components(entry)) if entry else {}

    def line(self, component: str) -> int | None:
        """Return the line that computes a component, or the variable that holds it."""
        value, seen = self._components.get(component), set[str]()
        while isinstance(value, ast.Name) and value.id not in seen and len(self._assigned[value.id]) == 1:
            seen.add(value.id)
            value = self._assigned[value.id][0]
        return value.lineno if value is not None else None

    def is_conditional(self, component: str) -> bool:
        """Return True if a comparison decides the component or a value that it is computed from."""
        value = self._components.get(component)
        return value is not None and any(
            isinstance(node, _DECIDING) or (isinstance(node, ast.Attribute) and node.attr in _DECIDING_NAMES)
            for node in self._reached([value])
        )

    def unused(self) -> dict[str, int]:
        """Return the names that functions assign and nothing reads, with their lines."""
        names = [node for node in ast.walk(self._tree) if isinstance(node, ast.Name)]
        read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
        functions = [node for node in self._tree.body if isinstance(node, ast.FunctionDef)]
        inside = [node for function in functions for node in ast.walk(function)]
        targets = [node.targets[0] for node in inside if isinstance(node, ast.Assign)]
        return {node.id: node.lineno for node in targets if isinstance(node, ast.Name) and node.id not in read}

    def limits(self, tunables: Mapping[str, float]) -> Counter[float]:
        """Count the numbers that decide where the reward compares, clamps, saturates or rounds.

        States that all lie on one side of such a number do not show it: without these two rewards with different
        bounds would look like duplicates.
        """
        bending = [node for node in ast.walk(self._tree) if _bends(node)]
        reached = list(self._reached(bending))
        minus = [node for node in reached if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)]
        negated = {id(node.operand) for node in minus}
        numbers = [
            -float(node.value) if id(node) in negated else float(node.value)
            for node in reached
            if isinstance(node, ast.Constant) and isinstance(node.value, int | float)
        ]
        constants = {node.id for node in reached if isinstance(node, ast.Name) and node.id in tunables}
        return Counter([*numbers, *(float(tunables[name]) for name in constants)])

    def _reached(self, starts: list[ast.AST] | list[ast.expr]) -> Iterator[ast.AST]:
        """Yield nodes and everything that their names stand for, each once."""
        waiting, seen = list[ast.AST](starts), set[int]()
        while waiting:
            node = waiting.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            yield node
            waiting += ast.iter_child_nodes(node)
            if isinstance(node, ast.Name):
                waiting += self._assigned[node.id]


def _bends(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        return name in _BENDING_NAMES
    operator = getattr(node, "op", None)
    return isinstance(node, _DECIDING) or isinstance(operator, _BENDING_OPERATORS)


def _assignments(tree: ast.Module) -> defaultdict[str, list[ast.expr]]:
    """Map names to the values that they are assigned, arguments that they are called with, and values returned."""
    values: defaultdict[str, list[ast.expr]] = defaultdict(list)
    functions: dict[str, ast.arguments] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            functions[node.name] = node.args
            values[node.name] += [part.value for part in ast.walk(node) if isinstance(part, ast.Return) and part.value]
            defaults = zip(reversed(node.args.args), reversed(node.args.defaults), strict=False)
            for parameter, default in defaults:
                values[parameter.arg].append(default)
        elif isinstance(node, ast.For | ast.comprehension):
            _bind(values, node.target, node.iter)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                _bind(values, target, node.value)
                if isinstance(node.value, ast.Lambda) and isinstance(target, ast.Name):
                    functions[target.id] = node.value.args
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions:
            for parameter, value in zip(functions[node.func.id].args, node.args, strict=False):
                values[parameter.arg].append(value)
            for keyword in node.keywords:
                values[keyword.arg or ""].append(keyword.value)
    return values


def _bind(values: defaultdict[str, list[ast.expr]], target: ast.expr, value: ast.expr) -> None:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for part, its_value in zip(target.elts, value.elts, strict=True):
            _bind(values, part, its_value)
    else:
        for name in ast.walk(target):
            if isinstance(name, ast.Name):
                values[name.id].append(value)


def _components(entry: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """Yield the component names in dicts, `dict(...)` and item assignments, with their values."""
    for node in ast.walk(entry):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
            yield from ((keyword.arg, keyword.value) for keyword in node.keywords if keyword.arg)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            key = node.targets[0].slice
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, node.value
