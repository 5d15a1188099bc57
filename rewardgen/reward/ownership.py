"""Which names of a function hold something that the function itself made, and may therefore change in place.

Flow-insensitive: a name is owned if every binding of it in the function is an expression that makes something new, so
no loop can swap an input in.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from rewardgen.reward.scope import Function, Scope
from rewardgen.reward.vocabulary import CHANGING_METHODS, FRESH_BUILTINS, FRESH_FUNCTIONS, FRESH_METHODS

_NEW = (ast.BinOp, ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp, ast.Compare)


def owned_names(function: Function, scope: Scope, makers: frozenset[str] = frozenset()) -> frozenset[str]:
    """Names that hold only what the function made.

    Args:
        function: A function or lambda of the reward.
        scope: The names of the reward.
        makers: Functions of the reward whose results are new.
    """
    if isinstance(function, ast.Lambda):
        return frozenset()
    fresh: set[str] = set()
    other = {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
    for name, value in _bound_in(function):
        (fresh if value is not None and is_fresh(value, scope, makers) else other).add(name)
    return frozenset(fresh - other)


def returns_fresh(entry: ast.FunctionDef, scope: Scope) -> bool:
    """Whether all that a reward returns was surely made by it, and shares no memory with its inputs.

    Args:
        entry: The function that returns a dict of components, or a tuple of their total and that.
        scope: The names of the reward.
    """
    makers = _makers(scope)
    values: list[ast.expr | None] = []
    for returned in _returned(entry):
        *totals, parts = returned.elts if isinstance(returned, ast.Tuple) and returned.elts else [returned]
        values += [*totals, *_dict_values(entry, parts)]
    return bool(values) and _are_fresh(values, entry, scope, makers)


def _makers(scope: Scope) -> frozenset[str]:
    """The functions of a reward that return only what they made."""
    found: frozenset[str] = frozenset()
    while True:
        more = frozenset(
            name
            for name, function in scope.functions.items()
            if _are_fresh(list(_returned(function)), function, scope, found)
        )
        if more == found:
            return found
        found = more


def _are_fresh(values: Sequence[ast.expr | None], function: Function, scope: Scope, makers: frozenset[str]) -> bool:
    owned = owned_names(function, scope, makers)
    return all(
        value is not None and (is_fresh(value, scope, makers) or (isinstance(value, ast.Name) and value.id in owned))
        for value in values
    )


def _returned(function: Function) -> Iterator[ast.expr | None]:
    if isinstance(function, ast.Lambda):
        yield function.body
    else:
        yield from (node.value for node in _own_nodes(function) if isinstance(node, ast.Return))


def _dict_values(entry: ast.FunctionDef, node: ast.expr | None) -> Iterator[ast.expr | None]:
    """The values of a dict as it is written, or of a name that is only ever given such dicts; None if unknown."""
    if isinstance(node, ast.Dict) and None not in node.keys:
        yield from node.values
    elif isinstance(node, ast.Name):
        yield from _stored_values(entry, node.id)
    else:
        yield None


def _stored_values(entry: ast.FunctionDef, name: str) -> Iterator[ast.expr | None]:
    if _has_second_name(entry, name):
        yield None
    for bound, value in _bound_in(entry):
        if bound == name:
            yield from _dict_values(entry, value) if isinstance(value, ast.Dict) else iter([None])
    values = {
        id(place): node.value for node in _own_nodes(entry) if isinstance(node, ast.Assign) for place in node.targets
    }
    for node in _own_nodes(entry):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and _is_name(node.value, name):
            yield values.get(id(node))  # unknown within a tuple, in a loop, and by `+=`
        elif isinstance(node, ast.Attribute) and node.attr in CHANGING_METHODS and _is_name(node.value, name):
            yield None


def _has_second_name(entry: ast.FunctionDef, name: str) -> bool:
    """Whether a name is bound together with others, as in `a = b = {}`: what is stored by them is stored by it."""
    chains = (node.targets for node in _own_nodes(entry) if isinstance(node, ast.Assign) and len(node.targets) > 1)
    return any(name in _stored(target) for targets in chains for target in targets)


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def is_fresh(value: ast.expr, scope: Scope, makers: frozenset[str] = frozenset()) -> bool:
    """Whether an expression makes something new, sharing no memory with anything that has a name.

    Args:
        value: The expression.
        scope: The names of the reward.
        makers: Functions of the reward whose results are new.
    """
    if isinstance(value, _NEW):
        return True
    if isinstance(value, ast.UnaryOp):
        return not isinstance(value.op, ast.UAdd)  # torch returns the operand itself
    if isinstance(value, ast.IfExp):
        return is_fresh(value.body, scope, makers) and is_fresh(value.orelse, scope, makers)
    return isinstance(value, ast.Call) and _call_is_fresh(value, scope, makers)


def _call_is_fresh(call: ast.Call, scope: Scope, makers: frozenset[str]) -> bool:
    dotted = scope.resolve(call.func)
    if dotted is not None:
        return dotted in FRESH_FUNCTIONS
    if isinstance(call.func, ast.Name):
        return call.func.id in (FRESH_BUILTINS - scope.functions.keys()) | makers
    return isinstance(call.func, ast.Attribute) and call.func.attr in FRESH_METHODS


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
