"""The reward language: an allow-list over the syntax tree of a generated reward. Nothing is executed here.

A small tensor language with Python's syntax. Callables are never values: a call names a listed function of torch, math
or numpy, a listed method, or a function of the reward.
"""

# `ast` prescribes the names of visitor methods.
# ruff: noqa: N815

from __future__ import annotations

import ast
import functools
import graphlib
import re
from collections.abc import Collection, Iterable, Iterator

from rewardgen.core.errors import nearest
from rewardgen.reward import vocabulary
from rewardgen.reward.parsing import MAX_FINDINGS, functions_named, parse_source, refusal
from rewardgen.reward.scope import Function, Scope, split_module
from rewardgen.reward.signature import ENTRY, FORMS
from rewardgen.reward.sizes import misused_sizes
from rewardgen.store.records import Finding

_MAX_INT = 10**9
_MAX_TEXT = 200
_FORMAT = re.compile(r"[+ ]?0?\d{0,2}(\.\d{1,2})?[defg%]?")
_FUNCTIONS = vocabulary.BUILTINS | vocabulary.PREDEFINED_FUNCTIONS
_BY_NAME = "call functions by their name"


@functools.lru_cache(maxsize=256)
def check_language(source: str) -> tuple[Finding, ...]:
    """Check that a text is in the reward language.

    Returns rejections of the gates `parse` and `language`, in the order of their lines; empty if there are none.
    """
    tree = parse_source(source)
    if isinstance(tree, Finding):
        return (tree,)
    checker = _Checker(tree)
    checker.check()
    return tuple(sorted(checker.findings, key=lambda finding: finding.line or 0)[:MAX_FINDINGS])


