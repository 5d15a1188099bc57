"""A reward as a file that a user may import: plain Python runs what the reward language only ignores."""

# The names of visitor methods are given by `ast`.
# ruff: noqa: N802

from __future__ import annotations

import ast
import copy
import re

from rewardgen.core.errors import UsageError
from rewardgen.reward.parsing import parse_source
from rewardgen.reward.transform import Pruning

_ENCODING = re.compile(r"[ \t\f]*#.*?coding[:=]")
"""A comment by which Python would read the file as other text than was checked."""


def importable(source: str) -> str:
    """The source of a reward, unchanged if Python does nothing with it that the language did not check.

    Annotations, decorators' arguments and asserts are never evaluated in a reward, so anything may stand there. Where a
    call does, they are left out, and comments with them.

    Args:
        source: What the language accepts.

    Raises:
        UsageError: What is left cannot be written as Python.
    """
    tree = parse_source(source)
    assert isinstance(tree, ast.Module)
    unread = _Unread()
    stripped = unread.visit(copy.deepcopy(tree))
    recoded = any(map(_ENCODING.match, source.split("\n")[:2]))
    if not (unread.found or recoded):
        return source
    try:
        text = ast.unparse(ast.fix_missing_locations(stripped)) + "\n"
        compile(text, "<reward>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UsageError(
            f"a reward cannot be written without what the reward language does not read: {error}",
            "read it in its candidate's folder, and leave out its annotations and asserts yourself",
        ) from error
    return text


class _Unread(Pruning):
    """Takes out what the language does not read, and knows whether any of it calls something."""

    def __init__(self) -> None:
        self.found = False

    def _leave_out(self, *nodes: ast.AST | None) -> None:
        inside = (each for node in nodes if node for each in ast.walk(node))
        self.found |= any(isinstance(each, ast.Call) for each in inside)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        for argument in (*node.args.args, *node.args.kwonlyargs):
            self._leave_out(argument.annotation)
            argument.annotation = None
        self._leave_out(node.returns)
        for each in node.decorator_list:
            self._leave_out(*((*each.args, *each.keywords) if isinstance(each, ast.Call) else ()))
        node.returns, node.decorator_list = None, []
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        self._leave_out(node.annotation)
        return ast.Assign([node.target], node.value) if node.value else None

    def visit_Assert(self, node: ast.Assert) -> None:
        self._leave_out(node)
