"""What kinds of values an expression of a reward may have: a tensor, a float, an integer, or anything else.

Told from the text alone, so that only those operations pay for a guard that could make something large: `[0] * n`,
`n * n` on integers, but not `2.0 * height`. Every answer errs towards more kinds. A name has the kinds of all its
bindings anywhere in the reward.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import IntFlag

from rewardgen.reward.scope import Function, Scope, split_module
from rewardgen.reward.signature import ENTRY
from rewardgen.reward.vocabulary import words


class Kind(IntFlag):
    """Kinds of values; a union where an expression may have several."""

    NONE = 0
    TENSOR = 1
    FLOAT = 2
    INTEGER = 4
    OTHER = 8
    NUMBER = FLOAT | INTEGER
    ANY = TENSOR | FLOAT | INTEGER | OTHER


_SEVERAL = frozenset(
    words("unbind split chunk tensor_split broadcast_tensors meshgrid max min median mode cummax cummin topk sort")
)
"""Functions and methods that return several tensors, or may."""
_ATTRIBUTES = {"ndim": Kind.INTEGER, "T": Kind.TENSOR, "mT": Kind.TENSOR, "eps": Kind.FLOAT, "tiny": Kind.FLOAT}
_METHODS = {
    **dict.fromkeys(["get", "pop", "setdefault", "copy"], Kind.ANY),
    **dict.fromkeys(["keys", "values", "items"], Kind.OTHER),
    **dict.fromkeys(["append", "extend", "insert", "update"], Kind.OTHER),
    **dict.fromkeys(["dim", "numel"], Kind.INTEGER),
    "size": Kind.OTHER | Kind.INTEGER,
    "astype": Kind.TENSOR | Kind.NUMBER,
}
_BUILTINS = {
    **dict.fromkeys(["float"], Kind.FLOAT),
    **dict.fromkeys(["int", "len", "bool", "all", "any"], Kind.INTEGER),
    **dict.fromkeys(["range", "list", "dict", "set", "tuple", "str", "sorted", "print"], Kind.OTHER),
    **dict.fromkeys(["enumerate", "zip", "reversed"], Kind.OTHER),
    "tolerance": Kind.TENSOR,
}
_DISPLAYS = (ast.List, ast.Tuple, ast.Set)
_LISTS = (*_DISPLAYS, ast.ListComp, ast.SetComp, ast.GeneratorExp)


class Kinds:
    """Kinds of all names and expressions of a reward.

    Args:
        tree: A reward that `check_tree` has no finding on.
        scope: Its names.
    """

    def __init__(self, tree: ast.Module, scope: Scope) -> None:
        self._scope = scope
        self._names: dict[str, Kind] = {}
        self._elements: dict[str, Kind] = {}
        self._lists: dict[str, bool] = {}
        self._returns: dict[str, Kind] = dict.fromkeys(scope.functions, Kind.NONE)
        while self._pass_over(tree):
            pass

    def of(self, node: ast.expr) -> Kind:
        """The kinds that an expression may have.

        Args:
            node: The expression.
        """
        if isinstance(node, ast.Constant):
            return _of_constant(node.value)
        if isinstance(node, ast.Name):
            return self._of_name(node)
        if isinstance(node, ast.UnaryOp):
            return Kind.INTEGER if isinstance(node.op, ast.Not) else self.of(node.operand)
        if isinstance(node, ast.BinOp):
            return _of_operation(node.op, self.of(node.left), self.of(node.right))
        if isinstance(node, ast.Compare):
            parts = [self.of(each) for each in (node.left, *node.comparators)]
            return Kind.INTEGER | (Kind.TENSOR & _union(parts))
        if isinstance(node, ast.BoolOp):
            return _union(self.of(each) for each in node.values)
        if isinstance(node, ast.IfExp):
            return self.of(node.body) | self.of(node.orelse)
        if isinstance(node, ast.Call):
            return self._of_call(node)
        if isinstance(node, ast.Attribute):
            dotted = self._scope.resolve(node)
            return _of_module_value(dotted) if dotted else _ATTRIBUTES.get(node.attr, Kind.OTHER | Kind.TENSOR)
        return self._of_subscript(node) if isinstance(node, ast.Subscript) else Kind.OTHER

    def is_module_function(self, node: ast.expr) -> bool:
        """Whether what is called is a function of a module, as in `np.sum(x)`, and no method.

        Args:
            node: What is called.
        """
        return self._scope.resolve(node) is not None

    def elements(self, node: ast.expr) -> Kind:
        """The kinds that the elements of an expression may have.

        Args:
            node: What is iterated over, or indexed.
        """
        if isinstance(node, _DISPLAYS):
            starred = any(isinstance(each, ast.Starred) for each in node.elts)
            return Kind.ANY if starred else _union(self.of(each) for each in node.elts)
        if isinstance(node, ast.Dict):
            return Kind.ANY if None in node.keys else _union(self.of(each) for each in node.values)
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            return self.of(node.elt)
        if isinstance(node, ast.DictComp):
            return self.of(node.value)
        if isinstance(node, ast.Name) and node.id in self._scope.variables:
            return self._elements.get(node.id, Kind.NONE) | (Kind.TENSOR & self.of(node))
        if isinstance(node, ast.Attribute):
            return Kind.INTEGER if node.attr == "shape" else Kind.ANY
        return self._elements_of_call(node) if isinstance(node, ast.Call) else self._elements_of_tensor(node)

    def _elements_of_tensor(self, node: ast.expr) -> Kind:
        return Kind.TENSOR if self.of(node) == Kind.TENSOR else Kind.ANY

    def _elements_of_call(self, node: ast.Call) -> Kind:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if called == "values" and isinstance(node.func, ast.Attribute):
            return self.elements(node.func.value)
        if called in _SEVERAL and called not in ("broadcast_tensors", "meshgrid"):
            return Kind.TENSOR
        if isinstance(node.func, ast.Name) and node.func.id not in self._scope.functions:
            if node.func.id == "range":
                return Kind.INTEGER
            if node.func.id in ("list", "tuple", "reversed", "sorted", "set") and len(node.args) == 1:
                return self._iterated(node.args[0])
            if node.func.id == "dict" and not node.args:
                return _union(self.of(each.value) for each in node.keywords)
        return self._elements_of_tensor(node)

    # Parts of an expression.

    def _of_name(self, node: ast.Name) -> Kind:
        dotted = self._scope.resolve(node)
        if dotted:
            return _of_module_value(dotted)
        return self._names.get(node.id, Kind.NONE) if node.id in self._scope.variables else Kind.ANY

    def _of_subscript(self, node: ast.Subscript) -> Kind:
        base = self.of(node.value)
        if base == Kind.TENSOR:
            return Kind.TENSOR
        return (
            Kind.OTHER | self.elements(node.value) if isinstance(node.slice, ast.Slice) else self.elements(node.value)
        )

    def _of_call(self, node: ast.Call) -> Kind:
        dotted = self._scope.resolve(node.func)
        if dotted:
            # numpy's functions give numbers for numbers alone.
            given = any(self.of(each) == Kind.TENSOR for each in node.args)
            return Kind.TENSOR if given and dotted.startswith("numpy.") else _of_module_call(dotted)
        if isinstance(node.func, ast.Attribute):
            if node.func.attr in _SEVERAL:
                return Kind.OTHER | Kind.TENSOR
            return _METHODS.get(node.func.attr, Kind.TENSOR)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in self._scope.functions:
            return self._returns[name]
        if name in ("abs", "round") and node.args:
            return self.of(node.args[0]) | (Kind.INTEGER if name == "round" else Kind.NONE)
        if name in ("sum", "max", "min") and node.args:
            single = self._iterated(node.args[0]) if len(node.args) == 1 or name == "sum" else Kind.NONE
            several = _union(self.of(each) for each in node.args[1 if single else 0 :])
            return single | several | Kind.INTEGER
        return _BUILTINS.get(name, Kind.ANY)

    # Bindings.

    def _pass_over(self, tree: ast.Module) -> bool:
        """Add the kinds of every binding; whether that told something new."""
        before = tuple(map(dict, (self._names, self._elements, self._lists, self._returns)))
        for name, function in self._scope.functions.items():
            self._bind_parameters(name, function)
            returned = [function.body] if isinstance(function, ast.Lambda) else _returned(function)
            self._returns[name] |= _union(self.of(each) for each in returned)
        for node in ast.walk(tree):
            self._bind(node)
        return before != (self._names, self._elements, self._lists, self._returns)

    def _bind(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind_target(target, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._bind_target(node.target, node.value)
        elif isinstance(node, ast.AugAssign):
            self._add(node.target, _of_operation(node.op, self.of(_read(node.target)), self.of(node.value)), Kind.ANY)
        elif isinstance(node, ast.For | ast.comprehension):
            self._bind_loop(node.target, node.iter)
        elif isinstance(node, ast.Call):
            self._bind_call(node)

    def _bind_target(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            parts = value.elts if isinstance(value, ast.Tuple | ast.List) else []
            for index, each in enumerate(target.elts):
                if len(parts) == len(target.elts):
                    self._bind_target(each, parts[index])
                else:
                    self._add(each, self.elements(value), Kind.ANY)
        else:
            if isinstance(target, ast.Name) and not isinstance(value, _LISTS):
                self._lists[target.id] = False
            self._add(target, *self._with_elements(value))

    def _with_elements(self, value: ast.expr) -> tuple[Kind, Kind]:
        kind = self.of(value)
        return kind, self.elements(value) if kind & Kind.OTHER else Kind.NONE

    def _iterated(self, node: ast.expr) -> Kind:
        """The kinds that a loop over an expression gives: of a dict its keys."""
        listed = isinstance(node, ast.Name) and self._lists.get(node.id, True)
        if listed or isinstance(node, (*_LISTS, ast.Call, ast.Attribute)) or self.of(node) == Kind.TENSOR:
            return self.elements(node)
        return Kind.ANY

    def _bind_loop(self, target: ast.expr, iterated: ast.expr) -> None:
        parts = target.elts if isinstance(target, ast.Tuple | ast.List) else None
        kinds = self._paired(iterated) if parts else None
        if parts and kinds and len(kinds) == len(parts):
            for each, kind in zip(parts, kinds, strict=True):
                self._add(each, kind, Kind.ANY)
        else:
            self._add(target, Kind.ANY if parts else self._iterated(iterated), Kind.ANY)

    def _paired(self, node: ast.expr) -> list[Kind] | None:
        """The kinds of each part of the tuples that `enumerate`, `zip` and `.items()` give."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            if node.func.id == "enumerate":
                return [Kind.INTEGER, self._iterated(node.args[0])]
            if node.func.id == "zip":
                return [self._iterated(each) for each in node.args]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "items":
            return [Kind.ANY, self.elements(node.func.value)]
        return None

    def _bind_call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            if node.func.attr in ("append", "insert"):
                self._add(node.func.value, Kind.NONE, _union(self.of(each) for each in node.args))
            elif node.func.attr in ("extend", "update", "setdefault"):
                self._add(node.func.value, Kind.NONE, Kind.ANY)
        function = self._scope.functions.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if function is not None:
            parameters = [each.arg for each in function.args.args]
            given = [
                *zip(parameters, node.args, strict=False),
                *((each.arg or "", each.value) for each in node.keywords),
            ]
            for name, value in given:
                self._lists[name] = False
                self._note(name, *self._with_elements(value))

    def _bind_parameters(self, name: str, function: Function) -> None:
        arguments = function.args
        if name == ENTRY:
            for each in arguments.args:
                self._note(each.arg, Kind.TENSOR, Kind.TENSOR)
            for each in arguments.kwonlyargs:
                self._note(each.arg, Kind.TENSOR | Kind.FLOAT, Kind.TENSOR)
        positional = arguments.args[len(arguments.args) - len(arguments.defaults) :]
        defaults = [*zip(positional, arguments.defaults, strict=True)]
        defaults += [
            (each, value) for each, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value
        ]
        for each, value in defaults:
            self._lists[each.arg] = False
            self._note(each.arg, *self._with_elements(value))

    def _add(self, target: ast.expr, kind: Kind, elements: Kind) -> None:
        if isinstance(target, ast.Name):
            self._note(target.id, kind, elements if kind & Kind.OTHER or not kind else Kind.NONE)
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            self._note(target.value.id, Kind.NONE, kind)
        elif isinstance(target, ast.Starred):
            self._add(target.value, Kind.OTHER, Kind.ANY)
        elif isinstance(target, ast.Tuple | ast.List):
            for each in target.elts:
                self._add(each, Kind.ANY, Kind.ANY)

    def _note(self, name: str, kind: Kind, elements: Kind) -> None:
        self._names[name] = self._names.get(name, Kind.NONE) | kind
        self._elements[name] = self._elements.get(name, Kind.NONE) | elements


