"""Fingerprint of a reward, blind to comments, formatting and names of variables."""

from __future__ import annotations

import ast
import copy
import functools
import hashlib
from collections.abc import Iterator

from rewardgen.reward.parsing import parse_source
from rewardgen.reward.scope import Scope
from rewardgen.reward.signature import ENTRY
from rewardgen.store.records import Finding


# Every new candidate is compared with the whole archive.
@functools.lru_cache(maxsize=4096)
def source_fingerprint(source: str) -> str:
    """Hash the normalised syntax tree of a reward.

    Comments, docstrings, annotations, imports, the order of the inputs, and the names of variables, helpers and
    constants do not change the hash; numbers, component names and operations do.

    Args:
        source: Source of the reward; invalid syntax is hashed as text.

    Returns:
        16 hex digits.
    """
    tree = parse_source(source)
    text = source.strip() if isinstance(tree, Finding) else _normalised(tree)
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]


class _Plain(ast.NodeTransformer):
    """Drop imports, docstrings, annotations and decorators, and write module names in full."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def visit(self, node: ast.AST) -> ast.AST | None:
        if isinstance(node, ast.Import | ast.ImportFrom):
            return None
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return None
        if isinstance(node, ast.AnnAssign):
            return self.visit(ast.Assign([node.target], node.value)) if node.value else None
        if isinstance(node, ast.Name | ast.Attribute) and (dotted := self._scope.resolve(node)):
            return ast.Name(dotted, ast.Load())
        self.generic_visit(node)
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.decorator_list, node.returns = [], None
        return node


def _normalised(tree: ast.Module) -> str:
    plain = _Plain(Scope(tree)).visit(copy.deepcopy(tree))
    assert isinstance(plain, ast.Module)
    inputs = _inputs(plain)
    bound = dict.fromkeys(name for name in _bound(plain) if name not in inputs and name != ENTRY)
    _rename(plain, {name: f"v{index}" for index, name in enumerate(bound)})
    return ast.dump(plain)


def _inputs(tree: ast.Module) -> set[str]:
    """Return the inputs, and sort them in the tree: callers pass them by name."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == ENTRY:
            node.args.args.sort(key=lambda argument: argument.arg)
            names |= {argument.arg for argument in node.args.args}
    return names


def _bound(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _rename(tree: ast.Module, names: dict[str, str]) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
        elif isinstance(node, ast.FunctionDef):
            node.name = names.get(node.name, node.name)
        elif isinstance(node, ast.arg):
            node.arg = names.get(node.arg, node.arg)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            # Keywords of the reward's functions follow their parameters; those of other functions stay.
            for keyword in node.keywords if node.func.id in names else ():
                keyword.arg = names.get(keyword.arg, keyword.arg) if keyword.arg else None
