"""When two rewards are the same program: a hash blind to comments, formatting and the names of local variables."""

from __future__ import annotations

import ast
import functools
import hashlib
from collections.abc import Iterator

from rewardgen.reward.parsing import parse_source
from rewardgen.reward.signature import ENTRY
from rewardgen.reward.transform import lower
from rewardgen.store.records import Finding


# The whole archive is looked at for every new candidate.
@functools.lru_cache(maxsize=4096)
def source_fingerprint(source: str) -> str:
    """Hash of a reward's normalised syntax tree.

    Comments, docstrings, annotations, imports, the order of the inputs, and the names of variables, helpers and
    constants do not change it; numbers, component names and operations do.

    Args:
        source: The reward's source; text that does not parse is hashed as it is.

    Returns:
        16 hex digits.
    """
    tree = parse_source(source)
    text = source.strip() if isinstance(tree, Finding) else _normalised(tree)
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]


def _normalised(tree: ast.Module) -> str:
    lowered = lower(tree).tree
    inputs = _inputs(lowered)
    bound = dict.fromkeys(name for name in _bound(lowered) if name not in inputs and name != ENTRY)
    _rename(lowered, {name: f"v{index}" for index, name in enumerate(bound)})
    return ast.dump(lowered)


def _inputs(tree: ast.Module) -> set[str]:
    """Names of the entry's inputs, which are also put in order: they are given by name."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == ENTRY:
            node.args.args.sort(key=lambda argument: argument.arg)
            found |= {argument.arg for argument in node.args.args}
    return found


def _bound(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _rename(tree: ast.Module, names: dict[str, str]) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
        elif isinstance(node, ast.FunctionDef):
            node.name = names.get(node.name, node.name)
        elif isinstance(node, ast.arg):
            node.arg = names.get(node.arg, node.arg)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            # Keywords of other functions are theirs; those of the reward's own functions follow their parameters.
            for keyword in node.keywords if node.func.id in names else ():
                keyword.arg = names.get(keyword.arg, keyword.arg) if keyword.arg else None
