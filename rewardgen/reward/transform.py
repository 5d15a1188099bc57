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

from rewardgen.reward.growth import LOOKED_AT
from rewardgen.reward.scope import Scope
from rewardgen.reward.vocabulary import CONTAINER_METHODS, METHODS, NUMPY_DTYPES

GUARD = "guarded__"
"""Beginning of the names of guards; the language has no name with a double underscore."""
BOUNDED = "bounded:"
"""Beginning of the dotted name of a function whose arguments are to be looked at first."""
TOLERANCE = "rewardgen.tolerance"
_MADE_NUMPY = ("astype", "copy")
"""Methods of numpy arrays that tensors do not have, or not with that meaning."""
_KEEPING = ("append", "extend", "insert", "update", "setdefault")
"""Methods that put something into a list or dict."""
_KEYED = ("get", "setdefault", "pop", "insert")
_CONVERSIONS = ("float", "int", "bool")
_FIELDS = ("values", "indices")
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


class Pruning(ast.NodeTransformer):
    """Leaves out parts of a tree; where nothing of a body is left, `pass` is."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """See `ast.NodeTransformer`."""
        super().generic_visit(node)
        if isinstance(node, ast.FunctionDef | ast.If | ast.For | ast.With):
            node.body = node.body or [ast.Pass()]
        return node


class _Lowering(Pruning):
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
        self.generic_visit(node)
        node.body.insert(0, ast.copy_location(ast.Expr(_guarded("turn", [], node)), node))
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Counts its calls, as functions do."""
        self.generic_visit(node)
        node.body = ast.copy_location(ast.BoolOp(ast.Or(), [_guarded("turn", [], node.body), node.body]), node.body)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        """By a condition that no tensor decides."""
        self.generic_visit(node)
        node.test = _decided(node.test)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """By a condition that no tensor decides."""
        self.generic_visit(node)
        node.test = _decided(node.test)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """As a condition, but for the last operand, which decides nothing here."""
        self.generic_visit(node)
        node.values[:-1] = map(_decided, node.values[:-1])
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """`not`, as a condition."""
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            node.operand = _decided(node.operand)
        return node

    def visit_With(self, node: ast.With) -> list[ast.stmt]:
        """Its body alone."""
        node.items = []
        self.generic_visit(node)
        return node.body

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | list[ast.stmt] | None:
        """An assignment without the annotation."""
        if node.value is None:
            return None
        return self.visit(ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST | list[ast.stmt]:
        """An assignment of a new value."""
        # `x += y` writes into what x names, which may be an input; `x = x + y` does not.
        current = copy.deepcopy(node.target)
        current.ctx = ast.Load()
        value = ast.BinOp(current, node.op, node.value)
        return self.visit(ast.copy_location(ast.Assign([node.target], value), node))

    def visit_For(self, node: ast.For) -> ast.AST:
        """Counts its turns."""
        self.generic_visit(node)
        node.iter = _guarded("iterate", [node.iter], node.iter)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        """Counts its turns."""
        self.generic_visit(node)
        node.iter = _guarded("iterate", [node.iter], node.iter)
        node.ifs = [_decided(each) for each in node.ifs]
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        """To an element, remembering what was known of sizes before; with `*` among the targets, not of the envs."""
        keeps = self._may_keep(node.value)
        self.generic_visit(node)
        if not keeps and len(node.targets) == 1 and (place := _placed(node.targets[0])):
            place.func = ast.Name(GUARD + "stored", ast.Load())
            return [ast.copy_location(ast.Expr(_guarded("mark", [], node)), node), node]
        if any(isinstance(each, ast.Starred) for target in node.targets for each in getattr(target, "elts", ())):
            node.value = _guarded("items", [node.value], node.value)
        return node

    def _may_keep(self, value: ast.expr) -> bool:
        """Whether something may be kept elsewhere, in a list or dict, while a value is computed."""
        called = [each.func for each in ast.walk(value) if isinstance(each, ast.Call)]
        return any(
            (isinstance(each, ast.Attribute) and each.attr in _KEEPING)
            or (isinstance(each, ast.Name) and each.id in self._scope.functions)
            for each in called
        )

    def visit_Starred(self, node: ast.Starred) -> ast.AST:
        """Of anything but the envs."""
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = _guarded("items", [node.value], node.value)
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
        contained = isinstance(node.ops[0], ast.In | ast.NotIn)
        if len(operands) == 2 and any(map(_is_literal, operands)) and not contained:
            return node
        names: list[ast.expr] = [ast.Constant(type(each).__name__) for each in node.ops]
        return _guarded("compare", [ast.Tuple(names, ast.Load()), *operands], node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """By a function, where tensors or lists may pick, or a size may become another."""
        places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        plain = all(map(_picks_nothing, places))
        self.generic_visit(node)
        if plain:
            return node
        if isinstance(node.ctx, ast.Load):
            return _guarded("index", [node.value, _as_value(node.slice)], node)
        # What is assigned to is a name; see `ownership`.
        owner = ast.Name(node.value.id, ast.Load()) if isinstance(node.value, ast.Name) else node.value
        node.slice = _guarded("place", [owner, _as_value(node.slice)], node.slice)
        return node

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        """By keys that are texts or numbers."""
        self.generic_visit(node)
        node.keys = [each if each is None or _is_literal(each) else _guarded("key", [each], each) for each in node.keys]
        return node

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        """By keys that are texts or numbers."""
        self.generic_visit(node)
        node.key = _guarded("key", [node.key], node.key)
        return node

    def visit_Set(self, node: ast.Set) -> ast.AST:
        """In the order in which it is written."""
        listed = self.visit(ast.copy_location(ast.List(node.elts, ast.Load()), node))
        return _guarded("distinct", [listed], node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        """In the order in which it is made."""
        self.generic_visit(node)
        listed = ast.copy_location(ast.ListComp(node.elt, node.generators), node)
        return _guarded("distinct", [listed], node)

    def visit_Tuple(self, node: ast.Tuple | ast.List) -> ast.AST:
        """With `*` of other lists, counted."""
        self.generic_visit(node)
        stored = isinstance(getattr(node, "ctx", None), ast.Store)
        starred = any(isinstance(each, ast.Starred) for each in node.elts)
        return _guarded("counted", [node], node) if starred and not stored else node

    visit_List = visit_Tuple

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
            method, node.func = node.func, ast.Constant(None)
            self.generic_visit(node)
            node.func, method.value = method, self.visit(method.value)
            return self._lowered_method(node, method, bool(operands))
        self.generic_visit(node)
        if (
            isinstance(node.func, ast.Name)
            and node.func.id in _CONVERSIONS
            and node.func.id not in self._scope.functions
        ):
            return _guarded(node.func.id, node.args, node)
        if dotted in LOOKED_AT or (dotted and (len(operands) > 1 or (operands and dotted.startswith("math.")))):
            node.func = self._reference(node.func, BOUNDED + dotted)
        return node

    def _lowered_method(self, node: ast.Call, method: ast.Attribute, several: bool) -> ast.AST:
        value, name = method.value, method.attr
        with_axis = self._numpy and any(each.arg == "axis" for each in node.keywords)
        if name in _MADE_NUMPY or (with_axis and name in _NUMPY_WITH_AXIS):
            return self._call(f"numpy.{name}", [value, *node.args], node)
        if name in ("extend", "update"):
            return ast.copy_location(
                ast.Call(ast.Name(GUARD + name, ast.Load()), [value, *node.args], node.keywords), node
            )
        if name in _KEYED and several:
            return _guarded("keyed", [ast.Constant(name), value, *node.args], node)
        if f".{name}" in LOOKED_AT or (several and name in METHODS - CONTAINER_METHODS):
            return self._call(f"{BOUNDED}.{name}", [value, *node.args], node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A module's function by its global name."""
        dotted = self._dotted(node)
        return self._reference(node, dotted) if dotted else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """A module's function or constant by its global name."""
        dotted = self._scope.resolve(node)
        if dotted:
            return self._reference(node, dotted)
        self.generic_visit(node)
        if node.attr == "shape":
            return _guarded("shape", [node.value], node)
        if node.attr == "ndim":
            return self._call(f"{BOUNDED}.dim", [node.value], node)
        return _guarded("field", [node.value, ast.Constant(node.attr)], node) if node.attr in _FIELDS else node

    def _dotted(self, node: ast.expr) -> str | None:
        name = node.id if isinstance(node, ast.Name) else ""
        bound = name in self._scope.variables or name in self._scope.functions
        return TOLERANCE if name == "tolerance" and not bound else self._scope.resolve(node)

    def _call(self, dotted: str, arguments: list[ast.expr], place: ast.expr) -> ast.Call:
        keywords = place.keywords if isinstance(place, ast.Call) else []
        return ast.copy_location(ast.Call(self._reference(place, dotted), arguments, keywords), place)

    def _reference(self, node: ast.expr, dotted: str) -> ast.expr:
        name = dotted.replace(".", "__").replace(":", "__")
        self.references[name] = dotted
        return ast.copy_location(ast.Name(id=name, ctx=ast.Load()), node)


def _guarded(guard: str, arguments: list[ast.expr], place: ast.AST) -> ast.Call:
    return ast.copy_location(ast.Call(ast.Name(GUARD + guard, ast.Load()), arguments, []), place)


def _placed(target: ast.expr) -> ast.Call | None:
    """The guarded index of a target that is an element."""
    return target.slice if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Call) else None


def _decided(test: ast.expr) -> ast.expr:
    return test if _is_literal(test) else _guarded("decided", [test], test)


def _is_literal(node: ast.expr) -> bool:
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def _picks_nothing(place: ast.expr) -> bool:
    return _is_literal(place) or (isinstance(place, ast.Slice) and not (place.lower or place.upper or place.step))


def _as_value(index: ast.expr) -> ast.expr:
    """An index as an argument, where no `a:b` may stand."""
    if isinstance(index, ast.Tuple):
        index.elts = [_as_value(each) for each in index.elts]
    if not isinstance(index, ast.Slice):
        return index
    limits = [each or ast.Constant(None) for each in (index.lower, index.upper, index.step)]
    return _guarded("slice", limits, index)
