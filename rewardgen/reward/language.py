"""The reward language: an allow-list over the syntax tree of a generated reward. Nothing is executed here.

Not Python minus what is dangerous, but a small tensor language with Python's syntax. Callables are never values: what
is called is a listed function of torch or math, a listed method, or a function of the reward itself, by name.
"""

# The names of visitor methods are given by `ast`.
# ruff: noqa: N802

from __future__ import annotations

import ast
from collections.abc import Iterable

from rewardgen.reward.constructs import AT_TOP_LEVEL, REFUSED, SHAPE_METHODS, WHOLE_BATCH
from rewardgen.reward.expressions import Expressions
from rewardgen.reward.ownership import owned_names
from rewardgen.reward.parsing import parse_source
from rewardgen.reward.scope import Function, Scope
from rewardgen.reward.signature import ENTRY
from rewardgen.reward.vocabulary import ANNOTATION_ONLY, IGNORED_DECORATORS, IMPORTABLE, MODULE_NAMES, RAISED
from rewardgen.store.records import Finding


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
    statements = _Statements(tree)
    statements.check()
    return statements.findings


class _Statements(Expressions):
    def __init__(self, tree: ast.Module) -> None:
        super().__init__(Scope(tree))
        self._tree = tree
        self._batches = _entry_inputs(tree)

    def check(self) -> None:
        """Check the whole reward."""
        for statement in self._tree.body:
            if isinstance(statement, AT_TOP_LEVEL):
                self.visit(statement)
            elif not _is_docstring(statement):
                self._refuse_top_level(statement)
        for name in sorted(self.scope.rebound):
            self.refuse(self._binding_of(name), "rebinding", f"gives `{name}` two meanings", "use another name")
        self._check_recursion()

    # Statements.

    def visit_Import(self, node: ast.Import) -> None:
        """Modules that are in scope anyway, under any name."""
        for alias in node.names:
            if alias.name not in IMPORTABLE:
                self.refuse_import(node, alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Listed names of those modules; `typing` serves annotations only."""
        module = node.module or ""
        if node.level or module not in IMPORTABLE:
            self.refuse_import(node, "." * node.level + module)
        elif module not in ("typing", "__future__"):
            for alias in node.names:
                dotted = f"{module}.{alias.name}"
                if dotted not in IMPORTABLE | ANNOTATION_ONLY and alias.name not in MODULE_NAMES.get(module, ()):
                    self.refuse_import(node, dotted)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Plain functions; decorators that change nothing here are ignored."""
        for decorator in node.decorator_list:
            named = decorator.func if isinstance(decorator, ast.Call) else decorator
            if self.scope.resolve(named) not in IGNORED_DECORATORS:
                self.refuse(decorator, "decorator", "has a decorator", "remove it")
        if getattr(node, "type_params", None):
            self.refuse(node, "forbidden-construct", "has type parameters", "remove them")
        self.check_name(node, node.name)
        self._check_parameters(node, node.args)
        self._visit_body(node, node.name, [each for each in node.body if not _is_docstring(each)])

    def visit_Assign(self, node: ast.Assign) -> None:
        """To names, and to elements of what the function made itself; a lambda gets a name."""
        for target in node.targets:
            self._check_target(target)
        target, value = node.targets[0], node.value
        if isinstance(value, ast.Lambda) and isinstance(target, ast.Name) and len(node.targets) == 1:
            self._check_parameters(value, value.args)
            self._visit_body(value, target.id, [value.body])
        else:
            self.visit(value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """As an assignment; the annotation is never evaluated."""
        self._check_target(node.target)
        if node.value is not None:
            self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """As an assignment: what it names before is not changed."""
        self._check_target(node.target)
        self.check_operator(node, node.op)
        self.visit(node.value)

    def visit_For(self, node: ast.For) -> None:
        """Over anything short but the worlds."""
        self._check_loop(node.target, node.iter)
        for statement in (*node.body, *node.orelse):
            self.visit(statement)

    def visit_If(self, node: ast.If) -> None:
        """On constants and shapes; what tensors hold differs between worlds."""
        self._check_condition(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """As an `if`."""
        self._check_condition(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        """As a loop."""
        self._check_loop(node.target, node.iter)
        for condition in node.ifs:
            self.visit(condition)

    def visit_Assert(self, node: ast.Assert) -> None:
        """Never evaluated, and dropped."""

    def visit_Raise(self, node: ast.Raise) -> None:
        """One of the plain exceptions with a text, as in `raise ValueError("unknown kind")`."""
        call = node.exc
        named = call.func if isinstance(call, ast.Call) else None
        plain = isinstance(named, ast.Name) and named.id in RAISED and named.id not in self.scope.variables
        if not plain or node.cause or not isinstance(call, ast.Call) or len(call.args) > 1 or call.keywords:
            words, instead = REFUSED["Raise"]
            self.refuse(node, "forbidden-construct", f"uses {words}", instead)
            return
        for argument in call.args:
            self.visit(argument)

    def visit_With(self, node: ast.With) -> None:
        """`torch.no_grad()` only, which changes nothing here."""
        if not all(self._is_no_grad(item) for item in node.items):
            words, instead = REFUSED["With"]
            self.refuse(node, "forbidden-construct", f"uses {words}", instead)
        for statement in node.body:
            self.visit(statement)

    # Their parts.

    def _check_loop(self, target: ast.expr, iterated: ast.expr) -> None:
        self._check_target(target)
        if isinstance(iterated, ast.Name) and iterated.id in self._batches:
            self.refuse(iterated, "loop-bound", f"loops over the worlds of `{iterated.id}`", WHOLE_BATCH)
        self.visit(iterated)

    def _check_condition(self, test: ast.expr) -> None:
        """Refuse a condition that reduces a tensor to one yes or no for all worlds."""
        for call in (node for node in ast.walk(test) if isinstance(node, ast.Call)):
            dotted = self.scope.resolve(call.func) or ""
            method = isinstance(call.func, ast.Attribute) and not dotted and call.func.attr not in SHAPE_METHODS
            if method or dotted.startswith(("torch.", "numpy.")):
                words = f"branches on `{ast.unparse(call)[:60]}`, one answer for all worlds"
                self.refuse(call, "tensor-branch", words, "use `torch.where`, which decides for each world")
                return

    def _check_target(self, target: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.check_name(target, target.id)
        elif isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._check_target(part)
        elif isinstance(target, ast.Starred):
            self._check_target(target.value)
        elif isinstance(target, ast.Subscript):
            if not self.is_owned(target.value):
                self.refuse_change(target, "assigning to an element")
            self.visit(target.slice)
        else:
            self.refuse(target, "attribute-assignment", "assigns to an attribute", "assign to a name of your own")

    def _check_parameters(self, node: Function, arguments: ast.arguments) -> None:
        if arguments.vararg or arguments.kwarg:
            self.refuse(node, "star-argument", "takes `*args` or `**kwargs`", "name each parameter")
        if arguments.posonlyargs:
            self.refuse(node, "star-argument", "takes positional-only parameters", "remove the `/`")
        for argument in (*arguments.args, *arguments.kwonlyargs):
            self.check_name(argument, argument.arg)
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None:
                self.visit(default)

    def _visit_body(self, function: Function, name: str, body: Iterable[ast.AST]) -> None:
        outer = self.function, self.owned
        self.function, self.owned = name, owned_names(function, self.scope)
        for part in body:
            self.visit(part)
        self.function, self.owned = outer

    def _is_no_grad(self, item: ast.withitem) -> bool:
        call = item.context_expr
        if not isinstance(call, ast.Call) or call.args or call.keywords or item.optional_vars is not None:
            return False
        return self.scope.resolve(call.func) == "torch.no_grad"

    # The whole.

    def _refuse_top_level(self, node: ast.stmt) -> None:
        words, instead = REFUSED.get(
            type(node).__name__, ("a statement", "keep imports, constants and functions there")
        )
        self.refuse(node, "top-level-statement", f"uses {words} outside its functions", instead)

    def _binding_of(self, name: str) -> ast.AST:
        """The last place where a name is bound."""
        found: ast.AST = self._tree
        for node in ast.walk(self._tree):
            stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name
            if stored or name in (getattr(node, "arg", None), getattr(node, "name", None)):
                found = node if getattr(node, "lineno", 0) >= getattr(found, "lineno", 0) else found
        return found

    def _check_recursion(self) -> None:
        for name, function in self.scope.functions.items():
            if name in _reachable(name, self.calls):
                self.refuse(function, "recursion", f"has `{name}` call itself", WHOLE_BATCH)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _entry_inputs(tree: ast.Module) -> set[str]:
    entries = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == ENTRY]
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
