"""A reward as plain Python that means the same: what the language reads otherwise is written out."""

# The names of visitor methods are given by `ast`.
# ruff: noqa: N815

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from itertools import accumulate

from rewardgen.reward.scope import Scope
from rewardgen.reward.vocabulary import NUMPY_DTYPES

NUMPY = "numpy__"
"""What numpy is in a reward, where its file names it; the language has no name with a double underscore."""
IMPORTED = "#: "
"""Before an import that a file does by other means."""
_METHODS = {"astype", "copy"}
_WITH_AXIS = {"max", "min", "std", "var"}
_ITERATORS = {"zip", "enumerate"}
_LAZY = {*_ITERATORS, "reversed"}
_USING_UP = {"list", "tuple", "dict", "sum", "max", "min", "sorted", "all", "any"}
_BODIES = ("body", "orelse")


def plain_source(source: str, tree: ast.Module) -> str:
    """The source of a reward as Python reads it: with its comments, wherever nothing had to be written otherwise.

    Left out are what is never evaluated (asserts, decorators, annotations that call something) and imports, but for
    those of torch and math at its top; `x += y` becomes `x = x + y`, a generator a list, a set a dict in the order in
    which it is written, and what numpy alone has a function.

    Args:
        source: What the language accepts.
        tree: Of it; not changed.

    Raises:
        SyntaxError: What is left cannot be written as Python; so do ValueError and RecursionError.
    """
    text = source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    plain = _Plain(Scope(tree))
    wanted = ast.fix_missing_locations(plain.module(copy.deepcopy(tree)))
    spliced = _Splice(text, plain).text(tree)
    if spliced is not None and _same(spliced, wanted):
        return spliced
    written = ast.unparse(wanted) + "\n"
    compile(written, "<reward>", "exec", dont_inherit=True)
    return written


def calls_unread(tree: ast.Module) -> bool:
    """Whether an assert, an annotation or a decorator, which the language never evaluates, calls something."""
    return any(
        isinstance(each, ast.Call) for node in ast.walk(tree) for part in _unread(node) for each in ast.walk(part)
    )


def _unread(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.FunctionDef):
        given = (*node.args.args, *node.args.kwonlyargs)
        yield from (each.annotation for each in given if each.annotation)
        yield from [node.returns] if node.returns else []
        for each in node.decorator_list:
            yield from (*each.args, *each.keywords) if isinstance(each, ast.Call) else ()
    elif isinstance(node, ast.AnnAssign):
        yield node.annotation
    elif isinstance(node, ast.Assert):
        yield node


def _same(text: str, wanted: ast.Module) -> bool:
    try:
        return ast.dump(ast.parse(text)) == ast.dump(wanted)
    except (SyntaxError, ValueError, RecursionError):
        return False


