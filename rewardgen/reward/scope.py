"""Names of a reward: modules, functions of its own, or variables."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rewardgen.reward.vocabulary import MODULE_NAMES, PREDEFINED_MODULES

Function = ast.FunctionDef | ast.Lambda


class Scope:
    """Resolve the names of one reward. A name means the same in all its functions.

    Attributes:
        imports: Local name to the imported one, such as `math.pi`.
        functions: Functions and named lambdas, by name.
        variables: All other bound names, with parameters.
        rebound: Names of functions or imports that are bound more than once, with the last place.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.imports = dict(_imports(tree))
        self.functions = dict(_functions(tree))
        bindings: dict[str, list[ast.AST]] = {}
        for name, node in _bindings(tree):
            bindings.setdefault(name, []).append(node)
        named = {*self.imports, *self.functions}
        twice = {name for name in named if len(bindings.get(name, ())) > (name in self.functions)}
        twice |= self.functions.keys() & self.imports.keys() | bindings.keys() & {"torch", "math"}
        self.rebound = {name: bindings[name][-1] for name in sorted(twice)}
        self.variables = set(bindings) - set(self.functions)
        # A variable may be called F, for a force.
        self._modules = {
            name: module for name, module in PREDEFINED_MODULES.items() if name not in bindings
        } | self.imports

    def resolve(self, node: ast.expr) -> str | None:
        """Return the dotted name of a module's attribute, such as `torch.linalg.norm`; else None."""
        if isinstance(node, ast.Name):
            return self._modules.get(node.id)
        if isinstance(node, ast.Attribute):
            base = self.resolve(node.value)
            return f"{base}.{node.attr}" if base else None
        return None


def split_module(dotted: str) -> tuple[str, str]:
    """Split a dotted name into the longest known module and the rest, which may be empty."""
    for module in sorted(MODULE_NAMES, key=len, reverse=True):
        if dotted == module or dotted.startswith(f"{module}."):
            return module, dotted[len(module) + 1 :]
    return dotted, ""


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                yield (alias.asname, alias.name) if alias.asname else (top, top)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node.value


def _bindings(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id, node
        elif isinstance(node, ast.arg):
            yield node.arg, node
        elif isinstance(node, ast.FunctionDef):
            yield node.name, node
