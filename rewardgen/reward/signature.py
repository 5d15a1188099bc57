"""Signature of a reward: its inputs, by name, and its tunable constants."""

from __future__ import annotations

import ast
import importlib
import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from rewardgen.core.errors import UsageError, nearest
from rewardgen.core.registry import Registry
from rewardgen.reward.parsing import MAX_FINDINGS, parse_source, refusal
from rewardgen.reward.vocabulary import INSTEAD
from rewardgen.store.records import Finding

ENTRY = "compute_reward"
"""The name of the function that a reward must define."""


class Form(NamedTuple):
    """A form of reward beside the plain function.

    Attributes:
        inputs: Inputs that the program makes, such as `stage`; callers never pass them.
        program: `module:Class`; the class takes source, signature and compiled code, as `Program` does.
    """

    inputs: tuple[str, ...]
    program: str

    def load(self) -> Any:
        """Import the class, which needs torch."""
        module, _, name = self.program.partition(":")
        return getattr(importlib.import_module(module), name)


FORMS: Registry[Form] = Registry("form of reward")
"""Forms by the name of a function that only their sources define; `rewardgen.reward.pricing` says how to add one."""


class Signature(NamedTuple):
    """Parameters of a reward.

    Attributes:
        inputs: Names of its positional parameters, in order.
        tunables: Names and defaults of its keyword-only parameters, in order.
        line: Line of its `def`.
    """

    inputs: tuple[str, ...]
    tunables: dict[str, float]
    line: int


def read_signature(source: str) -> Signature:
    """Read the signature of a reward.

    Args:
        source: The reward's source.

    Raises:
        UsageError: Invalid syntax, no `compute_reward`, or a keyword-only parameter without a number.
    """
    entry = _entry(source)
    defaults = zip(entry.args.kwonlyargs, entry.args.kw_defaults, strict=True)
    tunables = {argument.arg: value for argument, default in defaults if (value := _number(default)) is not None}
    return Signature(tuple(argument.arg for argument in entry.args.args), tunables, entry.lineno)


def check_signature(source: str, valid: Sequence[str] | None) -> tuple[Finding, ...]:
    """Check that a reward takes existing inputs, and constants with a number.

    Args:
        source: The reward's source.
        valid: The input names of the task; None to check only the form.

    Returns:
        Rejections of the gate `signature`, or of `parse` if it does not parse.
    """
    tree = parse_source(source)
    return (tree,) if isinstance(tree, Finding) else tuple(islice(_findings(tree, valid), MAX_FINDINGS))


def _entry(source: str) -> ast.FunctionDef:
    findings = check_signature(source, None)
    if findings:
        raise UsageError(findings[0].message, findings[0].hint)
    tree = parse_source(source)
    assert isinstance(tree, ast.Module)
    return _entries(tree)[0]


def _entries(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == ENTRY]


def _findings(tree: ast.Module, valid: Sequence[str] | None) -> Iterator[Finding]:
    entries = _entries(tree)
    if len(entries) > 1:
        yield refusal("signature", "duplicate-entry", f"defines `{ENTRY}` {len(entries)} times", "keep one")
    elif not entries:
        names = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        others = f"it defines {', '.join(f'`{name}`' for name in names[:5])}" if names else "it defines no function"
        hint = f"write `def {ENTRY}(...)` at the top level, outside any class"
        yield refusal("signature", "missing-entry", f"defines no function `{ENTRY}`; {others}", hint)
    else:
        own_inputs = {name for form in _forms(tree) for name in form.inputs}
        yield from _about_inputs(entries[0], None if valid is None else [*valid, *sorted(own_inputs)])
        yield from _about_tunables(entries[0].args)


def _forms(tree: ast.Module) -> Iterator[Form]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in FORMS:
            yield FORMS.get(node.name)


def _about_inputs(entry: ast.FunctionDef, valid: Sequence[str] | None) -> Iterator[Finding]:
    arguments = entry.args.args
    if not arguments:
        hint = "name the variables that it reads as parameters"
        yield refusal("signature", "no-inputs", "takes no input", hint, entry.lineno)
    first_default = len(arguments) - len(entry.args.defaults)
    for index, argument in enumerate(arguments):
        if index >= first_default:
            message = f"gives the positional parameter `{argument.arg}` a default"
            hint = "put `*,` before the constants: `def compute_reward(height, *, weight: float = 1.0)`"
            yield refusal("signature", "default-on-input", message, hint, argument.lineno)
        elif valid is not None and argument.arg not in valid:
            close = nearest(argument.arg, valid)
            current = [name for name in valid if not name.startswith("prev_")]
            listed = f"inputs are {', '.join(current)}{', and `prev_` of each' if len(current) < len(valid) else ''}"
            hint = INSTEAD.get(argument.arg) or (f"did you mean `{close}`? {listed}" if close else listed)
            message = f"takes `{argument.arg}`, which the task does not have"
            yield refusal("signature", "unknown-input", message, hint, argument.lineno)


def _about_tunables(arguments: ast.arguments) -> Iterator[Finding]:
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if _number(default) is None:
            message = f"gives the keyword-only parameter `{argument.arg}` no number as its default"
            hint = f"write `{argument.arg}: float = 1.0`, or compute it inside the function"
            yield refusal("signature", "tunable-default", message, hint, argument.lineno)


def _number(node: ast.expr | None) -> float | None:
    sign = 1.0
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        sign = -sign if isinstance(node.op, ast.USub) else sign
        node = node.operand
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        value = sign * float(node.value)
        return value if math.isfinite(value) else None
    return None
