"""Rewards with eyes: `observe` returns numbers that policies see besides the task's own observation.

    OBSERVED = ("distance", "last push")

    def observe(hand_cube, prev_action, stage):
        return torch.stack((hand_cube, prev_action[:, 0]), -1)

`observe` reads variables of the present state, `prev_` of each, `prev_action`, which led there, and `stage` of a reward
with stages. Before an episode's first step, `prev_` of a variable is its present value and `prev_action` is zero.
Reward and observation are designed together in LIMEN (2025).

Loads no torch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rewardgen.reward.parsing import functions_named, parse_source, refusal
from rewardgen.reward.stages import check_names, declarations, names_for, stage_names
from rewardgen.store.records import Finding

OBSERVE, OBSERVED = "observe", "OBSERVED"
_MOST = 16
_EXAMPLE = f'name its columns: `{OBSERVED} = ("distance", "last push")`'
_NO_INPUTS = {
    "action": "take `prev_action`, the action that led to the present state: the policy has not chosen the next one",
    "prev_stage": "take `stage`, the present one",
}


def observed_names(source: str) -> tuple[str, ...]:
    """Return the names of the numbers that a valid reward's `observe` returns; empty if it has none."""
    return names_for(source, OBSERVE, OBSERVED)


def seen_besides(source: str) -> tuple[str, ...]:
    """Return the names of all numbers that policies see after the task's observation: stages, then `OBSERVED`."""
    return (*stage_names(source), *observed_names(source))


def without_observation(source: str) -> str:
    """Return a valid reward without its `observe` and `OBSERVED`, the rest as it is written."""
    tree, lines = parse_source(source), source.splitlines(keepends=True)
    assert not isinstance(tree, Finding)
    for node in (*functions_named(tree, OBSERVE), *declarations(tree, OBSERVED)):
        lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    return "".join(lines).strip() + "\n"


def eyes_text(source: str) -> str:
    """Return sentences on what policies see besides the task's observation; empty if they see no more."""
    stages, observed = stage_names(source), observed_names(source)
    parts = []
    if stages:
        parts.append(f"{len(stages)} numbers, 1 for the present stage: {', '.join(stages)}")
    if observed:
        parts.append(f"{len(observed)} of `{OBSERVE}`: {', '.join(f'`{name}`' for name in observed)}")
    return f"Observations end with {'; then '.join(parts)}." if parts else ""


def check_observation(tree: ast.Module) -> Iterator[Finding]:
    """Find faults in the form of a reward that defines `observe`."""
    arguments = [argument for node in functions_named(tree, OBSERVE) for argument in node.args.args]
    for argument in (argument for argument in arguments if argument.arg in _NO_INPUTS):
        message = f"has an `{OBSERVE}` with `{argument.arg}`"
        yield refusal("signature", "observation", message, _NO_INPUTS[argument.arg], argument.lineno)
    yield from check_names(tree, OBSERVED, OBSERVE, "observation", (1, _MOST), _EXAMPLE)
