"""From the checked syntax tree of a reward to the one that is compiled: what was checked is what runs.

Modules disappear: `torch.exp` becomes one global name, so a program reaches the functions that it names and no others.
Annotations, decorators, asserts and docstrings are dropped; generators become lists; whatever could grow or go on
without bound, operators, calls and loops, goes through a guard.
"""

# The names of visitor methods are given by `ast`.
# ruff: noqa: N815

from __future__ import annotations

import ast
import copy
from typing import NamedTuple

from rewardgen.reward.growth import ELEMENTS
from rewardgen.reward.scope import Scope
from rewardgen.reward.vocabulary import CONTAINER_METHODS, METHODS, NUMPY_DTYPES

GUARD = "guarded__"
"""Beginning of the names of guards; the language has no name with a double underscore."""
BOUNDED = "bounded:"
"""Beginning of the dotted name of a function whose arguments are to be looked at first."""
TOLERANCE = "rewardgen.tolerance"
_MADE_NUMPY = ("astype", "copy")
"""Methods of numpy arrays that tensors do not have, or not with that meaning."""
_NUMPY_WITH_AXIS = ("max", "min", "std", "var")
"""Methods that mean something else in numpy than in torch: told apart by `axis=`, in a reward that imports numpy."""


class Lowered(NamedTuple):
    """A tree that can be compiled.

    Attributes:
        tree: The tree; line numbers are those of the source.
        references: Global name to the dotted name of the function or value that it stands for, `.name` for a method,
            after `BOUNDED` where it could make something large.
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
        self._numpy = any(module.split(".")[0] == "numpy" for module in scope.imports.values())

    def visit_Import(self, node: ast.AST) -> None:
        """Dropped: what it names is bound when it is used. Assertions are never evaluated."""

    visit_ImportFrom = visit_Assert = visit_Import

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        """The one error of a reward, with the text."""
        call = node.exc
        texts = [self.visit(each) for each in call.args] if isinstance(call, ast.Call) else []
        return ast.copy_location(ast.Expr(_guarded("fail", texts, node)), node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Docstrings are dropped."""
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Without decorators and annotations."""
        node.decorator_list = []
        node.returns = None
        for argument in (*node.args.args, *node.args.kwonlyargs):
            argument.annotation = None
        return self._with_body(node)

    def _with_body(self, node: ast.FunctionDef | ast.If | ast.For) -> ast.AST:
        """Keeps a body where all of it was dropped."""
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node

    visit_If = _with_body

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
        value = ast.BinOp(current, node.op, node.value)
        return self.visit(ast.copy_location(ast.Assign([node.target], value), node))

    def visit_For(self, node: ast.For) -> ast.AST:
        """Counts its turns."""
        self._with_body(node)
        node.iter = _guarded("iterate", [node.iter], node.iter)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        """Counts its turns."""
        self.generic_visit(node)
        node.iter = _guarded("iterate", [node.iter], node.iter)
        return node

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        """A list, which remembers nothing between calls."""
        self.generic_visit(node)
        return ast.copy_location(ast.ListComp(elt=node.elt, generators=node.generators), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """By a function, but with a float, of which only a float or a tensor can come, or the formatting of a text."""
        self.generic_visit(node)
        floats = any(isinstance(getattr(each, "value", None), float) for each in (node.left, node.right))
        if floats and not isinstance(node.op, ast.Mod):
            return node
        return _guarded(type(node.op).__name__, [node.left, node.right], node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """By a function, but with a literal, which makes nothing grow."""
        self.generic_visit(node)
        operands = [node.left, *node.comparators]
        if len(operands) == 2 and any(map(_is_literal, operands)):
            return node
        names: list[ast.expr] = [ast.Constant(type(each).__name__) for each in node.ops]
        return _guarded("compare", [ast.Tuple(names, ast.Load()), *operands], node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """By a function, where tensors or lists may pick."""
        places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        picks = isinstance(node.ctx, ast.Load) and not all(map(_picks_nothing, places))
        self.generic_visit(node)
        return _guarded("index", [node.value, _as_value(node.slice)], node) if picks else node

    def visit_Tuple(self, node: ast.Tuple | ast.List | ast.Set) -> ast.AST:
        """With `*` of other lists, counted."""
        self.generic_visit(node)
        stored = isinstance(getattr(node, "ctx", None), ast.Store)
        starred = any(isinstance(each, ast.Starred) for each in node.elts)
        return _guarded("counted", [node], node) if starred and not stored else node

    visit_List = visit_Set = visit_Tuple

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        """Numbers and short texts."""
        self.generic_visit(node)
        node.value = _guarded("text", [node.value], node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Methods of numpy arrays as numpy's functions; what has several operands or makes large tensors, bounded."""
        dotted = self._dotted(node.func)
        operands = [each for each in (*node.args, *(each.value for each in node.keywords)) if not _is_literal(each)]
        if dotted in NUMPY_DTYPES:
            dtype = self._reference(node.func, dotted)
            self.generic_visit(node)
            return self._call("numpy.astype", [*node.args, dtype], node)
        if dotted is None and isinstance(node.func, ast.Attribute):
            self.generic_visit(node)
            return self._lowered_method(node, node.func, bool(operands))
        self.generic_visit(node)
        if dotted in ELEMENTS or (dotted and len(operands) > 1):
            node.func = self._reference(node.func, BOUNDED + dotted)
        return node

    def _lowered_method(self, node: ast.Call, method: ast.Attribute, several: bool) -> ast.AST:
        value, name = method.value, method.attr
        with_axis = self._numpy and any(each.arg == "axis" for each in node.keywords)
        if name in _MADE_NUMPY or (with_axis and name in _NUMPY_WITH_AXIS):
            return self._call(f"numpy.{name}", [value, *node.args], node)
        if name == "extend":
            return _guarded("extend", [value, *node.args], node)
        if f".{name}" in ELEMENTS or (several and name in METHODS - CONTAINER_METHODS):
            return self._call(f"{BOUNDED}.{name}", [value, *node.args], node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A module's function by its global name."""
        dotted = self._dotted(node)
        return self._reference(node, dotted) if dotted else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """A module's function or constant by its global name."""
        dotted = self._scope.resolve(node)
        return self._reference(node, dotted) if dotted else self.generic_visit(node)

    def _dotted(self, node: ast.expr) -> str | None:
        name = node.id if isinstance(node, ast.Name) else ""
        bound = name in self._scope.variables or name in self._scope.functions
        return TOLERANCE if name == "tolerance" and not bound else self._scope.resolve(node)

    def _call(self, dotted: str, arguments: list[ast.expr], call: ast.Call) -> ast.Call:
        return ast.copy_location(ast.Call(self._reference(call, dotted), arguments, call.keywords), call)

    def _reference(self, node: ast.expr, dotted: str) -> ast.expr:
        name = dotted.replace(".", "__").replace(":", "__")
        self.references[name] = dotted
        return ast.copy_location(ast.Name(id=name, ctx=ast.Load()), node)


def _guarded(guard: str, arguments: list[ast.expr], place: ast.AST) -> ast.Call:
    return ast.copy_location(ast.Call(ast.Name(GUARD + guard, ast.Load()), arguments, []), place)


def _is_literal(node: ast.expr) -> bool:
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def _picks_nothing(place: ast.expr) -> bool:
    return isinstance(place, ast.Slice) or _is_literal(place)


def _as_value(index: ast.expr) -> ast.expr:
    """An index as an argument, where no `a:b` may stand."""
    if isinstance(index, ast.Tuple):
        index.elts = [_as_value(each) for each in index.elts]
    if not isinstance(index, ast.Slice):
        return index
    limits = [each or ast.Constant(None) for each in (index.lower, index.upper, index.step)]
    return _guarded("slice", limits, index)