class _Checker(ast.NodeVisitor):
    """Collect the refusals of a reward, with lines and hints."""

    def __init__(self, tree: ast.Module) -> None:
        self.findings: list[Finding] = []
        self._tree = tree
        self._scope = Scope(tree)
        called = functions_named(tree, ENTRY, *FORMS)
        self._inputs = {argument.arg for function in called for argument in function.args.args}
        # Name of the function under check; empty at the top level.
        self._function = ""
        self._fixed: set[str] = set()
        self._seconds: dict[str, str] = {}
        self._constants = _stored(tree.body)
        self._calls: dict[str, set[str]] = {name: set() for name in self._scope.functions}

    def check(self) -> None:
        for statement in self._tree.body:
            if isinstance(statement, vocabulary.AT_TOP_LEVEL):
                self.visit(statement)
            elif not _is_docstring(statement):
                default = ("a statement", "keep imports, constants and functions there")
                construct, instead = vocabulary.REFUSED.get(type(statement).__name__, default)
                self._refuse(statement, "top-level-statement", f"uses {construct} outside its functions", instead)
        for name, node in self._scope.rebound.items():
            self._refuse(node, "rebinding", f"gives `{name}` two meanings", "use another name")
        try:
            graphlib.TopologicalSorter(self._calls).prepare()
        except graphlib.CycleError as error:
            for name in dict.fromkeys(error.args[1]):
                function = self._scope.functions[name]
                self._refuse(function, "recursion", f"has `{name}` call itself", vocabulary.WHOLE_BATCH)
        for size in misused_sizes(self._tree, frozenset(self._inputs)):
            message = f"uses the number of envs, `{ast.unparse(size)[:60]}`, for more than the shape of a tensor"
            hint = "give it to `torch.zeros(n)`, `x.view(n, -1)`, `.expand` or `.reshape`, or work on the whole batch"
            self._refuse(size, "batch-size", message, hint)

    # Refusals.

    def _refuse(self, node: ast.AST, detector: str, message: str, hint: str) -> None:
        self.findings.append(refusal("language", detector, message, hint, getattr(node, "lineno", None)))

    def _refuse_name(self, node: ast.AST, detector: str, name: str, valid: Iterable[str], form: str = "`{}`") -> None:
        """Refuse an unknown name, with its usual replacement or the nearest valid name."""
        first, last = name.split(".")[0], name.split(".")[-1]
        instead = vocabulary.NO_REACH if "__" in last else vocabulary.INSTEAD.get(last) or vocabulary.INSTEAD.get(first)
        hint = instead or "write it with elementwise torch functions"
        if instead is None and len(self.findings) < MAX_FINDINGS:
            dotted = {name.split(".")[-1]: name for name in sorted(valid)}
            if close := nearest(last, dotted, sure=True):
                hint = f"did you mean {form.format(dotted[close])}?"
        self._refuse(node, detector, f"uses {form.format(name)}, which is not in the reward language", hint)

    def _refuse_construct(self, node: ast.AST, construct: ast.AST) -> None:
        """Refuse a construct at the line of a node; operators have no line."""
        kind = type(construct).__name__
        default = (f"`{kind}`", "write plain expressions, assignments, `if` and `for`")
        name, instead = vocabulary.REFUSED.get(kind, default)
        self._refuse(node, "forbidden-construct", f"uses {name}", instead)

    def _refuse_import(self, node: ast.AST, name: str) -> None:
        in_scope = "remove it: `torch`, `math`, `F`, `np` and `tolerance` are in scope"
        instead = vocabulary.INSTEAD.get(name.split(".")[0], in_scope)
        self._refuse(node, "forbidden-import", f"imports `{name}`", instead)

    # Statements.

    def generic_visit(self, node: ast.AST) -> None:
        if isinstance(node, vocabulary.PLAIN):
            super().generic_visit(node)
            return
        self._refuse_construct(node, node)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name not in vocabulary.IMPORTABLE:
                self._refuse_import(node, alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Allow the listed names of a module; `typing` serves annotations only."""
        module = node.module or ""
        if node.level or module not in vocabulary.IMPORTABLE:
            self._refuse_import(node, "." * node.level + module)
        elif module not in ("typing", "__future__"):
            for alias in node.names:
                dotted = f"{module}.{alias.name}"
                names = vocabulary.MODULE_NAMES.get(module, frozenset())
                if alias.name not in names and dotted not in vocabulary.IMPORTABLE | vocabulary.ANNOTATION_ONLY:
                    self._refuse_import(node, dotted)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Allow plain functions, and decorators without effect, which are dropped where a reward runs."""
        for decorator in node.decorator_list:
            named = decorator.func if isinstance(decorator, ast.Call) else decorator
            plain = not isinstance(decorator, ast.Call) or not (decorator.args or decorator.keywords)
            if not plain or self._scope.resolve(named) not in vocabulary.IGNORED_DECORATORS:
                self._refuse(decorator, "decorator", "has a decorator", "remove it")
        if getattr(node, "type_params", None):
            self._refuse(node, "forbidden-construct", "has type parameters", "remove them")
        self._check_name(node, node.name)
        self._check_annotation(node.returns)
        self._check_function(node, node.name, [part for part in node.body if not _is_docstring(part)])

    def _check_function(self, function: Function, name: str, body: Iterable[ast.AST]) -> None:
        arguments = function.args
        if arguments.vararg or arguments.kwarg:
            self._refuse(function, "star-argument", "takes `*args` or `**kwargs`", "name each parameter")
        if arguments.posonlyargs:
            self._refuse(function, "star-argument", "takes positional-only parameters", "remove the `/`")
        for argument in (*arguments.args, *arguments.kwonlyargs):
            self._check_name(argument, argument.arg)
            self._check_annotation(argument.annotation)
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None:
                self.visit(default)
        outer = self._function, self._fixed, self._seconds
        parameters = {argument.arg for argument in ast.walk(arguments) if isinstance(argument, ast.arg)}
        self._function, self._fixed = name, (parameters | self._constants) - _stored(body)
        self._seconds = _second_names(body, {argument.arg for argument in arguments.kwonlyargs})
        for part in body:
            self.visit(part)
        self._function, self._fixed, self._seconds = outer

    def _check_change(self, node: ast.AST, changed: ast.expr) -> None:
        """Refuse an in-place change of a parameter or a constant: every call starts from the same constants."""
        while isinstance(changed, ast.Subscript):
            changed = changed.value
        if isinstance(changed, ast.Name) and changed.id in self._fixed:
            hint = "make a new value, as with `torch.where(...)` or `x = x.clone()`: a reward has no memory"
            self._refuse(node, "changes-input", f"changes `{changed.id}` in place", hint)

    def _check_annotation(self, annotation: ast.expr | None) -> None:
        """Refuse calls in annotations: a program that imports an exported reward may evaluate them."""
        if annotation is not None and any(isinstance(node, ast.Call | ast.Lambda) for node in ast.walk(annotation)):
            self._refuse(annotation, "annotation", "calls a function in an annotation", "write a plain type")

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._check_target(target)
        target, value = node.targets[0], node.value
        if isinstance(value, ast.Lambda) and isinstance(target, ast.Name) and len(node.targets) == 1:
            self._check_function(value, target.id, [value.body])
        else:
            self.visit(value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._check_target(node.target)
        self._check_annotation(node.annotation)
        if node.value is not None:
            self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._check_target(node.target)
        if isinstance(node.target, ast.Name) and node.target.id in self._seconds:
            name, first = node.target.id, self._seconds[node.target.id]
            written = ast.unparse(ast.BinOp(node.target, node.op, node.value))[:60]
            hint = f"write `{name} = {written}`, which makes a new tensor"
            self._refuse(node, "changes-input", f"changes `{first}` in place, which `{name}` is another name of", hint)
        self._check_operator(node, node.op)
        self.visit(node.value)

    def _check_target(self, target: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self._check_name(target, target.id)
        elif isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._check_target(part)
        elif isinstance(target, ast.Starred):
            self._check_target(target.value)
        elif isinstance(target, ast.Subscript):
            self._check_change(target, target.value)
            self.visit(target.value)
            self.visit(target.slice)
        else:
            self._refuse(target, "attribute-assignment", "assigns to an attribute", "assign to a name of your own")

    def visit_For(self, node: ast.For) -> None:
        self._check_loop(node)
        for statement in (*node.body, *node.orelse):
            self.visit(statement)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self._check_loop(node)
        for condition in node.ifs:
            self.visit(condition)

    def _check_loop(self, node: ast.For | ast.comprehension) -> None:
        self._check_target(node.target)
        if isinstance(node.iter, ast.Name) and node.iter.id in self._inputs:
            self._refuse(node.iter, "loop-bound", f"loops over the envs of `{node.iter.id}`", vocabulary.WHOLE_BATCH)
        self.visit(node.iter)

    def visit_If(self, node: ast.If | ast.IfExp) -> None:
        """Allow branches on constants and shapes; values of tensors differ between envs."""
        self._check_condition(node.test)
        self.generic_visit(node)

    visit_IfExp = visit_If

    def _check_condition(self, test: ast.expr) -> None:
        """Refuse a condition that reduces a tensor to one yes or no for all envs."""
        for call in _deciding(test):
            dotted = self._scope.resolve(call.func) or ""
            method = isinstance(call.func, ast.Attribute) and not dotted
            if method or dotted.startswith(("torch.", "numpy.")):
                message = f"branches on `{ast.unparse(call)[:60]}`, one answer for all envs"
                self._refuse(call, "tensor-branch", message, "use `torch.where`, which decides for each env")
                return

    def visit_Raise(self, node: ast.Raise) -> None:
        """Allow a plain exception with a text, as in `raise ValueError("unknown kind")`."""
        call = node.exc
        named = call.func if isinstance(call, ast.Call) else None
        plain = isinstance(named, ast.Name) and named.id in vocabulary.RAISED and named.id not in self._scope.variables
        if not plain or node.cause or not isinstance(call, ast.Call) or len(call.args) > 1 or call.keywords:
            self._refuse_construct(node, node)
            return
        for argument in call.args:
            self.visit(argument)

    # Names, attributes and literals used as values.

    def visit_Name(self, node: ast.Name) -> None:
        if not self._check_name(node, node.id) or not isinstance(node.ctx, ast.Load):
            return
        dotted, variables, functions = self._scope.resolve(node), self._scope.variables, self._scope.functions
        if dotted is not None:
            self._check_value(node, dotted)
        elif node.id in functions or (node.id in _FUNCTIONS and node.id not in variables):
            self._refuse(node, "function-as-value", f"uses the function `{node.id}` as a value", "call it")
        elif node.id not in variables:
            self._refuse_name(node, "unknown-name", node.id, variables | _FUNCTIONS)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        dotted = self._scope.resolve(node)
        if dotted is not None:
            self._check_value(node, dotted)
            return
        self.visit(node.value)
        if node.attr in vocabulary.METHODS - vocabulary.ATTRIBUTES:
            self._refuse(node, "function-as-value", f"uses the method `.{node.attr}` without calling it", "add `()`")
        elif node.attr not in vocabulary.ATTRIBUTES:
            self._refuse_name(node, "unknown-attribute", node.attr, vocabulary.METHODS | vocabulary.ATTRIBUTES, "`.{}`")

    def _check_name(self, node: ast.AST, name: str) -> bool:
        """Return True for a valid name; refuse a double underscore."""
        if "__" not in name:
            return True
        self._refuse(node, "private-name", f"uses the name `{name}`", "use names without a double underscore")
        return False

    def _check_value(self, node: ast.expr, dotted: str) -> None:
        module, name = split_module(dotted)
        if dotted in vocabulary.VALUES:
            return
        if name in vocabulary.MODULE_NAMES.get(module, ()):
            self._refuse(node, "function-as-value", f"uses the function `{dotted}` as a value", "call it")
        elif not name and module in vocabulary.MODULE_NAMES:
            self._refuse(node, "function-as-value", f"uses the module `{dotted}` as a value", "call a function of it")
        else:
            self._refuse_name(node, "unknown-name", dotted, _names_of(module))

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bytes | complex):
            self._refuse(node, "forbidden-literal", f"holds a {type(value).__name__} literal", "use floats")
        elif isinstance(value, int) and abs(value) > _MAX_INT:
            self._refuse(node, "forbidden-literal", "holds an integer above 1e9", "use a float, such as `1e12`")
        elif isinstance(value, str) and len(value) > _MAX_TEXT:
            self._refuse(node, "forbidden-literal", "holds a long string", "strings only name components")

    def visit_BinOp(self, node: ast.BinOp) -> None:
        operand = node.left
        constant = isinstance(operand, ast.Constant) and isinstance(operand.value, str)
        text = constant or isinstance(operand, ast.JoinedStr)
        if isinstance(node.op, ast.Mod) and text:
            self._refuse(node, "forbidden-format", "formats a string with `%`", 'write an f-string: f"joint_{i}"')
        self._check_operator(node, node.op)
        self.visit(operand)
        self.visit(node.right)

    def _check_operator(self, node: ast.AST, operator: ast.operator) -> None:
        if not isinstance(operator, vocabulary.PLAIN):
            self._refuse_construct(node, operator)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> None:
        spec = node.format_spec.values if isinstance(node.format_spec, ast.JoinedStr) else []
        plain = all(isinstance(part, ast.Constant) and _FORMAT.fullmatch(str(part.value)) for part in spec)
        if node.conversion != -1 or not plain or len(spec) > 1:
            hint = "write `{name}` or `{name:.3f}`"
            self._refuse(node, "forbidden-format", "formats a value in an unusual way", hint)
        self.visit(node.value)

    # Calls.

    def visit_Call(self, node: ast.Call) -> None:
        self._check_arguments(node)
        dotted = self._scope.resolve(node.func)
        if dotted is not None:
            self._check_module_call(node, dotted)
        elif isinstance(node.func, ast.Name):
            self._check_named_call(node, node.func.id)
        elif isinstance(node.func, ast.Attribute):
            self._check_method_call(node, node.func)
        else:
            self._refuse(node, "computed-call", "calls the result of an expression", _BY_NAME)

    def _check_arguments(self, node: ast.Call) -> None:
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                self._refuse(argument, "star-argument", "passes `*` arguments", "write each argument")
            elif not (method == "to" and _is_dtype(argument)):
                self.visit(argument)
        if method == "to" and any(isinstance(argument, ast.Constant) for argument in node.args[:1]):
            self._refuse(node, "fixed-device", "moves a tensor to a fixed device", "drop it: inputs share a device")
        for keyword in node.keywords:
            self._check_keyword(keyword)

    def _check_keyword(self, keyword: ast.keyword) -> None:
        value = keyword.value
        if keyword.arg is None:
            self._refuse(value, "star-argument", "passes `**` arguments", "write each argument")
        elif keyword.arg in vocabulary.REFUSED_KEYWORDS:
            hint = vocabulary.REFUSED_KEYWORDS[keyword.arg]
            self._refuse(value, "forbidden-keyword", f"passes `{keyword.arg}=`", hint)
        elif keyword.arg == "device" and isinstance(value, ast.Constant) and value.value is not None:
            self._refuse(value, "fixed-device", "names a device", "write `device=` with the `.device` of an input")
        elif not (keyword.arg == "dtype" and _is_dtype(value)):
            self.visit(value)

    def _check_module_call(self, node: ast.Call, dotted: str) -> None:
        module, name = split_module(dotted)
        if dotted in vocabulary.VALUES:
            self._refuse(node, "computed-call", f"calls `{dotted}`, which is a value", "drop the parentheses")
        elif name not in vocabulary.MODULE_NAMES.get(module, ()):
            self._refuse_name(node, "unknown-function", dotted, _names_of(module))

    def _check_named_call(self, node: ast.Call, name: str) -> None:
        if not self._check_name(node, name):
            return
        if name in self._scope.functions:
            self._calls.setdefault(self._function, set()).add(name)
        elif name in self._scope.variables:
            self._refuse(node, "computed-call", f"calls `{name}`, which is a value", _BY_NAME)
        elif name not in _FUNCTIONS:
            self._refuse_name(node, "unknown-function", name, {*self._scope.functions, *_FUNCTIONS})

    def _check_method_call(self, node: ast.Call, method: ast.Attribute) -> None:
        self.visit(method.value)
        if method.attr in vocabulary.CHANGING:
            self._check_change(node, method.value)
        elif method.attr not in vocabulary.METHODS:
            self._refuse_name(node, "unknown-method", method.attr, vocabulary.METHODS, "`.{}()`")


def _deciding(test: ast.expr) -> Iterator[ast.Call]:
    """Yield the calls in a condition that may depend on values, not only on shapes and keys."""
    waiting: list[ast.AST] = [test]
    while waiting:
        node = waiting.pop()
        name = node.func if isinstance(node, ast.Call) else node
        if isinstance(name, ast.Attribute) and name.attr in vocabulary.ASKED_FOR:
            continue
        if isinstance(node, ast.Call):
            yield node
        waiting.extend(ast.iter_child_nodes(node))


def _stored(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that these statements assign, without those inside functions."""
    names: set[str] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))
    return names


def _second_names(nodes: Iterable[ast.AST], numbers: Collection[str]) -> dict[str, str]:
    """Return names that these statements set to a tensor of another name or to a view of it, with that name.

    Names of `numbers` are left out: they cannot change in place.
    """
    seconds: dict[str, str] = {}
    for node in (inner for outer in nodes for inner in ast.walk(outer)):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            first = node.value
            while isinstance(first, ast.Subscript):
                first = first.value
            if isinstance(first, ast.Name) and first.id not in numbers:
                seconds[node.targets[0].id] = ast.unparse(node.value)
    return seconds


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_dtype(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("float", "int", "bool")


def _names_of(module: str) -> list[str]:
    return [f"{module}.{name}" for name in vocabulary.MODULE_NAMES.get(module, ())]
