"""Vectors that list the same parts in different orders, combined entry by entry."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rewardgen.critic.static.reading import ParsedReward, finding
from rewardgen.store.records import Finding, TaskCard

_ENTRYWISE = ast.Add | ast.Sub | ast.Mult | ast.Div


def misordered_parts(reward: ParsedReward) -> Iterator[Finding]:
    """Sums, differences, products and quotients of two whole inputs whose parts are the same in another order."""
    for node in ast.walk(reward.tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, _ENTRYWISE):
            pair = (_whole(node.left), _whole(node.right))
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, _ENTRYWISE):
            pair = (_whole(node.target), _whole(node.value))
        else:
            continue
        one, other = (_parts(reward.card, name) if name in reward.inputs else () for name in pair)
        if one != other and len(set(one)) > 1 and sorted(one) == sorted(other):
            first, second = (f"`{name}` ({', '.join(parts)})" for name, parts in zip(pair, (one, other), strict=True))
            what = f"combines {first} and {second} entry by entry: the same parts in different orders"
            hint = "put the entries of one into the order of the other, by index, before combining them"
            yield finding("misordered-parts", node, what, hint)


def _whole(node: ast.expr) -> str:
    """The name that an expression is, but for its sign and size; empty for any other."""
    if isinstance(node, ast.UnaryOp):
        return _whole(node.operand)
    if isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == "abs":
            return _whole(node.args[0] if node.args else function.value)
        return _whole(node.args[0]) if isinstance(function, ast.Name) and function.id == "abs" and node.args else ""
    return node.id if isinstance(node, ast.Name) else ""


def _parts(card: TaskCard, name: str) -> tuple[str, ...]:
    """Names of the entries of an input, in order; empty for a scalar."""
    return card.input_parts.get(name.removeprefix("prev_"), ())