def _union(kinds: Iterator[Kind] | list[Kind]) -> Kind:
    found = Kind.NONE
    for each in kinds:
        found |= each
    return found


def _of_constant(value: object) -> Kind:
    if isinstance(value, int):
        return Kind.INTEGER
    return Kind.FLOAT if isinstance(value, float) else Kind.OTHER


def _of_operation(operator: ast.operator, left: Kind, right: Kind) -> Kind:
    found = (left | right) & (Kind.TENSOR | Kind.OTHER)
    if left & Kind.NUMBER and right & Kind.NUMBER:
        found |= (left | right) & Kind.FLOAT
        if left & right & Kind.INTEGER:
            found |= Kind.INTEGER
        if isinstance(operator, ast.Div | ast.Pow | ast.Mult):
            found |= Kind.FLOAT
    return found


def _of_module_value(dotted: str) -> Kind:
    name = dotted.rsplit(".", 1)[-1]
    return Kind.FLOAT if name in ("pi", "e", "inf", "nan", "tau") else Kind.OTHER


def _of_module_call(dotted: str) -> Kind:
    module, name = split_module(dotted)
    if module == "math":
        return Kind.NUMBER
    if module.startswith("numpy"):
        return Kind.ANY if name == "copy" else Kind.TENSOR | Kind.NUMBER
    if name in ("finfo", "numel"):
        return Kind.OTHER | Kind.INTEGER
    return Kind.TENSOR | Kind.OTHER if name in _SEVERAL else Kind.TENSOR


def _returned(function: ast.FunctionDef) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        if isinstance(node, ast.Return):
            yield node.value or ast.Constant(None)


def _read(target: ast.expr) -> ast.expr:
    """A target of `x += y` as the expression that it reads."""
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    return ast.Subscript(target.value, target.slice, ast.Load()) if isinstance(target, ast.Subscript) else target
