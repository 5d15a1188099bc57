"""Signs that cancel: a weight that is negative already, behind a minus."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from rewardgen.critic.static.reading import ParsedReward, finding
from rewardgen.store.records import Finding


def double_negatives(reward: ParsedReward) -> Iterator[Finding]:
    """Multiples of a negative constant that are subtracted or negated."""
    negative = _negative_constants(reward)
    for node in ast.walk(reward.tree):
        for factor in _subtracted(node):
            if factor in negative:
                what = f"subtracts a multiple of `{factor}`, which is {negative[factor]:.4g}: the two signs cancel"
                hint = "keep one of the two minus signs: a cost has a negative weight, or is subtracted"
                yield finding("double-negative", node, what, hint, evidence={"constant": negative[factor]})


def _subtracted(node: ast.AST) -> Iterator[str]:
    """Names of the factors of a product that is subtracted or negated: of `-w * x`, `-(w * x)`, and `y - w * x`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and _is_negated(node.left):
        yield from _factors(node.left.operand)
    elif _is_negated(node) and isinstance(node.operand, ast.BinOp):
        yield from _factors(node.operand)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and isinstance(node.right, ast.BinOp):
        yield from _factors(node.right)


def _is_negated(node: ast.AST | None) -> TypeGuard[ast.UnaryOp]:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


def _factors(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield from _factors(node.left)
        yield from _factors(node.right)


def _negative_constants(reward: ParsedReward) -> dict[str, float]:
    """Tunable constants and module constants below zero, by name."""
    arguments = reward.entry.args
    constants = [each for each in reward.tree.body if isinstance(each, ast.Assign)]
    known = [
        *zip((each.arg for each in arguments.kwonlyargs), arguments.kw_defaults, strict=True),
        *((each.targets[0].id, each.value) for each in constants if isinstance(each.targets[0], ast.Name)),
    ]
    return {
        name: -float(value.operand.value)
        for name, value in known
        if _is_negated(value)
        and isinstance(value.operand, ast.Constant)
        and isinstance(value.operand.value, int | float)
        and value.operand.value > 0
    }
