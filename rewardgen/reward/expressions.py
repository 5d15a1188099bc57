"""The rules of the reward language for expressions: names, attributes, literals and calls."""

# The names of visitor methods are given by `ast`.
# ruff: noqa: N802

from __future__ import annotations

import ast
import re

from rewardgen.reward.constructs import PLAIN, REFUSED, WHOLE_BATCH
from rewardgen.reward.dm_control import apart, bounds_of
from rewardgen.reward.ownership import is_fresh
from rewardgen.reward.refusals import Refusals
from rewardgen.reward.scope import Scope, split_module
from rewardgen.reward.vocabulary import (
    ATTRIBUTES,
    BUILTINS,
    CHANGING_METHODS,
    MAX_POSITIONAL,
    METHODS,
    MODULE_NAMES,
    NUMPY_DTYPES,
    PREDEFINED_FUNCTIONS,
    REFUSED_KEYWORDS,
    TOLERANCE_PARAMETERS,
    VALUES,
)

_MAX_INT = 10**9
_MAX_TEXT = 200
_MAX_RANGE = 1000
_FORMAT = re.compile(r"[+ ]?0?\d{0,2}(\.\d{1,2})?[defg%]?")
_DTYPES = ("float", "int", "bool")
_FUNCTIONS = BUILTINS | PREDEFINED_FUNCTIONS