class _Plain(ast.NodeTransformer):
    """Rewrites what plain Python would read otherwise. Of each statement there is one afterwards, or `pass`."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._used_up: set[int] = set()
        """Ids of what is gone through once, where it stands, so that it may be an iterator."""
        self._numpy = any(module.split(".")[0] == "numpy" for module in scope.imports.values())

    def module(self, tree: ast.Module) -> ast.Module:
        """A whole reward; at its top, what is left out leaves nothing."""
        tree.body = [new for each in tree.body if not isinstance(new := self.top(each), ast.Pass)]
        return tree

    def top(self, node: ast.stmt) -> ast.stmt:
        """A statement at the top of a reward, where its own imports of torch and math are as they should be."""
        return node if _is_kept_import(node) else self.visit(node)

    def visit_Import(self, node: ast.stmt) -> ast.Pass:
        return ast.Pass()

    visit_ImportFrom = visit_Assert = visit_Import

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        call = node.value
        prints = isinstance(call, ast.Call) and self._is_builtin(call.func, {"print"})
        return ast.Pass() if prints else self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        for argument in (*node.args.args, *node.args.kwonlyargs):
            argument.annotation = _harmless(argument.annotation)
        node.returns, node.decorator_list = _harmless(node.returns), []
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if _harmless(node.annotation) is None:
            return self.generic_visit(ast.Assign([node.target], node.value)) if node.value else ast.Pass()
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        # `x += y` writes into what x names, which other names may share; and into the shape and dtype that it has.
        current = copy.deepcopy(node.target)
        current.ctx = ast.Load()
        return self.generic_visit(ast.Assign([node.target], ast.BinOp(current, node.op, node.value)))

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        return self.generic_visit(node if id(node) in self._used_up else ast.ListComp(node.elt, node.generators))

    def visit_Set(self, node: ast.Set) -> ast.AST:
        # That of Python's sets differs from process to process.
        return self.generic_visit(ast.Dict(list(node.elts), [ast.Constant(None) for _ in node.elts]))

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        return self.generic_visit(ast.DictComp(node.elt, ast.Constant(None), node.generators))

    def visit_For(self, node: ast.For | ast.comprehension) -> ast.AST:
        self._used_up.add(id(node.iter))
        return self.generic_visit(node)

    visit_comprehension = visit_For

    def visit_Call(self, node: ast.Call) -> ast.AST:
        dotted = self._scope.resolve(node.func)
        method = node.func.attr if isinstance(node.func, ast.Attribute) and dotted is None else ""
        with_axis = self._numpy and any(each.arg == "axis" for each in node.keywords)
        iterates = self._is_builtin(node.func, _ITERATORS)
        if self._is_builtin(node.func, _USING_UP) or (iterates and id(node) in self._used_up):
            self._used_up |= {id(each) for each in node.args}
        self.generic_visit(node)
        if dotted in NUMPY_DTYPES:
            kept = ast.Call(_numpy("astype"), [*node.args, _numpy(dotted.removeprefix("numpy."))], node.keywords)
            return kept
        if method in _METHODS or (with_axis and method in _WITH_AXIS):
            assert isinstance(node.func, ast.Attribute)
            return ast.Call(_numpy(method), [node.func.value, *node.args], node.keywords)
        if self._is_builtin(node.func, {"set"}):
            each = ast.comprehension(ast.Name("each", ast.Store()), node.args[0], [], 0) if node.args else None
            return ast.DictComp(ast.Name("each", ast.Load()), ast.Constant(None), [each]) if each else ast.Dict([], [])
        if self._is_builtin(node.func, _LAZY) and id(node) not in self._used_up:
            return ast.Tuple([ast.Starred(node, ast.Load())], ast.Load())
        return node

    def _is_builtin(self, node: ast.expr, names: set[str]) -> bool:
        own = self._scope.variables | self._scope.functions.keys()
        return isinstance(node, ast.Name) and node.id in names - own


class _Splice:
    """The text of a reward, in which only the statements are replaced that had to be rewritten.

    Args:
        text: Its source.
        plain: Rewrites a statement.
    """

    def __init__(self, text: str, plain: _Plain) -> None:
        self._lines = text.encode().split(b"\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self._lines)]
        self._text = text.encode()
        self._plain = plain
        self._edits: list[tuple[int, int, bytes]] = []

    def text(self, tree: ast.Module) -> str | None:
        """The text; None if a statement cannot be replaced by itself."""
        for statement in tree.body:
            if not self._replaced(statement, top=True):
                return None
        for start, end, new in sorted(self._edits, reverse=True):
            self._text = self._text[:start] + new + self._text[end:]
        return self._text.decode()

    def _replaced(self, node: ast.stmt, top: bool = False) -> bool:
        bodies = [each for field in _BODIES for each in getattr(node, field, [])]
        head = _head(node) if bodies else node
        new = (self._plain.top if top else self._plain.visit)(copy.deepcopy(head))
        if ast.dump(new) != ast.dump(head) and not self._put(node, ast.fix_missing_locations(new), bodies, top):
            return False
        return all(self._replaced(each) for each in bodies)

    def _put(self, node: ast.stmt, new: ast.stmt, bodies: list[ast.stmt], top: bool) -> bool:
        first = min([node, *getattr(node, "decorator_list", [])], key=lambda each: each.lineno)
        start = self._starts[first.lineno - 1]
        written = ast.unparse(new)
        if not bodies:
            start += first.col_offset
            assert node.end_lineno is not None and node.end_col_offset is not None
            end = self._starts[node.end_lineno - 1] + node.end_col_offset
            if top and isinstance(new, ast.Pass):
                written = f"{IMPORTED}{ast.unparse(node)}" if isinstance(node, ast.Import | ast.ImportFrom) else ""
            self._edits.append((start, end, written.encode()))
            return True
        body = bodies[0]
        upto = min([body, *getattr(body, "decorator_list", [])], key=lambda each: each.lineno).lineno
        if upto == node.lineno or node.col_offset != len(self._lines[node.lineno - 1]) - len(
            self._lines[node.lineno - 1].lstrip()
        ):
            return False
        indent = b" " * node.col_offset
        lines = [indent + line.encode() for line in written.split("\n")[:-1]]
        self._edits.append((start, self._starts[upto - 1], b"\n".join([*lines, b""])))
        return True


def _head(node: ast.stmt) -> ast.stmt:
    """A statement without the statements in it."""
    head = copy.copy(node)
    for field in _BODIES:
        if hasattr(head, field):
            setattr(head, field, [ast.Pass()] if field == "body" else [])
    return head


def _is_kept_import(node: ast.stmt) -> bool:
    if isinstance(node, ast.Import):
        return all(each.name.split(".")[0] in ("torch", "math") for each in node.names)
    return isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("torch", "math")


def _harmless(annotation: ast.expr | None) -> ast.expr | None:
    return (
        None if annotation is None or any(isinstance(each, ast.Call) for each in ast.walk(annotation)) else annotation
    )


def _numpy(name: str) -> ast.Attribute:
    return ast.Attribute(ast.Name(NUMPY, ast.Load()), name, ast.Load())
