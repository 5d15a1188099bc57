"""Likely slips in a task file that Python accepts: `a < 0.2 & ~b`, and degrees where a variable is in radians."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Set
from typing import Any

from rewardgen.sim.contract import Problem
from rewardgen.tasks.protocol import Task

_TURN = 2.0 * math.pi
"""Magnitude above which a threshold of an angle looks like degrees [rad]."""


def precedence_problems(task: Task) -> list[Problem]:
    """Find comparisons that `&` or `|` beside them tears apart, because it binds more tightly."""
    text = task.path.read_text(errors="replace")
    comparisons = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Compare)]
    return [
        Problem(
            f"line {node.lineno} of {task.path.name}: `&` and `|` bind before comparisons in `{ast.unparse(node)}`",
            f"write `{_split(node, text)}`",
        )
        for node in comparisons
        if any(_is_torn(operand, text) for operand in (node.left, *node.comparators))
    ]


def _is_torn(operand: ast.expr, text: str) -> bool:
    """True for a bare `0.2 & ...` or `... & ~b`; `flags & 4` may be meant."""
    if not isinstance(operand, ast.BinOp) or not isinstance(operand.op, ast.BitAnd | ast.BitOr):
        return False
    lines = text.encode().splitlines()
    before = lines[operand.lineno - 1][: operand.col_offset].rstrip()
    after = lines[(operand.end_lineno or 1) - 1][operand.end_col_offset :].lstrip()
    sides = (operand.left, operand.right)
    odd = any(_constant(side) % 1.0 or isinstance(side, ast.UnaryOp) for side in sides)
    return odd and not (before.endswith(b"(") and after.startswith(b")"))


def _split(node: ast.Compare, text: str) -> str:
    """Return a comparison with parentheses around its parts."""
    written = "("
    signs = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
    for operator, operand in zip((None, *node.ops), (node.left, *node.comparators), strict=True):
        written += f" {signs.get(type(operator), '')} " if operator else ""
        if isinstance(operand, ast.BinOp) and _is_torn(operand, text):
            joint = "&" if isinstance(operand.op, ast.BitAnd) else "|"
            written += f"{ast.unparse(operand.left)}) {joint} ({ast.unparse(operand.right)}"
        else:
            written += ast.unparse(operand)
    return f"{written})"


def degree_notes(task: Task, met: Set[str]) -> list[Problem]:
    """Find ends other than those that episodes met whose threshold of an angle looks like degrees."""
    angles = {name for name, variable in task.declared().items() if variable.unit == "rad"}
    ends: dict[str, Any] = getattr(task, "ends", {})
    bounds = [(cause, end.variable, bound) for cause, end in ends.items() for bound in (end.low, end.high)]
    found = [(cause, name, bound) for cause, name, bound in bounds if name in angles and math.isfinite(bound)]
    found += _thresholds(task, angles)
    return [
        Problem(
            f"no episode of the check ends by `{cause}`: `{name}` is in radians, and {bound:g} looks like degrees",
            f"write {math.radians(bound):.3g} for {bound:g} degrees",
        )
        for cause, name, bound in found
        if cause not in met and abs(bound) > _TURN
    ]


def _thresholds(task: Task, angles: Set[str]) -> Iterator[tuple[str, str, float]]:
    """Yield cause, variable and number of each comparison of an angle in `terminated`."""
    tree = ast.parse(task.path.read_text(errors="replace"))
    methods = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "terminated"]
    for causes in (node for method in methods for node in ast.walk(method) if isinstance(node, ast.Dict)):
        for cause, condition in zip(causes.keys, causes.values, strict=True):
            for node in ast.walk(condition):
                if isinstance(cause, ast.Constant) and isinstance(node, ast.Compare):
                    names = {str(part.value) for part in ast.walk(node) if isinstance(part, ast.Constant)} & angles
                    numbers = [_constant(operand) for operand in (node.left, *node.comparators)]
                    yield from ((str(cause.value), name, number) for name in names for number in numbers)


def _constant(node: ast.expr) -> float:
    """Return the number that an expression is, with its sign; 0 for any other expression."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_constant(node.operand)
    is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
    return float(node.value) if is_number else 0.0  # pyright: ignore[reportAttributeAccessIssue, reportArgumentType]
