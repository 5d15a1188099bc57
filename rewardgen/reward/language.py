"""The reward language: an allow-list over the syntax tree of a generated reward. Nothing is ever executed here.

Not Python minus what is dangerous, but a small tensor language with Python's syntax. Callables are never values: what is
called is a listed function of torch or math, a listed method, or a function of the reward itself, by name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from rewardgen.errors import nearest
from rewardgen.records import Finding
from rewardgen.reward.constructs import AT_TOP_LEVEL, PLAIN, REFUSED
from rewardgen.reward.ownership import is_fresh, owned_names
from rewardgen.reward.parsing import parse_source
from rewardgen.reward.scope import Function, Scope, split_module
from rewardgen.reward.vocabulary import (
    ANNOTATION_ONLY,
    ATTRIBUTES,
    BUILTINS,
    CHANGING_METHODS,
    IGNORED_DECORATORS,
    IMPORTABLE,
    INSTEAD,
    MAX_POSITIONAL,
    METHODS,
    MODULE_NAMES,
    PREDEFINED_FUNCTIONS,
    REFUSED_KEYWORDS,
    TOLERANCE_PARAMETERS,
    VALUES,
)

_MAX_FINDINGS = 20
_MAX_INT = 10**9
_MAX_TEXT = 200
_MAX_RANGE = 1000
_FORMAT = re.compile(r"[+ ]?0?\d{0,2}(\.\d{1,2})?[defg%]?")
_DTYPES = ("float", "int", "bool")


def check_language(source: str) -> tuple[Finding, ...]:
    """Check that a reward is written in the reward language.

    Args:
        source: Any text.

    Returns:
        Rejections of the gates `parse` and `language`, in the order of their lines; empty if there are none.
    """
    tree = parse_source(source)
    return (tree,) if isinstance(tree, Finding) else check_tree(tree)


def check_tree(tree: ast.Module) -> tuple[Finding, ...]:
    """Check a parsed reward; as `check_language`.

    Args:
        tree: The parsed reward.
    """
    checker = _Checker(tree)
    checker.check()
    found = sorted(checker.findings, key=lambda finding: finding.line or 0)
    return tuple(found[:_MAX_FINDINGS])


class _Checker(ast.NodeVisitor):
    def __init__(self, tree: ast.Module) -> None:
        self.findings: list[Finding] = []
        self._tree = tree
        self._scope = Scope(tree)
        self._owned: frozenset[str] = frozenset()
        self._function = ""
        self._calls: dict[str, set[str]] = {name: set() for name in self._scope.functions}

    def check(self) -> None:
        for statement in self._tree.body:
            if _is_docstring(statement):
                continue
            if isinstance(statement, AT_TOP_LEVEL):
                self.visit(statement)
            else:
                self._refuse(statement, "top-level-statement", *_top_level_words(statement))
        for name in sorted(self._scope.rebound):
            self._refuse(self._binding_of(name), "rebinding", f"gives `{name}` two meanings", "use another name")
        self._check_recursion()

    # Constructs.

    def generic_visit(self, node: ast.AST) -> None:
        if isinstance(node, PLAIN):
            super().generic_visit(node)
            return
        kind = type(node).__name__
        words, instead = REFUSED.get(kind, (f"`{kind}`", "write plain expressions, assignments, `if` and `for`"))
        self._refuse(node, "forbidden-construct", f"uses {words}", instead)

    def visit_Import(self, node: ast.Import) -> None:  # noqa: N802
        for alias in node.names:
            if alias.name not in IMPORTABLE:
                self._refuse_import(node, alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:  # noqa: N802
        module = node.module or ""
        if node.level or module not in IMPORTABLE:
            self._refuse_import(node, "." * node.level + module)
            return
        if module in ("typing", "__future__"):
            return
        for alias in node.names:
            dotted = f"{module}.{alias.name}"
            known = dotted in IMPORTABLE or dotted in ANNOTATION_ONLY or alias.name in MODULE_NAMES.get(module, ())
            if not known:
                self._refuse_import(node, dotted)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:  # noqa: N802
        for decorator in node.decorator_list:
            call = decorator.func if isinstance(decorator, ast.Call) else decorator
            if self._scope.resolve(call) not in IGNORED_DECORATORS and not _is_named(call, "staticmethod"):
                self._refuse(decorator, "decorator", "has a decorator", "remove it")
        self._check_name(node, node.name)
        self._check_parameters(node, node.args)
        if getattr(node, "type_params", None):
            self._refuse(node, "forbidden-construct", "has type parameters", "remove them")
        self._visit_body(node, node.name, [each for each in node.body if not _is_docstring(each)])

    def visit_Assign(self, node: ast.Assign) -> None:  # noqa: N802
        for target in node.targets:
            self._check_target(target)
        (name,) = [target.id for target in node.targets if isinstance(target, ast.Name)][:1] or [""]
        if isinstance(node.value, ast.Lambda) and name and len(node.targets) == 1:
            self._check_parameters(node.value, node.value.args)
            self._visit_body(node.value, name, [node.value.body])
        else:
            self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:  # noqa: N802
        self._check_target(node.target)
        if node.value is not None:
            self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:  # noqa: N802
        self._check_target(node.target)
        self.visit(node.op)
        self.visit(node.value)

    def visit_For(self, node: ast.For) -> None:  # noqa: N802
        self._check_target(node.target)
        self._check_iteration(node.iter)
        self.visit(node.iter)
        for statement in (*node.body, *node.orelse):
            self.visit(statement)

    def visit_Assert(self, node: ast.Assert) -> None:  # noqa: N802
        self.visit(node.test)
        if node.msg is not None and not isinstance(node.msg, ast.Constant):
            self.visit(node.msg)

    def visit_With(self, node: ast.With) -> None:  # noqa: N802
        (item, *others) = node.items
        call = item.context_expr
        plain = isinstance(call, ast.Call) and not call.args and not call.keywords and item.optional_vars is None
        if others or not plain or self._scope.resolve(call.func) != "torch.no_grad":
            self._refuse(node, "forbidden-construct", f"uses {REFUSED['With'][0]}", REFUSED["With"][1])
        for statement in node.body:
            self.visit(statement)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self._check_target(node.target)
        self._check_iteration(node.iter)
        for part in (node.iter, *node.ifs):
            self.visit(part)

    # Names, attributes and literals used as values.

    def visit_Name(self, node: ast.Name) -> None:  # noqa: N802
        self._check_name(node, node.id)
        if not isinstance(node.ctx, ast.Load):
            return
        dotted = self._scope.resolve(node)
        if dotted is not None:
            self._check_value(node, dotted)
        elif node.id in self._scope.functions or (node.id in _FUNCTIONS and node.id not in self._scope.variables):
            self._refuse(node, "function-as-value", f"uses the function `{node.id}` as a value", "call it")
        elif node.id not in self._scope.variables:
            self._refuse_name(node, "unknown-name", node.id, self._scope.variables | _FUNCTIONS)

    def visit_Attribute(self, node: ast.Attribute) -> None:  # noqa: N802
        dotted = self._scope.resolve(node)
        if dotted is not None:
            self._check_value(node, dotted)
            return
        self.visit(node.value)
        if node.attr in METHODS - ATTRIBUTES:
            self._refuse(node, "function-as-value", f"uses the method `.{node.attr}` without calling it", "add `()`")
        elif node.attr not in ATTRIBUTES:
            self._refuse_name(node, "unknown-attribute", node.attr, METHODS | ATTRIBUTES, "`.{}`")

    def visit_Constant(self, node: ast.Constant) -> None:  # noqa: N802
        value = node.value
        if isinstance(value, bytes | complex):
            self._refuse(node, "forbidden-literal", f"holds a {type(value).__name__} literal", "use floats")
        elif isinstance(value, int) and abs(value) > _MAX_INT:
            self._refuse(node, "forbidden-literal", "holds an integer above 1e9", "use a float, such as `1e12`")
        elif isinstance(value, str) and (len(value) > _MAX_TEXT or "%" in value):
            self._refuse(node, "forbidden-literal", "holds a long string or one with `%`", "keep strings short and plain")

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:  # noqa: N802
        for part in node.values:
            self.visit(part)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> None:  # noqa: N802
        spec = node.format_spec
        text = spec.values if isinstance(spec, ast.JoinedStr) else []
        plain = all(isinstance(each, ast.Constant) and _FORMAT.fullmatch(str(each.value)) for each in text)
        if node.conversion != -1 or not plain or len(text) > 1:
            self._refuse(node, "forbidden-format", "formats a value in an unusual way", "write `{name}` or `{name:.3f}`")
        self.visit(node.value)

    # Calls.

    def visit_Call(self, node: ast.Call) -> None:  # noqa: N802
        self._check_arguments(node)
        dotted = self._scope.resolve(node.func)
        if dotted is not None:
            self._check_module_call(node, dotted)
        elif isinstance(node.func, ast.Name):
            self._check_named_call(node, node.func.id)
        elif isinstance(node.func, ast.Attribute):
            self._check_method_call(node, node.func)
        else:
            self._refuse(node, "computed-call", "calls the result of an expression", "call functions by their name")

    def _check_arguments(self, node: ast.Call) -> None:
        takes_dtype = isinstance(node.func, ast.Attribute) and node.func.attr == "to"
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                self._refuse(argument, "star-argument", "passes `*` arguments", "write each argument")
            elif not (takes_dtype and isinstance(argument, ast.Name) and argument.id in _DTYPES):
                self.visit(argument)
        if takes_dtype and any(isinstance(argument, ast.Constant) for argument in node.args[:1]):
            self._refuse(node, "fixed-device", "moves a tensor to a fixed device", "drop it: inputs share a device")
        for keyword in node.keywords:
            self._check_keyword(keyword)

    def _check_keyword(self, keyword: ast.keyword) -> None:
        value = keyword.value
        if keyword.arg is None:
            self._refuse(value, "star-argument", "passes `**` arguments", "write each argument")
        elif keyword.arg in REFUSED_KEYWORDS and not (isinstance(value, ast.Constant) and value.value is False):
            self._refuse(value, "forbidden-keyword", f"passes `{keyword.arg}=`", REFUSED_KEYWORDS[keyword.arg])
        elif keyword.arg == "device" and isinstance(value, ast.Constant) and isinstance(value.value, str):
            self._refuse(value, "fixed-device", "names a device", "write `device=` with the `.device` of an input")
        elif not (keyword.arg == "dtype" and isinstance(value, ast.Name) and value.id in _DTYPES):
            self.visit(value)

    def _check_module_call(self, node: ast.Call, dotted: str) -> None:
        module, name = split_module(dotted)
        if dotted in VALUES:
            self._refuse(node, "computed-call", f"calls `{dotted}`, which is a value", "drop the parentheses")
        elif name not in MODULE_NAMES.get(module, ()):
            self._refuse_name(node, "unknown-function", dotted, [f"{module}.{each}" for each in MODULE_NAMES.get(module, ())])
        elif len(node.args) > MAX_POSITIONAL.get(dotted, len(node.args)):
            limit = MAX_POSITIONAL[dotted]
            self._refuse(node, "forbidden-keyword", f"gives `{dotted}` more than {limit} arguments", "drop the last one")

    def _check_named_call(self, node: ast.Call, name: str) -> None:
        if name in self._scope.functions:
            self._calls.setdefault(self._function, set()).add(name)
        elif name in self._scope.variables:
            self._refuse(node, "computed-call", f"calls `{name}`, which is a value", "call functions by their name")
        elif name == "tolerance":
            self._check_tolerance(node)
        elif name == "range":
            self._check_range(node)
        elif name not in BUILTINS:
            self._refuse_name(node, "unknown-function", name, {*self._scope.functions, *_FUNCTIONS})

    def _check_method_call(self, node: ast.Call, method: ast.Attribute) -> None:
        self.visit(method.value)
        name = method.attr
        if name in CHANGING_METHODS:
            if not (self._is_owned(method.value) or is_fresh(method.value, self._scope)):
                self._refuse_change(node, f"`.{name}()`")
        elif name not in METHODS:
            self._refuse_name(node, "unknown-method", name, METHODS | CHANGING_METHODS, "`.{}()`")

    def _check_tolerance(self, node: ast.Call) -> None:
        wrong = [each.arg for each in node.keywords if each.arg and each.arg not in TOLERANCE_PARAMETERS]
        if wrong:
            instead = f"its parameters are {', '.join(TOLERANCE_PARAMETERS)}"
            self._refuse(node, "tolerance-argument", f"passes `{wrong[0]}=` to `tolerance`", instead)

    def _check_range(self, node: ast.Call) -> None:
        for argument in node.args:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, int) and abs(argument.value) > _MAX_RANGE:
                self._refuse(node, "loop-bound", f"loops more than {_MAX_RANGE} times", REFUSED["While"][1])
            elif _is_batch_size(argument):
                self._refuse(node, "loop-bound", "loops over the worlds", REFUSED["While"][1])

    # Rules.

    def _check_iteration(self, iterated: ast.expr) -> None:
        if isinstance(iterated, ast.Name) and iterated.id in _entry_inputs(self._tree):
            self._refuse(iterated, "loop-bound", f"loops over the worlds of `{iterated.id}`", REFUSED["While"][1])

    def _check_target(self, target: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self._check_name(target, target.id)
        elif isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._check_target(part)
        elif isinstance(target, ast.Starred):
            self._check_target(target.value)
        elif isinstance(target, ast.Subscript):
            if not self._is_owned(target.value):
                self._refuse_change(target, "assigning to an element")
            self.visit(target.slice)
        else:
            self._refuse(target, "attribute-assignment", "assigns to an attribute", "assign to a name of your own")

    def _check_parameters(self, node: Function, arguments: ast.arguments) -> None:
        if arguments.vararg or arguments.kwarg:
            self._refuse(node, "star-argument", "takes `*args` or `**kwargs`", "name each parameter")
        if arguments.posonlyargs:
            self._refuse(node, "star-argument", "takes positional-only parameters", "remove the `/`")
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            self._check_name(node, argument.arg)
        for default in (*arguments.defaults, *(each for each in arguments.kw_defaults if each is not None)):
            self.visit(default)

    def _visit_body(self, function: Function, name: str, body: Iterable[ast.AST]) -> None:
        outer = self._function, self._owned
        self._function, self._owned = name, owned_names(function, self._scope)
        if outer[0]:
            self._calls.setdefault(outer[0], set())
        for part in body:
            self.visit(part)
        self._function, self._owned = outer

    def _check_name(self, node: ast.AST, name: str) -> None:
        if "__" in name:
            self._refuse(node, "private-name", f"uses the name `{name}`", "use names without a double underscore")

    def _check_value(self, node: ast.expr, dotted: str) -> None:
        module, name = split_module(dotted)
        if dotted in VALUES:
            return
        if name in MODULE_NAMES.get(module, ()):
            self._refuse(node, "function-as-value", f"uses the function `{dotted}` as a value", "call it")
        elif not name and module in MODULE_NAMES:
            self._refuse(node, "function-as-value", f"uses the module `{dotted}` as a value", "call a function of it")
        else:
            self._refuse_name(node, "unknown-name", dotted, [f"{module}.{each}" for each in MODULE_NAMES.get(module, ())])

    def _check_recursion(self) -> None:
        for name, function in self._scope.functions.items():
            if name in _reachable(name, self._calls):
                self._refuse(function, "recursion", f"`{name}` calls itself", REFUSED["While"][1])

    def _is_owned(self, value: ast.expr) -> bool:
        return isinstance(value, ast.Name) and value.id in self._owned

    def _binding_of(self, name: str) -> ast.AST:
        for node in ast.walk(self._tree):
            bound = getattr(node, "id", None) or getattr(node, "arg", None) or getattr(node, "name", None)
            if bound == name and hasattr(node, "lineno") and not isinstance(getattr(node, "ctx", None), ast.Load):
                return node
        return self._tree

    # Findings.

    def _refuse_import(self, node: ast.AST, name: str) -> None:
        instead = INSTEAD.get(name.split(".")[0], "remove it: `torch`, `math`, `F` and `tolerance` are in scope")
        self._refuse(node, "forbidden-import", f"imports `{name}`", instead)

    def _refuse_name(
        self, node: ast.AST, detector: str, name: str, valid: Iterable[str], form: str = "`{}`"
    ) -> None:
        close = nearest(name, valid)
        instead = INSTEAD.get(name) or INSTEAD.get(name.split(".")[-1]) or INSTEAD.get(name.split(".")[0])
        if instead is None and detector == "unknown-method" and name.endswith("_"):
            instead = "use the method without the `_`, and give the result a name"
        hint = instead or (f"did you mean {form.format(close)}?" if close else "write it with listed torch functions")
        what = {"unknown-name": "reads", "unknown-attribute": "reads"}.get(detector, "calls")
        self._refuse(node, detector, f"{what} {form.format(name)}, which the reward language does not have", hint)

    def _refuse_change(self, node: ast.AST, what: str) -> None:
        instead = "make a new tensor, as with `torch.where(...)` or `x.clone()` first; inputs are never changed"
        self._refuse(node, "changes-input", f"changes a value that it did not make, by {what}", instead)

    def _refuse(self, node: ast.AST, detector: str, message: str, hint: str) -> None:
        if len(self.findings) >= 10 * _MAX_FINDINGS:
            return
        line = getattr(node, "lineno", None)
        place = f"line {line}: " if line else ""
        self.findings.append(
            Finding(
                gate="language",
                detector=detector,
                severity="reject",
                message=f"{place}the reward {message}",
                hint=hint,
                line=line,
            )
        )


_FUNCTIONS = BUILTINS | PREDEFINED_FUNCTIONS


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _top_level_words(node: ast.stmt) -> tuple[str, str]:
    kind = type(node).__name__
    if kind in REFUSED:
        return f"uses {REFUSED[kind][0]}", REFUSED[kind][1]
    return "runs code outside its functions", "keep imports, constants and functions at the top level"


def _is_batch_size(node: ast.expr) -> bool:
    """Whether an expression is the size of the first axis: `x.shape[0]`, `x.size(0)`."""
    if isinstance(node, ast.Subscript):
        shape = isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
        return shape and isinstance(node.slice, ast.Constant) and node.slice.value == 0
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "size":
        return len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0
    return False


def _entry_inputs(tree: ast.Module) -> set[str]:
    entries = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "compute_reward"]
    return {argument.arg for entry in entries for argument in entry.args.args}


def _reachable(name: str, calls: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(calls.get(name, ()))
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting.extend(calls.get(each, ()))
    return found
