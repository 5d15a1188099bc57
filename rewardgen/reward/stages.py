"""Rewards in stages: `next_stage`, a small state machine, is the only memory that a reward can have.

    STAGES = ("approach", "grip", "lift")

    def next_stage(stage, hand_cube, finger_gap, *, reach: float = 0.03):
        near = (stage == 0) & (hand_cube < reach)
        closed = (stage == 1) & (finger_gap < 0.02)
        return torch.where(near, 1, torch.where(closed, 2, stage))

`compute_reward` reads `stage`, the one after this step's transition, and `prev_stage`, the one before it. The stage is
0 at the start of every episode (reward machines: Toro Icarte et al. 2022, doi:10.1613/jair.1.12440).

Loads no torch.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from rewardgen.reward.parsing import functions_named, parse_source, refusal
from rewardgen.store.records import Finding

NEXT_STAGE, STAGES = "next_stage", "STAGES"
STAGE_INPUTS = ("stage", "prev_stage")
"""Inputs that the stages give: the stage after this step's transition, and before it, (N,) int64."""
_MOST = 8
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_ ,.:()/+-]{0,47}")
_EXAMPLE = 'write `STAGES = ("approach", "grip", "lift")`'


def stage_names(source: str) -> tuple[str, ...]:
    """Return the names of a valid reward's stages; empty if it has none."""
    return names_for(source, NEXT_STAGE, STAGES)


def check_stages(tree: ast.Module) -> Iterator[Finding]:
    """Find faults in the form of a reward that defines `next_stage`."""
    for node in functions_named(tree, NEXT_STAGE):
        if "stage" not in [argument.arg for argument in node.args.args]:
            hint = f"write `def {NEXT_STAGE}(stage, ...)`: where no condition holds, the stage stays"
            yield refusal("signature", "stages", f"has a `{NEXT_STAGE}` without `stage`", hint, node.lineno)
        if "prev_stage" in [argument.arg for argument in node.args.args]:
            hint = "take `stage`, which is the stage before this step there"
            yield refusal("signature", "stages", f"has a `{NEXT_STAGE}` with `prev_stage`", hint, node.lineno)
    yield from check_names(tree, STAGES, NEXT_STAGE, "stages", (2, _MOST), _EXAMPLE)


def check_names(
    tree: ast.Module, constant: str, function: str, detector: str, number: tuple[int, int], example: str
) -> Iterator[Finding]:
    """Find faults in the tuple of names, from a least to a largest number, that a function of the reward needs."""
    count = len(functions_named(tree, function))
    if count > 1:
        yield refusal("signature", detector, f"defines `{function}` {count} times", "keep one")
    declared = _declared(tree, constant)
    if declared is None:
        yield refusal("signature", detector, f"has `{function}` but no tuple `{constant}` of names", example)
        return
    names = [part.value if isinstance(part, ast.Constant) else None for part in declared.elts]
    plain = all(isinstance(name, str) and _NAME.fullmatch(name) for name in names)
    least, most = number
    if not (plain and least <= len(names) <= most and len({*names}) == len(names)):
        message = f"has `{constant} = {ast.unparse(declared)[:80]}`, expected {least} to {most} different short names"
        yield refusal("signature", detector, message, example, declared.lineno)


def names_for(source: str, function: str, constant: str) -> tuple[str, ...]:
    """Return the names in the tuple that a function of a valid reward needs; empty without the function."""
    tree = parse_source(source)
    if isinstance(tree, Finding) or not functions_named(tree, function):
        return ()
    declared = _declared(tree, constant)
    return tuple(str(part.value) for part in declared.elts if isinstance(part, ast.Constant)) if declared else ()


def declarations(tree: ast.Module, constant: str) -> list[ast.Assign]:
    """Return the statements at the top level that set a constant."""
    return [
        node
        for node in tree.body
        if isinstance(node, ast.Assign)
        and any(isinstance(one, ast.Name) and one.id == constant for one in node.targets)
    ]


def _declared(tree: ast.Module, constant: str) -> ast.Tuple | ast.List | None:
    """Return the value of a constant, if it is given once and written out."""
    values = [node.value for node in declarations(tree, constant)]
    return values[0] if len(values) == 1 and isinstance(values[0], ast.Tuple | ast.List) else None
