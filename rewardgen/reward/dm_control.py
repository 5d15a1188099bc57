"""Calls of `tolerance` as dm_control has it, with both bounds as one argument, and how they are written here.

Here the bounds are two numbers, each of which may be a constant to tune or one value per world; so the third argument
by place is the upper bound, where dm_control has the margin, and a call cannot be both.
"""

from __future__ import annotations

import ast

_AFTER_BOUNDS = ("margin", "sigmoid", "value_at_margin")


def bounds_of(call: ast.Call) -> ast.expr | None:
    """The argument of a call of `tolerance` that is surely both bounds; None if there is none.

    Args:
        call: The call.
    """
    named = {each.arg: each.value for each in call.keywords}
    second = call.args[1] if len(call.args) > 1 else named.get("lower")
    return second if isinstance(second, ast.Tuple | ast.List) else named.get("bounds")


def apart(call: ast.Call, bounds: ast.expr) -> str:
    """What to write instead of such a call: the same one with `lower` and `upper`.

    Args:
        call: The call.
        bounds: The argument that is both bounds.
    """
    pair = bounds.elts if isinstance(bounds, ast.Tuple | ast.List) and len(bounds.elts) == 2 else _halves(bounds)
    named = [ast.keyword(name, value) for name, value in zip(("lower", "upper"), pair, strict=True)]
    named += [ast.keyword(name, value) for name, value in zip(_AFTER_BOUNDS, call.args[2:], strict=False)]
    given = {"bounds", *(each.arg for each in named)}
    named += [each for each in call.keywords if each.arg not in given]
    written = ast.Call(ast.Name("tolerance", ast.Load()), call.args[:1], named)
    return f"write `{ast.unparse(written)[:160]}`"


def _halves(bounds: ast.expr) -> list[ast.expr]:
    return [ast.Subscript(bounds, ast.Constant(place), ast.Load()) for place in (0, 1)]
