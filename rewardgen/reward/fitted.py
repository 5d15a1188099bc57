"""Source of a fitted reward: a designed reward, and its components with fitted weights.

The designed `compute_reward` gets another name. A new `compute_reward` follows, which calls it and weights its
components in plain sight. Another fit replaces the weights, so that nothing nests.
"""

from __future__ import annotations

import ast
import copy
import re
import textwrap
from collections.abc import Mapping
from itertools import chain, count
from typing import NamedTuple

from rewardgen.core.errors import UsageError
from rewardgen.reward.parsing import parse_source
from rewardgen.reward.signature import ENTRY, read_signature

RESIDUAL, SPARSE = "residual", "sparse"
_DESIGNED, _SPARSE = "designed_reward", "sparse_reward"
_WEIGHT = re.compile(r'^        "(\w+)": ([\d.e+-]+) \* ', re.MULTILINE)


class FittedReward(NamedTuple):
    """A designed reward with weights for its components.

    Attributes:
        designed: Source of the designed reward.
        weights: Component to its positive weight; components without one are left out.
        has_total: True if the designed reward returns `(total, components)`. `RESIDUAL` is their difference.
        sparse: Source of the task's sparse reward, a single function, which is the component `SPARSE`; or empty.
        sparse_parts: Components of the sparse reward.
    """

    designed: str
    weights: Mapping[str, float]
    has_total: bool = False
    sparse: str = ""
    sparse_parts: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """Source in the reward language, unless names of the designed reward and of this module collide."""
        designed = self.designed.removeprefix("\ufeff").replace("\r\n", "\n").strip("\n")
        name = next(name for number in chain([""], count(2)) if (name := f"{_DESIGNED}{number}") not in designed)
        arguments = copy.deepcopy(_entry(designed).args)
        inputs = [argument.arg for argument in arguments.args]
        passed = ", ".join([*inputs, *(f"{constant.arg}={constant.arg}" for constant in arguments.kwonlyargs)])
        body = [
            f'"""Components of `{name}`, with weights fitted to recorded episodes."""',
            f"{'total, ' if self.has_total else ''}parts = {name}({passed})",
        ]
        functions, rows = [_renamed(designed, name)], {part: f'parts["{part}"]' for part in self.weights}
        if self.has_total and RESIDUAL in rows:
            rows[RESIDUAL] = "(total - sum(parts.values()))"
        if self.sparse:
            own = [argument.arg for argument in _entry(self.sparse).args.args]
            arguments.args += [ast.arg(input) for input in own if input not in inputs]
            functions.append(_renamed(self.sparse.strip("\n"), _SPARSE))
            body.append(f"{SPARSE} = {_SPARSE}({', '.join(own)})")
            terms = " + ".join(f'{SPARSE}["{part}"]' for part in self.sparse_parts)
            rows[SPARSE] = f"({terms})"
        head = [f"def {ENTRY}({ast.unparse(arguments)}):", *(f"    {line}" for line in body)]
        returned = [f'        "{part}": {self.weights[part]!r} * {row},' for part, row in rows.items()]
        functions.append("\n".join([*map(_wrapped, head), "    return {", *returned, "    }"]))
        return "\n\n\n".join(functions) + "\n"


def read_fitted(source: str) -> FittedReward | None:
    """Read a source of `FittedReward.source`; None for any other text."""
    head, _, tail = source.rpartition(f"\n\n\ndef {ENTRY}(")
    call = re.search(rf"parts = ({_DESIGNED}\d*)\(", tail)
    if not call:
        return None
    designed, sparse = head, ""
    if f"{SPARSE} = {_SPARSE}(" in tail:
        designed, _, sparse = head.rpartition(f"\n\n\ndef {_SPARSE}(")
    fitted = FittedReward(
        designed.replace(call[1], ENTRY, 1) + "\n",
        {name: float(weight) for name, weight in _WEIGHT.findall(tail)},
        "    total, parts = " in tail,
        f"def {ENTRY}({sparse}\n" if sparse else "",
        tuple(re.findall(rf'{SPARSE}\["(\w+)"\]', tail)),
    )
    try:
        return fitted if fitted.source == source else None
    except UsageError:
        return None


def _entry(source: str) -> ast.FunctionDef:
    """Return the function `compute_reward`; raise `UsageError` without a valid one."""
    read_signature(source)
    tree = parse_source(source)
    assert isinstance(tree, ast.Module)
    return next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == ENTRY)


def _renamed(source: str, name: str) -> str:
    """Rename `compute_reward` where it is defined."""
    lines, index = source.split("\n"), _entry(source).lineno - 1
    lines[index] = lines[index].replace(ENTRY, name, 1)
    return "\n".join(lines)


def _wrapped(line: str) -> str:
    return textwrap.fill(line, 100, subsequent_indent=8 * " ", break_long_words=False, break_on_hyphens=False)
