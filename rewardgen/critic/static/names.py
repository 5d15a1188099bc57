"""Names that a reward does not use: inputs, constants and helpers that it never reads, terms that it never returns."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from rewardgen.critic.static.reading import ParsedReward, finding, names_read
from rewardgen.store.records import Finding

_NOT_STATE = frozenset(["device", "dtype", "ndim", "shape", "size"])
_FORGOTTEN = "a forgotten term is the usual cause"


def unused_inputs(reward: ParsedReward) -> Iterator[Finding]:
    """Inputs that nothing reads."""
    for argument in reward.entry.args.args:
        if argument.arg not in reward.read:
            what = f"takes `{argument.arg}` and never reads it"
            yield finding("unused-input", argument, what, f"use it, or remove the parameter; {_FORGOTTEN}")


def unused_tunables(reward: ParsedReward) -> Iterator[Finding]:
    """Tunable constants that nothing reads."""
    for argument in reward.entry.args.kwonlyargs:
        if argument.arg not in reward.read:
            what = f"has the constant `{argument.arg}` and never reads it"
            yield finding("unused-tunable", argument, what, "use it, or remove the parameter")


def unused_helpers(reward: ParsedReward) -> Iterator[Finding]:
    """Functions that nothing calls."""
    for name, function in reward.scope.functions.items():
        if name not in reward.read and function is not reward.entry:
            what = f"has the function `{name}` and never calls it"
            yield finding("unused-helper", function, what, f"call it, or remove it; {_FORGOTTEN}")


def forgotten_terms(reward: ParsedReward) -> Iterator[Finding]:
    """Variables that are computed from the state, and then never read or overwritten first."""
    unread = [each for each in ast.walk(reward.entry) if _named(each) and _named(each) not in reward.read]
    found = {_named(each): each for each in [*_overwritten(reward.entry), *unread]}
    state = _from_state(reward)
    for name, node in found.items():
        if name in state and not name.startswith("_"):
            what = f"computes `{name}` and no component uses it"
            hint = f'return it, as in `{{..., "{name}": {name}}}`, or remove the line'
            yield finding("forgotten-term", node, what, hint)


def augmented_inputs(reward: ParsedReward) -> Iterator[Finding]:
    """Inputs with `*=` and the like, which means another value here, but elsewhere changes the caller's tensor."""
    nodes = list(ast.walk(reward.entry))
    rebound = {_named(each) for each in nodes}
    for node in nodes:
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
            if name in reward.inputs - rebound:
                what = (
                    f"changes its input `{name}` in place where it is run as plain torch; here it only gets a new value"
                )
                hint = f"give the result a name of its own instead of `{name}`"
                yield finding("augmented-input", node, what, hint)


def _named(node: ast.AST) -> str:
    """The name that an assignment gives to a value; empty for anything else."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    if isinstance(node, ast.AnnAssign) and node.value is not None and isinstance(node.target, ast.Name):
        return node.target.id
    return ""


def _overwritten(function: ast.FunctionDef) -> Iterator[ast.stmt]:
    """Assignments whose value is replaced in the same block before anything reads it."""
    for node in ast.walk(function):
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                yield from _overwritten_in(block)


def _overwritten_in(block: list[ast.stmt]) -> Iterator[ast.stmt]:
    replaced: set[str] = set()
    for statement in reversed(block):
        name, inside = _named(statement), list(ast.walk(statement))
        if name in replaced:
            yield statement
        if any(isinstance(each, ast.Return | ast.Break | ast.Continue) for each in inside):
            replaced.clear()
        if name:
            replaced.add(name)
        else:  # it may assign only sometimes, or read what it assigns
            replaced -= {each.id for each in inside if isinstance(each, ast.Name)}
        replaced -= names_read(statement)


def _from_state(reward: ParsedReward) -> set[str]:
    """Names of what is computed from inputs."""
    made: dict[str, set[str]] = defaultdict(set)
    for node in ast.walk(reward.entry):
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
            targets, value = [node.target], node.value
        elif isinstance(node, ast.For | ast.comprehension):
            targets, value = [node.target], node.iter
        else:
            continue
        names = {each.id for part in targets for each in ast.walk(part) if isinstance(each, ast.Name)}
        for read in _state_read(value) if value else ():
            made[read] |= names
    found = set(reward.inputs)
    waiting = list(found)
    while waiting:
        new = made[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def _state_read(node: ast.AST) -> set[str]:
    """Names that an expression reads, but for those of which only the shape, type or device matters."""
    if isinstance(node, ast.Attribute) and node.attr in _NOT_STATE:
        return set()
    if isinstance(node, ast.Name):
        return {node.id}
    return set().union(*(_state_read(each) for each in ast.iter_child_nodes(node)))
