"""The constants at the places where a reward bends or jumps, which recorded states on one side of them cannot show."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator

from rewardgen.reward.parsing import parse_source
from rewardgen.reward.vocabulary import words
from rewardgen.store.records import Finding

_CALLS = frozenset(
    words("""
clamp clamp_min clamp_max clip where heaviside tolerance minimum maximum min max fmin fmax amin amax
abs absolute fabs sign sgn round floor ceil trunc fix frac fmod remainder isclose
gt ge lt le eq ne greater greater_equal less less_equal not_equal
relu relu6 leaky_relu elu selu celu gelu silu mish hardtanh hardsigmoid hardswish threshold huber_loss smooth_l1_loss
l1_loss sigmoid logsigmoid tanh softplus softsign softmax softmin exp exp2 expm1 erf erfc atan arctan
""")
)
"""Functions and methods with a kink, a step, or a tail so flat that what happens in it is lost to rounding."""
_FILLS = frozenset(["append", "extend", "insert", "update", "setdefault"])

_Definitions = dict[str, list[ast.AST]]


def piecewise_constants(source: str) -> Counter[str] | None:
    """The constants that decide where a reward compares, clamps, saturates or rounds, with how often each is written.

    They are the numbers and texts in such expressions and in the definitions of all names in them: tunable constants,
    variables, helpers and what those are called with. A name has all definitions that it has anywhere in the source,
    so there may be some too many.

    Args:
        source: A reward's source.

    Returns:
        Constant, as text, to how many are written; None if the source does not parse.
    """
    tree = parse_source(source)
    if isinstance(tree, Finding):
        return None
    return Counter(_reached([node for node in ast.walk(tree) if _is_piecewise(node)], _definitions(tree)))


def _is_piecewise(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp | ast.AugAssign):
        return isinstance(node.op, ast.Mod | ast.FloorDiv)
    return isinstance(node, ast.Compare) or (isinstance(node, ast.Call) and _called(node).rstrip("_") in _CALLS)


def _called(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _reached(start: list[ast.AST], definitions: _Definitions) -> Iterator[str]:
    """The constants in some nodes and in all that their names stand for, each place once."""
    waiting, seen = list(start), set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, ast.Name):
            waiting += definitions.get(node.id, [])
        elif isinstance(node, ast.Constant):
            yield _text(node.value)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            seen.add(id(node.operand))
            yield f"-{_text(node.operand.value)}"
        else:
            waiting += ast.iter_child_nodes(node)


def _text(value: object) -> str:
    """`1`, `1.0` and `True` alike."""
    return repr(float(value)) if isinstance(value, int | float) else repr(value)


def _definitions(tree: ast.Module) -> _Definitions:
    """What each name may stand for, whatever its scope."""
    found: _Definitions = defaultdict(list)
    parameters = _parameters(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.NamedExpr):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                _define(found, target, node.value)
        elif isinstance(node, ast.For | ast.comprehension):
            _define(found, node.target, node.iter)
        elif isinstance(node, ast.FunctionDef):
            found[node.name] += [each.value for each in ast.walk(node) if isinstance(each, ast.Return) and each.value]
        elif isinstance(node, ast.arguments):
            for name, value in _defaults(node):
                found[name].append(value)
        elif isinstance(node, ast.Call):
            for name, value in _given(node, parameters):
                found[name].append(value)
    return found


def _define(found: _Definitions, target: ast.AST, value: ast.AST | None) -> None:
    """Every name in a target, also that of a container of which one entry is set."""
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and value is not None:
            found[node.id].append(value)


def _parameters(tree: ast.Module) -> dict[str, list[str]]:
    """Names of functions, and of lambdas with a name, to those of their parameters."""
    found: dict[str, list[str]] = defaultdict(list)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            found[node.name] += _names(node.args)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            for target in node.targets:
                found[getattr(target, "id", "")] += _names(node.value.args)
    return found


def _names(arguments: ast.arguments) -> list[str]:
    return [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _defaults(arguments: ast.arguments) -> Iterator[tuple[str, ast.AST]]:
    positional = [*arguments.posonlyargs, *arguments.args]
    for argument, value in zip(reversed(positional), reversed(arguments.defaults), strict=False):
        yield argument.arg, value
    for argument, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if value is not None:
            yield argument.arg, value


def _given(call: ast.Call, parameters: dict[str, list[str]]) -> Iterator[tuple[str, ast.AST]]:
    """What a call hands to the parameters of a helper, any of them, or puts into a container or tensor with a name."""
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    if isinstance(call.func, ast.Name) and call.func.id in parameters:
        yield from ((name, value) for name in parameters[call.func.id] for value in values)
    elif isinstance(call.func, ast.Attribute) and (call.func.attr in _FILLS or call.func.attr.endswith("_")):
        yield from ((node.id, value) for node in ast.walk(call.func) if isinstance(node, ast.Name) for value in values)
