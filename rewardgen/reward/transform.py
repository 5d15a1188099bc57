"""From the checked syntax tree of a reward to the one that is compiled: what was checked is what runs.

Modules disappear: `torch.exp` becomes one global name, so a program reaches the functions that it names and no others.
Annotations, decorators, asserts and docstrings are dropped; loops count their turns; generators become lists; what
could grow without bound goes through a guard.
"""

from __future__ import annotations

import ast
import copy
from typing import NamedTuple

from rewardgen.reward.columns import may_make_columns
from rewardgen.reward.growth import ELEMENTS
from rewardgen.reward.kinds import Kind, Kinds
from rewardgen.reward.scope import Scope
from rewardgen.reward.vocabulary import CONTAINER_METHODS, METHODS, NUMPY_DTYPES

BOUNDED = "bounded__iteration"
COUNTED = "counted__iteration"
"""As `BOUNDED`, of a loop that goes through all items."""
GUARD = "guarded__"
"""Beginning of the names of methods of `Guards`."""
SIZED = "sized:"
SPREAD = "spread:"
TOLERANCE = "rewardgen.tolerance"
_SMALL_EXPONENT = 16
_MADE_NUMPY = ("astype", "copy")
"""Methods of numpy arrays that tensors do not have, or not with that meaning."""
_NUMPY_WITH_AXIS = ("max", "min", "std", "var")
"""Methods that mean something else in numpy than in torch: told apart by `axis=`, in a reward that imports numpy."""


class Lowered(NamedTuple):
    """A tree that can be compiled.

    Attributes:
        tree: The tree; line numbers are those of the source.
        references: Global name to the dotted name of what it must be bound to, after `SIZED` or `SPREAD` where its
            arguments are to be looked at first.
        columns: Whether it may make tensors such as (N, 1), and must guard the operations that broadcast.
    """

    tree: ast.Module
    references: dict[str, str]
    columns: bool


def lower(tree: ast.Module, columns: bool | None = None) -> Lowered:
    """Transform a checked reward into what is compiled.

    Args:
        tree: A tree that `check_tree` has no finding on; it is not changed.
        columns: Whether operations that broadcast are guarded; None where the reward's text decides.
    """
    scope = Scope(tree)
    kinds = Kinds(tree, scope)
    guarded = may_make_columns(tree, kinds) if columns is None else columns
    transformer = _Lowering(scope, kinds, guarded)
    lowered = transformer.visit(copy.deepcopy(tree))
    return Lowered(ast.fix_missing_locations(lowered), transformer.references, guarded)


