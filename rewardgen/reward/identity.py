"""Fingerprint of a reward, blind to comments, formatting and annotations."""

from __future__ import annotations

import ast
import copy
import functools
import hashlib

from rewardgen.reward.parsing import parse_source
from rewardgen.reward.scope import Scope
from rewardgen.store.records import Finding


# Every new candidate is compared with the whole archive.
@functools.lru_cache(maxsize=4096)
def source_fingerprint(source: str) -> str:
    """Hash the normalised syntax tree of a reward, in 16 hex digits; invalid syntax is hashed as text.

    Comments, docstrings, annotations, imports and layout do not change the hash. A reward with other names of variables
    has another hash; `rewardgen.reward.distance` finds that it pays the same, unless the pay cannot be compared.
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
    plain = copy.deepcopy(tree)
    _Plain(Scope(tree)).generic_visit(plain)
    return ast.dump(plain)
