"""Signature of a reward: its inputs, by name, and its tunable constants."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from rewardgen.core.errors import UsageError, nearest
from rewardgen.reward.observation import OBSERVE, check_observation
from rewardgen.reward.parsing import MAX_FINDINGS, functions_named, parse_source, refusal
from rewardgen.reward.stages import NEXT_STAGE, STAGE_INPUTS, check_stages
from rewardgen.reward.vocabulary import INSTEAD
from rewardgen.store.records import Finding

ENTRY = "compute_reward"
"""The name of the function that a reward must define."""


FORMS = (NEXT_STAGE, OBSERVE)
"""Names of the functions that a reward may define beside it."""


class Signature(NamedTuple):
    """Parameters of a reward.

    Attributes:
        inputs: Names of the inputs that callers pass to price: the positional parameters of its functions, in order.
        tunables: Names and defaults of its constants: the keyword-only parameters of its functions, in order.
        functions: Name of `compute_reward` and of those of `FORMS` to their own positional and keyword-only parameters.
        observes: Names of the inputs that callers pass to observe; `action` is what `observe` takes as `prev_action`.
    """

    inputs: tuple[str, ...]
    tunables: dict[str, float]
    functions: dict[str, tuple[tuple[str, ...], tuple[str, ...]]]
    observes: tuple[str, ...]


def read_signature(source: str) -> Signature:
    """Read the signature of a reward.

    Raises:
        UsageError: Invalid syntax, no `compute_reward`, or a keyword-only parameter without a number.
    """
    findings = check_signature(source, None)
    if findings:
        raise UsageError(findings[0].message, findings[0].hint)
    tree = parse_source(source)
    assert isinstance(tree, ast.Module)
    made, functions = _made_inputs(tree), _functions(tree)
    pricing = [each for each in functions if each.name != OBSERVE]
    inputs = dict.fromkeys(part.arg for each in pricing for part in each.args.args if part.arg not in made)
    seen = [part.arg for each in functions if each.name == OBSERVE for part in each.args.args if part.arg not in made]
    return Signature(
        inputs=tuple(inputs),
        tunables={name: value for each in functions for name, value in _tunables(each) if value is not None},
        functions={
            each.name: (tuple(part.arg for part in each.args.args), tuple(part.arg for part in each.args.kwonlyargs))
            for each in functions
        },
        observes=tuple("action" if name == "prev_action" else name for name in seen),
    )


def check_signature(source: str, valid: Sequence[str] | None) -> tuple[Finding, ...]:
    """Check that a reward takes existing inputs, and constants with a number.

    Returns rejections of the gate `signature`, or of `parse` if it does not parse. Without the valid input names of a
    task, only the form is checked.
    """
    tree = parse_source(source)
    return (tree,) if isinstance(tree, Finding) else tuple(islice(_findings(tree, valid), MAX_FINDINGS))


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    """Return `compute_reward`, and then those of `FORMS`."""
    return [*functions_named(tree, ENTRY), *functions_named(tree, *FORMS)]


def _made_inputs(tree: ast.Module) -> tuple[str, ...]:
    """Return the inputs that the program makes; callers never pass them."""
    return STAGE_INPUTS if functions_named(tree, NEXT_STAGE) else ()


def _findings(tree: ast.Module, valid: Sequence[str] | None) -> Iterator[Finding]:
    entries = functions_named(tree, ENTRY)
    if len(entries) > 1:
        yield refusal("signature", "duplicate-entry", f"defines `{ENTRY}` {len(entries)} times", "keep one")
    elif not entries:
        names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        others = (
            f"it defines {', '.join(f'`{name}`' for name in names[:5])}"
            if names
            else "its top level defines no function"
        )
        hint = f"write `def {ENTRY}(...)` at the top level, outside any class"
        yield refusal("signature", "missing-entry", f"defines no function `{ENTRY}`; {others}", hint)
    else:
        for function in _functions(tree):
            yield from _about_inputs(function, None if valid is None else [*valid, *sorted(_made_inputs(tree))])
            yield from _about_tunables(function)
        for name, check in ((NEXT_STAGE, check_stages), (OBSERVE, check_observation)):
            if functions_named(tree, name):
                yield from check(tree)


def _about_inputs(entry: ast.FunctionDef, valid: Sequence[str] | None) -> Iterator[Finding]:
    arguments = entry.args.args
    if not arguments:
        hint = "name the variables that it reads as parameters"
        yield refusal("signature", "no-inputs", "takes no input", hint, entry.lineno)
    first_default = len(arguments) - len(entry.args.defaults)
    for index, argument in enumerate(arguments):
        if index >= first_default:
            message = f"gives the positional parameter `{argument.arg}` a default"
            hint = f"put `*,` before the constants: `def {entry.name}(height, *, weight: float = 1.0)`"
            yield refusal("signature", "default-on-input", message, hint, argument.lineno)
        elif valid is not None and argument.arg not in valid:
            close = nearest(argument.arg, valid)
            current = [name for name in valid if not name.startswith("prev_")]
            listed = f"inputs are {', '.join(current)}{', and `prev_` of each' if len(current) < len(valid) else ''}"
            hint = INSTEAD.get(argument.arg) or (f"did you mean `{close}`? {listed}" if close else listed)
            message = f"takes `{argument.arg}`, which the task does not have"
            yield refusal("signature", "unknown-input", message, hint, argument.lineno)


def _tunables(function: ast.FunctionDef) -> Iterator[tuple[str, float | None]]:
    for argument, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        yield argument.arg, _number(default)


def _about_tunables(function: ast.FunctionDef) -> Iterator[Finding]:
    for argument, (_, value) in zip(function.args.kwonlyargs, _tunables(function), strict=True):
        if value is None:
            message = f"gives the keyword-only parameter `{argument.arg}` no number as its default"
            hint = f"write `{argument.arg}: float = 1.0`, or compute it inside the function"
            yield refusal("signature", "tunable-default", message, hint, argument.lineno)


def _number(node: ast.expr | None) -> float | None:
    try:
        value = ast.literal_eval(node) if node else None
    except (ValueError, TypeError):
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    return None