class _Lowering(ast.NodeTransformer):
    def __init__(self, scope: Scope, kinds: Kinds, columns: bool) -> None:
        self.references: dict[str, str] = {}
        self._scope = scope
        self._kinds = kinds
        self._columns = columns
        self._numpy = any(module.split(".")[0] == "numpy" for module in scope.imports.values())

    def visit_Import(self, node: ast.Import) -> None:
        """Dropped: what it names is bound when it is used."""
        return None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Dropped: what it names is bound when it is used."""
        return None

    def visit_Assert(self, node: ast.Assert) -> None:
        """Dropped."""
        return None

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        """The one error of a reward, with the text."""
        call = node.exc
        texts = [self.visit(each) for each in call.args] if isinstance(call, ast.Call) else []
        return ast.copy_location(ast.Expr(_call(f"{GUARD}fail", texts, node)), node)

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
        leaves = any(isinstance(each, ast.Break | ast.Return) for each in ast.walk(node))
        node.iter = _call(BOUNDED if leaves else COUNTED, [node.iter], node.iter)
        node.body = node.body or [ast.copy_location(ast.Pass(), node)]
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        """Counts its turns."""
        self.generic_visit(node)
        node.iter = _call(COUNTED, [node.iter], node.iter)
        return node

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        """A list, which remembers nothing between calls."""
        self.generic_visit(node)
        return ast.copy_location(ast.ListComp(elt=node.elt, generators=node.generators), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """What could grow, through its guard."""
        left, right = self._kinds.of(node.left), self._kinds.of(node.right)
        guard = self._guard_of(node, left, right)
        self.generic_visit(node)
        if isinstance(node.op, ast.MatMult):
            return self._call(SIZED + "@", [node.left, node.right], node)
        if guard:
            return _call(GUARD + guard, [node.left, node.right], node)
        if self._columns and left & right & Kind.TENSOR:
            return self._call(f"{SPREAD}{type(node.op).__name__}", [node.left, node.right], node)
        return node

    def _guard_of(self, node: ast.BinOp, left: Kind, right: Kind) -> str:
        """The guard that an operation needs; integers, lists and strings are what grows."""
        other, integers = (left | right) & Kind.OTHER, left & right & Kind.INTEGER
        if isinstance(node.op, ast.Mult):
            return "multiply" if other or integers else ""
        if isinstance(node.op, ast.Add):
            return "add" if left & right & Kind.OTHER else ""
        if isinstance(node.op, ast.Pow):
            return "" if _is_small(node.right) and not left & Kind.INTEGER else "power"
        return "remainder" if isinstance(node.op, ast.Mod) and left & Kind.OTHER else ""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Of lists and of tensors that broadcast, through its guard."""
        parts = [self._kinds.of(each) for each in (node.left, *node.comparators)]
        name = type(node.ops[0]).__name__
        self.generic_visit(node)
        if len(parts) > 2 or name in ("Is", "IsNot") or isinstance(node.comparators[0], ast.Constant):
            return node
        if parts[0] & parts[1] & Kind.OTHER or (name in ("In", "NotIn") and parts[0] & Kind.OTHER):
            symbol = ast.copy_location(ast.Constant(name), node)
            return _call(f"{GUARD}compare", [symbol, node.left, node.comparators[0]], node)
        if self._columns and parts[0] & parts[1] & Kind.TENSOR:
            return self._call(SPREAD + name, [node.left, node.comparators[0]], node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Picking by tensors or lists, through its guard."""
        guarded = isinstance(node.ctx, ast.Load) and self._picks(node)
        self.generic_visit(node)
        return _call(f"{GUARD}index", [node.value, _as_value(node.slice)], node) if guarded else node

    def _picks(self, node: ast.Subscript) -> bool:
        places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if not self._kinds.of(node.value) & Kind.TENSOR:
            return False
        return any(
            not isinstance(each, ast.Constant | ast.Slice) and self._kinds.of(each) != Kind.INTEGER for each in places
        )

    def visit_List(self, node: ast.List) -> ast.AST:
        """With `*` of other lists, counted."""
        return self._counted(node, any(isinstance(each, ast.Starred) for each in node.elts))

    def visit_Set(self, node: ast.Set) -> ast.AST:
        """With `*` of other lists, counted."""
        return self._counted(node, any(isinstance(each, ast.Starred) for each in node.elts))

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        """With `*` of other lists, counted."""
        return self._counted(node, any(isinstance(each, ast.Starred) for each in node.elts))

    def _counted(self, node: ast.List | ast.Set | ast.Tuple, guarded: bool) -> ast.AST:
        self.generic_visit(node)
        stored = isinstance(getattr(node, "ctx", None), ast.Store)
        return _call(f"{GUARD}counted", [node], node) if guarded and not stored else node

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        """Numbers and short texts."""
        guarded = bool(self._kinds.of(node.value) & Kind.OTHER) and not isinstance(node.value, ast.Constant)
        self.generic_visit(node)
        if guarded:
            node.value = _call(f"{GUARD}text", [node.value], node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Numpy's methods as functions; what makes large tensors, through its guard."""
        tensors = [bool(self._kinds.of(each) & Kind.TENSOR) for each in (*node.args, *(k.value for k in node.keywords))]
        dotted = self._dotted(node.func)
        if dotted in NUMPY_DTYPES:
            dtype = self._reference(node.func, dotted)
            self.generic_visit(node)
            return self._call("numpy.astype", [*node.args, dtype], node)
        if dotted is None and isinstance(node.func, ast.Attribute):
            return self._lowered_method(node, node.func, tensors)
        spread = self._columns and sum(tensors) > 1
        self.generic_visit(node)
        if dotted in ELEMENTS:
            node.func = self._reference(node.func, SIZED + dotted)
        elif dotted and spread:
            node.func = self._reference(node.func, SPREAD + dotted)
        elif self._columns and isinstance(node.func, ast.Name) and node.func.id == "sum":
            bound = node.func.id in self._scope.functions
            node.func = node.func if bound else self._reference(node.func, SPREAD + "sum")
        return node

    def _lowered_method(self, node: ast.Call, method: ast.Attribute, tensors: list[bool]) -> ast.AST:
        with_axis = any(each.arg == "axis" for each in node.keywords)
        as_numpy = method.attr in _MADE_NUMPY or (self._numpy and with_axis and method.attr in _NUMPY_WITH_AXIS)
        name = method.attr
        self.generic_visit(node)
        if as_numpy:
            return self._call(f"numpy.{name}", [method.value, *node.args], node, node.keywords)
        if name == "extend":
            return _call(f"{GUARD}extend", [method.value, *node.args], node)
        if f".{name}" in ELEMENTS:
            return self._call(f"{SIZED}.{name}", [method.value, *node.args], node, node.keywords)
        if self._columns and any(tensors) and name in METHODS and name not in CONTAINER_METHODS:
            named = ast.copy_location(ast.Constant(name), node)
            return _call(f"{GUARD}method", [method.value, named, *node.args], node, node.keywords)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A module's function by its global name."""
        dotted = self._dotted(node)
        return self._reference(node, dotted) if dotted else node

    def _dotted(self, node: ast.expr) -> str | None:
        name = node.id if isinstance(node, ast.Name) else ""
        bound = name in self._scope.variables or name in self._scope.functions
        return TOLERANCE if name == "tolerance" and not bound else self._scope.resolve(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """A module's function or constant by its global name."""
        dotted = self._scope.resolve(node)
        return self._reference(node, dotted) if dotted else self.generic_visit(node)

    def _call(
        self, dotted: str, arguments: list[ast.expr], place: ast.expr, keywords: list[ast.keyword] | None = None
    ) -> ast.Call:
        call = _call("", arguments, place, keywords)
        call.func = self._reference(place, dotted)
        return call

    def _reference(self, node: ast.expr, dotted: str) -> ast.expr:
        # The language has no name with a double underscore, so no name of the reward can be this one.
        name = dotted.replace(".", "__").replace(":", "__").replace("@", "matmul")
        self.references[name] = dotted
        return ast.copy_location(ast.Name(id=name, ctx=ast.Load()), node)


def _call(
    function: str, arguments: list[ast.expr], place: ast.AST, keywords: list[ast.keyword] | None = None
) -> ast.Call:
    name = ast.copy_location(ast.Name(id=function, ctx=ast.Load()), place)
    return ast.copy_location(ast.Call(func=name, args=arguments, keywords=keywords or []), place)


def _as_value(index: ast.expr) -> ast.expr:
    """An index as an argument, where no `a:b` may stand."""
    if isinstance(index, ast.Tuple):
        index.elts = [_as_value(each) for each in index.elts]
    if not isinstance(index, ast.Slice):
        return index
    limits = [each or ast.Constant(None) for each in (index.lower, index.upper, index.step)]
    return _call(f"{GUARD}slice", limits, index)


def _is_small(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, int | float) and abs(value) <= _SMALL_EXPONENT
