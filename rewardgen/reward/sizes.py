"""Restrict the size along the first axis, the number of envs, to arguments of factories and views.

A reward that calculates or branches with that size differs between probe and training. Types are unknown here, so the
second and last axes count as sizes of an input's parts. Code that hides the size, as in the sum of a tensor of ones, is
not found; such a reward can fail in training, and changes no fitness.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rewardgen.reward.vocabulary import SIZED

_NESTING = (ast.Tuple, ast.List, ast.Starred, ast.keyword, ast.Slice)


def misused_sizes(tree: ast.Module, inputs: frozenset[str]) -> Iterator[ast.expr]:
    """Yield the sizes along the first axis with any other use; the `len` of an input is the number of envs."""
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    names: set[str] = set()
    while True:
        sizes = [node for node in ast.walk(tree) if isinstance(node, ast.expr) and _is_size(node, inputs, names)]
        more = {name for size in sizes for name in _assigned(size, parents)}
        if more <= names:
            break
        names |= more
    yield from (size for size in sizes if not _is_allowed(size, parents) and not _is_part(size, parents, names))


def _is_size(node: ast.expr, inputs: frozenset[str], names: set[str]) -> bool:
    match node:
        case ast.Attribute(attr="shape") | ast.Call(ast.Attribute(attr="size" | "numel"), [], []):
            return True
        case ast.Call(ast.Attribute(attr="size"), [ast.Constant(0)]):
            return True
        case ast.Call(ast.Name("len"), [ast.Name(name)]):
            return name in inputs
        case ast.Name(name, ast.Load()):
            return name in names
    return False


def _index(size: ast.expr, parents: dict[ast.AST, ast.AST]) -> ast.expr | None:
    """Return the index in `x.shape[index]`; None for a whole shape."""
    parent = parents.get(size)
    return parent.slice if isinstance(parent, ast.Subscript) and parent.value is size else None


def _is_part(size: ast.expr, parents: dict[ast.AST, ast.AST], names: set[str]) -> bool:
    """Return True for `x.shape[1]`, `x.shape[-1]` and `x.shape[1:]`, without the first axis."""
    match _index(size, parents):
        case ast.UnaryOp(ast.USub()) | ast.Slice(ast.Constant() | ast.UnaryOp(ast.USub())):
            return True
        case ast.Constant(value):
            return value != 0
    return False


def _use(size: ast.expr, parents: dict[ast.AST, ast.AST]) -> tuple[ast.AST, ast.AST]:
    """Return the node that uses a size, and the outermost tuple, list or keyword around the size."""
    node = parents[size] if _index(size, parents) is not None else size
    above = parents[node]
    while isinstance(above, _NESTING) or (isinstance(above, ast.BinOp) and isinstance(above.op, ast.Add)):
        if isinstance(above, ast.BinOp) and not _holds_tuple(above):
            break
        node, above = above, parents[above]
    return above, node


def _holds_tuple(node: ast.BinOp) -> bool:
    """Return True for the sum of a shape and a tuple, such as `x.shape[:1] + (3,)`."""
    return any(isinstance(part, ast.Tuple | ast.List) for part in (node.left, node.right))


def _is_allowed(size: ast.expr, parents: dict[ast.AST, ast.AST]) -> bool:
    user, node = _use(size, parents)
    if any(isinstance(above, ast.Assert) for above in _above(size, parents)):
        return True
    if isinstance(user, ast.Call) and node is not user.func:
        function = user.func.attr if isinstance(user.func, ast.Attribute) else getattr(user.func, "id", "")
        return function in SIZED
    return isinstance(user, ast.Assign) and all(isinstance(target, ast.Name | ast.Tuple) for target in user.targets)


def _above(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    while node in parents:
        node = parents[node]
        yield node


def _assigned(size: ast.expr, parents: dict[ast.AST, ast.AST]) -> Iterator[str]:
    """Yield the names that an assignment binds to the size: `n` in `n, k = x.shape`."""
    user, _ = _use(size, parents)
    if not isinstance(user, ast.Assign) or _is_part(size, parents, set()):
        return
    for target in user.targets:
        first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
        if isinstance(first, ast.Name):
            yield first.id
