"""The syntax of the reward language: its Python constructs, and what to write instead of the others. Data only."""

from __future__ import annotations

import ast

PLAIN: tuple[type[ast.AST], ...] = (
    *(ast.Load, ast.Store, ast.Expr, ast.Pass, ast.Return, ast.If, ast.Break, ast.Continue),
    *(ast.BoolOp, ast.And, ast.Or, ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp),
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult),
    *(ast.BitAnd, ast.BitOr, ast.BitXor, ast.Invert, ast.Not, ast.UAdd, ast.USub),
    *(ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is, ast.IsNot, ast.In, ast.NotIn),
    *(ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.Starred),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)
"""Allowed as they are, wherever Python allows them; their parts are checked."""

AT_TOP_LEVEL = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Assign, ast.AnnAssign)

SHAPE_METHODS = frozenset({"dim", "size", "numel"})
"""Methods of a tensor that tell of its shape, not of what it holds: an `if` may ask for them."""

WHOLE_BATCH = "use a torch function over the whole batch, or a `for` over a short literal range"
"""Instead of what may run for long."""

_GUARD = "guard the value instead, as with `.clamp(min=1e-6)` or `torch.where`"
_PURE = "pass values as parameters and return them: a reward has no state"

REFUSED: dict[str, tuple[str, str]] = {
    "While": ("a `while` loop", WHOLE_BATCH),
    "AsyncFor": ("an `async for`", WHOLE_BATCH),
    "Try": ("`try`", _GUARD),
    "TryStar": ("`try`", _GUARD),
    "Raise": ("`raise` in an unusual way", 'write `raise ValueError("...")`'),
    "ClassDef": ("a class", "write functions: `compute_reward` and helpers"),
    "Global": ("`global`", _PURE),
    "Nonlocal": ("`nonlocal`", _PURE),
    "Yield": ("`yield`", "return the components in one dict"),
    "YieldFrom": ("`yield from`", "return the components in one dict"),
    "Await": ("`await`", "write a plain function"),
    "AsyncFunctionDef": ("an `async` function", "write a plain function"),
    "AsyncWith": ("an `async with`", "write a plain function"),
    "With": ("`with`", "drop it; only `with torch.no_grad():` is allowed, and not needed"),
    "NamedExpr": ("`:=`", "assign on a line of its own"),
    "Delete": ("`del`", "drop it"),
    "Match": ("`match`", "use `if` and `else`, or torch.where"),
    "Lambda": (
        "a lambda used as a value",
        "name it first, as in `scale = lambda x: 2.0 * x`, and call it by that name",
    ),
    "LShift": ("`<<`", "multiply by a power of two"),
    "RShift": ("`>>`", "divide by a power of two"),
    "Interactive": ("an interactive statement", "write a function"),
}
"""Class name of a construct to what it is called and what to write instead."""