class Expressions(Refusals):
    """Checks expressions.

    Args:
        scope: The names of the reward.

    Attributes:
        scope: The names of the reward.
        function: Name of the function that is being checked; empty at the top level.
        owned: Names that hold only what that function made.
        calls: Function of the reward to those that it calls.
    """

    def __init__(self, scope: Scope) -> None:
        super().__init__()
        self.scope = scope
        self.function = ""
        self.owned: frozenset[str] = frozenset()
        self.calls: dict[str, set[str]] = {name: set() for name in scope.functions}

    def generic_visit(self, node: ast.AST) -> None:
        """Let plain constructs pass, look at their parts, and refuse all others."""
        if isinstance(node, PLAIN):
            super().generic_visit(node)
            return
        self._refuse_construct(node, node)

    # Names, attributes and literals used as values.

    def visit_Name(self, node: ast.Name) -> None:
        """A name is a variable; functions and modules are not values."""
        if not self.check_name(node, node.id) or not isinstance(node.ctx, ast.Load):
            return
        dotted = self.scope.resolve(node)
        if dotted is not None:
            self._check_value(node, dotted)
        elif self._is_function(node.id):
            self.refuse(node, "function-as-value", f"uses the function `{node.id}` as a value", "call it")
        elif node.id not in self.scope.variables:
            self.refuse_name(node, "unknown-name", node.id, self.scope.variables | _FUNCTIONS)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """A listed attribute of a value, or a constant of a module."""
        dotted = self.scope.resolve(node)
        if dotted is not None:
            self._check_value(node, dotted)
            return
        self.visit(node.value)
        if node.attr in METHODS - ATTRIBUTES:
            self.refuse(node, "function-as-value", f"uses the method `.{node.attr}` without calling it", "add `()`")
        elif node.attr not in ATTRIBUTES:
            self.refuse_name(node, "unknown-attribute", node.attr, METHODS | ATTRIBUTES, "`.{}`")

    def visit_Constant(self, node: ast.Constant) -> None:
        """Numbers, short strings, booleans and None."""
        value = node.value
        if isinstance(value, bytes | complex):
            self.refuse(node, "forbidden-literal", f"holds a {type(value).__name__} literal", "use floats")
        elif isinstance(value, int) and abs(value) > _MAX_INT:
            self.refuse(node, "forbidden-literal", "holds an integer above 1e9", "use a float, such as `1e12`")
        elif isinstance(value, str) and len(value) > _MAX_TEXT:
            self.refuse(node, "forbidden-literal", "holds a long string", "strings only name components")

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Arithmetic, without shifts and without the formatting of strings."""
        text = isinstance(node.left, ast.JoinedStr) or _is_text(node.left)
        if isinstance(node.op, ast.Mod) and text:
            self.refuse(node, "forbidden-format", "formats a string with `%`", 'write an f-string: f"joint_{i}"')
        self.check_operator(node, node.op)
        self.visit(node.left)
        self.visit(node.right)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """f-strings, for the names of components."""
        for part in node.values:
            self.visit(part)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> None:
        """A value with a short literal format at most."""
        spec = node.format_spec.values if isinstance(node.format_spec, ast.JoinedStr) else []
        plain = all(isinstance(each, ast.Constant) and _FORMAT.fullmatch(str(each.value)) for each in spec)
        if node.conversion != -1 or not plain or len(spec) > 1:
            hint = "write `{name}` or `{name:.3f}`"
            self.refuse(node, "forbidden-format", "formats a value in an unusual way", hint)
        self.visit(node.value)

    def check_operator(self, node: ast.AST, operator: ast.operator) -> None:
        """Refuse operators that are not in the language, at the line of the expression: they have none themselves."""
        if not isinstance(operator, PLAIN):
            self._refuse_construct(node, operator)

    def _refuse_construct(self, node: ast.AST, construct: ast.AST) -> None:
        kind = type(construct).__name__
        words, instead = REFUSED.get(kind, (f"`{kind}`", "write plain expressions, assignments, `if` and `for`"))
        self.refuse(node, "forbidden-construct", f"uses {words}", instead)

    def check_name(self, node: ast.AST, name: str) -> bool:
        """Refuse names with a double underscore; whether the name is in order."""
        if "__" not in name:
            return True
        self.refuse(node, "private-name", f"uses the name `{name}`", "use names without a double underscore")
        return False

    def _is_function(self, name: str) -> bool:
        return name in self.scope.functions or (name in _FUNCTIONS and name not in self.scope.variables)

    def _check_value(self, node: ast.expr, dotted: str) -> None:
        module, name = split_module(dotted)
        if dotted in VALUES:
            return
        if name in MODULE_NAMES.get(module, ()):
            self.refuse(node, "function-as-value", f"uses the function `{dotted}` as a value", "call it")
        elif not name and module in MODULE_NAMES:
            self.refuse(node, "function-as-value", f"uses the module `{dotted}` as a value", "call a function of it")
        else:
            self.refuse_name(node, "unknown-name", dotted, _names_of(module))

    # Calls.

    def visit_Call(self, node: ast.Call) -> None:
        """Only what is listed, and functions of the reward, is called, and only by name."""
        self._check_arguments(node)
        dotted = self.scope.resolve(node.func)
        if dotted is not None:
            self._check_module_call(node, dotted)
        elif isinstance(node.func, ast.Name):
            self._check_named_call(node, node.func.id)
        elif isinstance(node.func, ast.Attribute):
            self._check_method_call(node, node.func)
        else:
            self.refuse(node, "computed-call", "calls the result of an expression", "call functions by their name")

    def _check_arguments(self, node: ast.Call) -> None:
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        moves, converts = method == "to", method in ("to", "astype")
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                self.refuse(argument, "star-argument", "passes `*` arguments", "write each argument")
            elif not (converts and _is_dtype(argument)):
                self.visit(argument)
        if moves and any(isinstance(argument, ast.Constant) for argument in node.args[:1]):
            self.refuse(node, "fixed-device", "moves a tensor to a fixed device", "drop it: inputs share a device")
        for keyword in node.keywords:
            self._check_keyword(keyword)

    def _check_keyword(self, keyword: ast.keyword) -> None:
        value = keyword.value
        if keyword.arg is None:
            self.refuse(value, "star-argument", "passes `**` arguments", "write each argument")
        elif keyword.arg in REFUSED_KEYWORDS and not (isinstance(value, ast.Constant) and value.value is False):
            self.refuse(value, "forbidden-keyword", f"passes `{keyword.arg}=`", REFUSED_KEYWORDS[keyword.arg])
        elif keyword.arg == "device" and isinstance(value, ast.Constant) and value.value is not None:
            self.refuse(value, "fixed-device", "names a device", "write `device=` with the `.device` of an input")
        elif not (keyword.arg == "dtype" and _is_dtype(value)):
            self.visit(value)

    def _check_module_call(self, node: ast.Call, dotted: str) -> None:
        module, name = split_module(dotted)
        limit = MAX_POSITIONAL.get(dotted)
        if dotted in NUMPY_DTYPES:
            return
        if dotted in VALUES:
            self.refuse(node, "computed-call", f"calls `{dotted}`, which is a value", "drop the parentheses")
        elif name not in MODULE_NAMES.get(module, ()):
            self.refuse_name(node, "unknown-function", dotted, _names_of(module))
        elif limit is not None and len(node.args) > limit:
            what = f"gives `{dotted}` more than {limit} positional arguments"
            self.refuse(node, "forbidden-keyword", what, "drop the last one")

    def _check_named_call(self, node: ast.Call, name: str) -> None:
        if not self.check_name(node, name):
            return
        if name in self.scope.functions:
            self.calls.setdefault(self.function, set()).add(name)
        elif name in self.scope.variables:
            self.refuse(node, "computed-call", f"calls `{name}`, which is a value", "call functions by their name")
        elif name == "tolerance":
            self._check_tolerance(node)
        elif name == "range":
            self._check_range(node)
        elif name not in BUILTINS:
            self.refuse_name(node, "unknown-function", name, {*self.scope.functions, *_FUNCTIONS})

    def _check_method_call(self, node: ast.Call, method: ast.Attribute) -> None:
        self.visit(method.value)
        name = method.attr
        if name in CHANGING_METHODS:
            if not (self.is_owned(method.value) or is_fresh(method.value, self.scope)):
                self.refuse_change(node, f"`.{name}()`")
        elif name not in METHODS:
            self.refuse_name(node, "unknown-method", name, METHODS | CHANGING_METHODS, "`.{}()`")

    def is_owned(self, value: ast.expr) -> bool:
        """Whether an expression is a name that holds only what the function made."""
        return isinstance(value, ast.Name) and value.id in self.owned

    def _check_tolerance(self, node: ast.Call) -> None:
        pair = bounds_of(node)
        wrong = [each.arg for each in node.keywords if each.arg and each.arg not in TOLERANCE_PARAMETERS]
        if pair:
            self.refuse(node, "tolerance-argument", "gives `tolerance` its bounds as one", apart(node, pair))
        elif wrong:
            instead = f"its parameters are {', '.join(TOLERANCE_PARAMETERS)}"
            self.refuse(node, "tolerance-argument", f"passes `{wrong[0]}=` to `tolerance`", instead)

    def _check_range(self, node: ast.Call) -> None:
        for argument in node.args:
            value = argument.value if isinstance(argument, ast.Constant) else None
            if isinstance(value, int) and value > _MAX_RANGE:
                self.refuse(node, "loop-bound", f"loops more than {_MAX_RANGE} times", WHOLE_BATCH)
            elif _is_batch_size(argument):
                self.refuse(node, "loop-bound", "loops over the worlds", WHOLE_BATCH)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_dtype(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in _DTYPES


def _names_of(module: str) -> list[str]:
    return [f"{module}.{name}" for name in MODULE_NAMES.get(module, ())]


def _is_batch_size(node: ast.expr) -> bool:
    """Whether an expression is the size of the first axis: `x.shape[0]`, `x.size(0)`."""
    if isinstance(node, ast.Subscript):
        of_shape = isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
        return of_shape and isinstance(node.slice, ast.Constant) and node.slice.value == 0
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "size":
        return len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0
    return False
