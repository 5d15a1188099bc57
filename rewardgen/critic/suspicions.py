"""What looks wrong in the text of a reward that is otherwise in order: warnings for the designer.

The detectors assume a source that passed the language and signature gates.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from rewardgen.critic.reasoning import Facts
from rewardgen.records import Finding
from rewardgen.reward.parsing import parse_source
from rewardgen.reward.signature import ENTRY

_EXPONENTIALS = ("exp", "exp2", "expm1")


def find_suspicions(source: str) -> tuple[Finding, ...]:
    """Warnings about a reward's text.

    Args:
        source: Any text; there is nothing to say of one that defines no reward.

    Returns:
        Warnings in the order of their lines.
    """
    tree = parse_source(source)
    if isinstance(tree, Finding) or not _defines_reward(tree):
        return ()
    facts = Facts(tree)
    found = [finding for detector in _DETECTORS for finding in detector(facts)]
    return tuple(sorted(found, key=lambda finding: finding.line or 0))


def _defines_reward(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.FunctionDef) and node.name == ENTRY for node in tree.body)


def _unused_parameters(facts: Facts) -> Iterator[Finding]:
    read = {node.id for node in ast.walk(facts.entry) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    for argument in facts.entry.args.args:
        if argument.arg not in read:
            hint = "use it, or remove the parameter; a forgotten term is the usual cause"
            yield _warning("unused-input", argument, f"takes `{argument.arg}` and never reads it", hint)
    for argument in facts.entry.args.kwonlyargs:
        if argument.arg not in read:
            hint = "use it, or remove the parameter"
            yield _warning("unused-tunable", argument, f"has the constant `{argument.arg}` and never reads it", hint)


def _data_independent_components(facts: Facts) -> Iterator[Finding]:
    for name, value in facts.components():
        if not facts.depends_on_data(value):
            what = f"returns the component `{name}`, which is the same in every state"
            hint = "make it depend on the state or remove it: a constant only rewards living on"
            yield _warning("data-independent-component", value, what, hint, name)


def _positive_exponents(facts: Facts) -> Iterator[Finding]:
    for call, argument in _exponentials(facts.tree):
        grows = facts.depends_on_data(argument) and facts.is_non_negative(argument)
        if grows and not facts.is_bounded_above(argument):
            what = "takes the exponential of a value that is never negative, which has no bound"
            yield _warning("positive-exponent", call, what, "negate the exponent: `torch.exp(-error / temperature)`")


def _nested_exponentials(facts: Facts) -> Iterator[Finding]:
    for call, argument in _exponentials(facts.tree):
        if any(True for _ in _exponentials(argument)):
            what = "takes the exponential of an exponential"
            yield _warning("nested-exponential", call, what, "take one exponential, of a distance or an error")


def _unguarded_divisions(facts: Facts) -> Iterator[Finding]:
    for node in ast.walk(facts.tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and facts.may_vanish(node.right):
            what = f"divides by `{ast.unparse(node.right)[:60]}`, which may be zero"
            yield _warning("unguarded-division", node, what, "add a small constant, or use `.clamp(min=1e-6)`")


_DETECTORS: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    _unused_parameters,
    _data_independent_components,
    _positive_exponents,
    _nested_exponentials,
    _unguarded_divisions,
)


def _exponentials(tree: ast.AST) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Each exponential below a node with its exponent: `torch.exp(x)`, `math.exp(x)` and `x.exp()`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _EXPONENTIALS:
            if node.args:
                yield node, node.args[0]
            elif not node.keywords:
                yield node, node.func.value


def _warning(detector: str, node: ast.expr | ast.arg, message: str, hint: str, component: str | None = None) -> Finding:
    return Finding(
        gate="language",
        detector=detector,
        severity="warn",
        message=f"the reward {message}",
        hint=hint,
        line=node.lineno,
        component=component,
    )
