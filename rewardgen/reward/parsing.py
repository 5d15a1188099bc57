"""Parse any text as a reward, within bounds on size, depth and time. Nothing is executed here."""

from __future__ import annotations

import ast
import functools
import re
import warnings

from rewardgen.store.records import Finding, Gate

MAX_FINDINGS = 20
"""Most findings about one text."""
_MAX_CHARACTERS = 24_000
_MAX_NODES = 6_000
_MAX_DEPTH = 80
_MAX_BRACKETS = 60
_MAX_BITS = 64
"""Longest integer [bits]; larger ones may overflow a float."""

# Control characters, those that change the reading direction, which can hide code from a reader, and invisible tags.
_HIDDEN = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def refusal(gate: Gate, detector: str, message: str, hint: str, line: int | None = None) -> Finding:
    """Make a rejection of a reward for its text; the message is a verb phrase that follows "the reward"."""
    message = f"the reward {message}"
    return Finding(gate=gate, detector=detector, severity="reject", message=message, hint=hint, line=line)


@functools.lru_cache(maxsize=256)
def parse_source(source: str) -> ast.Module | Finding:
    """Parse any text as the source of a reward, or return its rejection.

    All callers share the tree: copy it before changing it.
    """
    source = source.removeprefix("\ufeff")
    finding = _check_text(source)
    if finding is not None:
        return finding
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
            # Rules that only the compiler knows: `return` outside a function, a parameter named twice.
            compile(tree, "<reward>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return refusal("parse", "syntax", f"does not parse: {error.msg}", "write plain Python 3.11", error.lineno)
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        return refusal("parse", "syntax", f"does not parse: {type(error).__name__}", "write plain, shallow Python")
    return _check_size(tree) or _check_integers(tree) or tree


def functions_named(tree: ast.Module, *names: str) -> list[ast.FunctionDef]:
    """Return the functions of these names at the top level."""
    return [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in names]


def _check_text(source: str) -> Finding | None:
    if len(source) > _MAX_CHARACTERS:
        message = f"is {len(source)} characters long, the limit is {_MAX_CHARACTERS}"
        return refusal("parse", "too-long", message, "keep the terms that matter")
    if not source.strip():
        return refusal("parse", "empty", "is empty", "define `compute_reward`")
    hidden = _HIDDEN.search(source) or _SURROGATE.search(source)
    if hidden is not None:
        line = source.count("\n", 0, hidden.start()) + 1
        code = f"U+{ord(hidden.group()):04X}"
        return refusal("parse", "hidden-character", f"holds the control character {code}", "write plain text", line)
    if _bracket_depth(source) > _MAX_BRACKETS:
        return refusal("parse", "too-deep", f"nests more than {_MAX_BRACKETS} brackets", "give the parts names")
    return None


def _bracket_depth(source: str) -> int:
    depth = deepest = 0
    for character in source:
        if character in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in ")]}":
            depth = max(0, depth - 1)
    return deepest


def _check_size(tree: ast.Module) -> Finding | None:
    level: list[ast.AST] = [tree]
    nodes = depth = 0
    while level:
        nodes += len(level)
        depth += 1
        if nodes > _MAX_NODES:
            message = f"has more than {_MAX_NODES} syntax nodes"
            return refusal("parse", "too-long", message, "keep the terms that matter")
        if depth > _MAX_DEPTH:
            message = f"nests expressions more than {_MAX_DEPTH} deep"
            return refusal("parse", "too-deep", message, "give the parts names")
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return None


def _check_integers(tree: ast.Module) -> Finding | None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value.bit_length() > _MAX_BITS:
            message = f"holds an integer of {node.value.bit_length()} bits"
            return refusal("parse", "forbidden-literal", message, "use a float, such as `1e12`", node.lineno)
    return None
