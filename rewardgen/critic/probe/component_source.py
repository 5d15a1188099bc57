"""Where in its source a reward makes each component, and whether it does so by asking yes or no."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rewardgen.reward.signature import ENTRY

_DECIDING = (ast.Compare, ast.BoolOp, ast.IfExp)
_DECIDING_NAMES = frozenset(
    ["where", "gt", "ge", "lt", "le", "eq", "ne", "greater", "less", "logical_and", "logical_or", "heaviside"]
)


class ComponentSource:
    """The expressions of a reward that make its components.

    Args:
        tree: A reward that compiles.
    """

    def __init__(self, tree: ast.Module) -> None:
        entry = next((each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == ENTRY), None)
        self._assigned = _assignments(tree)
        self._made = dict(_components(entry)) if entry else {}

    def line(self, component: str) -> int | None:
        """The line at which a component is made: that of the variable that holds it, if one does."""
        value, seen = self._made.get(component), set[str]()
        while isinstance(value, ast.Name) and value.id not in seen and len(self._assigned.get(value.id, ())) == 1:
            seen.add(value.id)
            value = self._assigned[value.id][0]
        return value.lineno if value is not None else None

    def asks(self, component: str) -> bool:
        """Whether a comparison, by itself or in what it is computed from, decides the component."""
        value = self._made.get(component)
        return value is not None and self._decides(value, set())

    def _decides(self, value: ast.expr, seen: set[str]) -> bool:
        for node in ast.walk(value):
            if isinstance(node, _DECIDING) or (isinstance(node, ast.Attribute) and node.attr in _DECIDING_NAMES):
                return True
            if isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                if any(self._decides(each, seen) for each in self._assigned.get(node.id, ())):
                    return True
        return False


def _assignments(tree: ast.Module) -> dict[str, list[ast.expr]]:
    """What names stand for: the values that are assigned to variables, and what functions return."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            returned = [each.value for each in ast.walk(node) if isinstance(each, ast.Return) and each.value]
            found.setdefault(node.name, []).extend(returned)
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        for target in targets:
            if isinstance(target, ast.Name) and isinstance(value, ast.expr):
                found.setdefault(target.id, []).append(value)
    return found


def _components(entry: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """Keys of dicts, arguments of `dict(...)`, and entries that are assigned, with what they hold."""
    for node in ast.walk(entry):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
            yield from ((each.arg, each.value) for each in node.keywords if each.arg)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            key = node.targets[0].slice
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, node.value
