"""From the checked syntax tree of a reward to the one that is compiled: what was checked is what runs.

Modules disappear: `torch.exp` becomes one global name, so a program reaches the functions that it names and no others.
Annotations, decorators, asserts and docstrings are dropped; loops count their turns; generators become lists.
"""

from __future__ import annotations

import ast
import copy
from typing import NamedTuple

from rewardgen.reward.scope import Scope

BOUNDED = "bounded__iteration"
POWER = "guarded__power"
REMAINDER = "guarded__remainder"
TOLERANCE = "rewardgen.tolerance"
_SMALL_EXPONENT = 16


class Lowered(NamedTuple):
    """A tree that can be compiled.

    Attributes:
        tree: The tree; line numbers are those of the source.
        references: Global name to the dotted name of what it must be bound to.
    """

    tree: ast.Module
    references: dict[str, str]


def lower(tree: ast.Module) -> Lowered:
    """Transform a checked reward into what is compiled.

    Args:
        tree: A tree that `check_tree` has no finding on; it is not changed.
    """
    transformer = _Lowering(Scope(tree))
    lowered = transformer.visit(copy.deepcopy(tree))
    return Lowered(ast.fix_missing_locations(lowered), transformer.references)


class _Lowering(ast.NodeTransformer):
    def __init__(self, scope: Scope) -> None:
        self.references: dict[str, str] = {}
        self._scope = scope

    def visit_Import(self, node: ast.Import) -> None:
        """Dropped: what it names is bound when it is used."""
        return None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Dropped: what it names is bound when it is used."""
        return None

    def visit_Assert(self, node: ast.Assert) -> None:
        """Dropped."""
        return None

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Docstrings are dropped."""
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Without decorators and annotations."""
        node.decorator_list = []
        node.returns = None
        for argument in (*node.args.args, *node.args.kwonlyargs):
            argument.annotation = None
        self.generic_visit(node)
        node.body = node.body or [ast.copy_location(ast.Pass(), node)]
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        """Keeps a body where all of it was dropped."""
        self.generic_visit(node)
        node.body = node.body or [ast.copy_location(ast.Pass(), node)]
        return node

    def visit_With(self, node: ast.With) -> list[ast.stmt]:
        """Its body alone."""
        return [kept for statement in node.body if (kept := self.visit(statement)) is not None]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        """An assignment without the annotation."""
        if node.value is None:
            return None
        return self.visit(ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """An assignment of a new value."""
        # `x += y` writes into what x names, which may be an input; `x = x + y` does not.
        current = copy.deepcopy(node.target)
        current.ctx = ast.Load()
        value = ast.copy_location(ast.BinOp(left=current, op=node.op, right=node.value), node)
        return self.visit(ast.copy_location(ast.Assign(targets=[node.target], value=value), node))

    def visit_For(self, node: ast.For) -> ast.AST:
        """Counts its turns."""
        self.generic_visit(node)
        node.iter = _call(BOUNDED, [node.iter], node.iter)
        node.body = node.body or [ast.copy_location(ast.Pass(), node)]
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        """Counts its turns."""
        self.generic_visit(node)
        node.iter = _call(BOUNDED, [node.iter], node.iter)
        return node

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        """A list, which remembers nothing between calls."""
        self.generic_visit(node)
        return ast.copy_location(ast.ListComp(elt=node.elt, generators=node.generators), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Powers and remainders through their guards."""
        self.generic_visit(node)
        if isinstance(node.op, ast.Pow) and not _is_small(node.right):
            return _call(POWER, [node.left, node.right], node)
        if isinstance(node.op, ast.Mod):
            return _call(REMAINDER, [node.left, node.right], node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A module's function by its global name."""
        dotted = self._scope.resolve(node)
        bound = node.id in self._scope.variables or node.id in self._scope.functions
        if node.id == "tolerance" and not bound:
            dotted = TOLERANCE
        return self._reference(node, dotted) if dotted else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """A module's function or constant by its global name."""
        dotted = self._scope.resolve(node)
        return self._reference(node, dotted) if dotted else self.generic_visit(node)

    def _reference(self, node: ast.expr, dotted: str) -> ast.AST:
        # The language has no name with a double underscore, so no name of the reward can be this one.
        name = dotted.replace(".", "__")
        self.references[name] = dotted
        return ast.copy_location(ast.Name(id=name, ctx=ast.Load()), node)


def _call(function: str, arguments: list[ast.expr], place: ast.expr) -> ast.Call:
    name = ast.copy_location(ast.Name(id=function, ctx=ast.Load()), place)
    return ast.copy_location(ast.Call(func=name, args=arguments, keywords=[]), place)


def _is_small(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, int | float) and abs(value) <= _SMALL_EXPONENT
