"""Which names of a function hold something that the function itself made, and may therefore change in place.

Flow-insensitive: a name is owned if every binding of it in the function is an expression that makes something new, so
no loop can swap an input in.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from rewardgen.reward.scope import Function, Scope
from rewardgen.reward.vocabulary import CHANGING_METHODS, FRESH_BUILTINS, FRESH_FUNCTIONS, FRESH_METHODS

_NEW = (ast.BinOp, ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp, ast.Compare)


def owned_names(function: Function, scope: Scope) -> frozenset[str]:
    """Names that hold only what the function made.

    Args:
        function: A function or lambda of the reward.
        scope: The names of the reward.
    """
    if isinstance(function, ast.Lambda):
        return frozenset()
    bindings = list(_bound_in(function))
    owned = {name for name, _ in bindings}
    owned -= {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
    # One name may be bound to another: until no more of them turn out to hold anything else.
    while other := {name for name, value in bindings if name in owned and not _is_own(value, scope, owned)}:
        owned -= other
    return frozenset(owned)


def _is_own(value: ast.expr | None, scope: Scope, owned: Collection[str]) -> bool:
    return value is not None and is_fresh(value, scope, owned)


def is_fresh(value: ast.expr, scope: Scope, owned: Collection[str] = ()) -> bool:
    """Whether an expression is something that the function made.

    Args:
        value: The expression.
        scope: The names of the reward.
        owned: Names that hold only such.
    """
    if isinstance(value, _NEW):
        return True
    if isinstance(value, ast.Name):
        return value.id in owned
    if isinstance(value, ast.UnaryOp):
        return not isinstance(value.op, ast.UAdd)  # torch returns the operand itself
    if isinstance(value, ast.IfExp):
        return is_fresh(value.body, scope, owned) and is_fresh(value.orelse, scope, owned)
    return isinstance(value, ast.Call) and _call_is_fresh(value, scope, owned)


def _call_is_fresh(call: ast.Call, scope: Scope, owned: Collection[str]) -> bool:
    dotted = scope.resolve(call.func)
    if dotted is not None:
        return dotted in FRESH_FUNCTIONS
    if isinstance(call.func, ast.Name):
        return call.func.id in FRESH_BUILTINS - scope.functions.keys()
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr in CHANGING_METHODS and call.func.attr.endswith("_"):  # which return the tensor itself
        return is_fresh(call.func.value, scope, owned)
    return call.func.attr in FRESH_METHODS


def _bound_in(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr | None]]:
    """Each binding of a name in a function, without those of functions inside it: name and value, None if unknown."""
    for node in _own_nodes(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node.value
                else:
                    yield from ((name, None) for name in _stored(target))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.value
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            # It is compiled as `x = x + y`: new itself, though a dict or list then holds what `y` held.
            yield node.target.id, ast.BinOp(node.target, node.op, node.value)
        elif isinstance(node, ast.For | ast.comprehension):
            yield from ((name, None) for name in _stored(node.target))


def _own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))


def _stored(target: ast.expr) -> Iterator[str]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
