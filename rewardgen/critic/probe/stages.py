"""Stages of a reward: each can be entered, none is over before it begins, and advancing pays.

Rows lead from stage a to stage b if `next_stage` goes from a to b there; tried are all recorded rows, and both
situations of the task's pairs, in every stage.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from rewardgen.critic.probe.probed_reward import Inputs, ProbedReward, finding
from rewardgen.store.records import Finding

if TYPE_CHECKING:
    from rewardgen.reward.contract import Components
    from rewardgen.reward.program import StagedProgram

_NOTABLE, _CLEAR = 0.02, 0.1
"""Share of the reward's spread from which on a loss or a gain is warned of, and rejected."""
_MOSTLY, _NEARLY_ALWAYS = 0.5, 0.95


class Machine:
    """The stages of a reward."""

    def __init__(self, program: StagedProgram) -> None:
        self._program = program
        self.names = program.stages

    def pay(self, inputs: Inputs, before: int, after: int | Tensor) -> Components:
        """Return the pay of rows, (n,) each, for a step from one stage to another, or to each row's own, (n,)."""
        prev_stage = torch.full((len(next(iter(inputs.values()))),), before)
        stage = after if isinstance(after, Tensor) else torch.full_like(prev_stage, after)
        return self._program({**inputs, "stage": stage, "prev_stage": prev_stage})

    def next_stage(self, before: int, inputs: Inputs) -> Tensor:
        """Return the stage after rows, (n,), for a stage before them."""
        stage = torch.full((len(next(iter(inputs.values()))),), before)
        return self._program.next_stage(stage, inputs)


def check_stages(reward: ProbedReward) -> Iterator[Finding]:
    """Find stages that cannot be entered or are over at once, and advances that lower the pay or can be repeated.

    Raises:
        RewardError: The reward fails in a stage.
    """
    machine = reward.machine
    if machine is None:
        return
    moves = reward.moves
    entered = {after for before, after in moves if before != after}
    for index in range(1, len(machine.names)):
        if index not in entered:
            name, states = machine.names[index], len(reward.transitions)
            message = f"no recorded or declared state leads to stage `{name}` from any other, of {states} tried"
            hint = "compare the thresholds in `next_stage` with the ranges of the variables"
            yield finding("unreached-stage", message, hint, {"stage": float(index), "states": float(states)})
    lengths = torch.bincount(reward.transitions.episode)
    starts = (lengths.cumsum(0) - lengths)[lengths > 0]
    first = machine.next_stage(0, {name: value[starts] for name, value in reward.inputs.items()})
    share = float((first > 0).float().mean())
    if share > _MOSTLY:
        message = f"stage `{machine.names[0]}` is over after the first step in {100 * share:.0f} % of recorded episodes"
        hint = "let it end by a condition that does not hold at the start"
        yield finding("stage-skipped", message, hint, {"share": share})
    yield from _about_advances(reward, machine)
    yield from _about_returns(reward, machine)


def _about_advances(reward: ProbedReward, machine: Machine) -> Iterator[Finding]:
    """Find advances after which the same state pays less: a policy does better by not advancing."""
    for (before, after), rows in reward.moves.items():
        if after <= before:
            continue
        gain = machine.pay(rows, after, after).total - machine.pay(rows, before, before).total
        lost = float((gain < -_NOTABLE * reward.spread).float().mean())
        typical = float(gain.median())
        if lost > _MOSTLY and typical < 0.0:
            one, other = machine.names[before], machine.names[after]
            message = (
                f"where stage `{one}` ends and `{other}` begins, the pay of a step falls by {-typical:.4g} in"
                f" {100 * lost:.0f} % of the states tried, so staying in `{one}` pays more"
            )
            hint = f"add to `{other}` at least what `{one}` paid at its end"
            evidence = {"difference": typical, "share": lost, "spread": reward.spread}
            certain = lost > _NEARLY_ALWAYS and typical < -_CLEAR * reward.spread
            yield finding("stage-costs", message, hint, evidence, severity="reject" if certain else "warn")


def _about_returns(reward: ProbedReward, machine: Machine) -> Iterator[Finding]:
    """Find stages whose pay for entering is kept on the way back, and so can be collected again and again."""
    for before, after in combinations(range(len(machine.names)), 2):
        forth, back = reward.moves.get((before, after)), reward.moves.get((after, before))
        if forth is None or back is None:
            continue
        entering = machine.pay(forth, before, after).total - machine.pay(forth, after, after).total
        leaving = machine.pay(back, after, before).total - machine.pay(back, before, before).total
        kept = float(entering.median() + leaving.median())
        if kept > _NOTABLE * reward.spread:
            one, other = machine.names[before], machine.names[after]
            message = f"going from stage `{one}` to `{other}` and back pays {kept:.4g} each time"
            hint = "pay `stage - prev_stage`, which the way back costs, or let `next_stage` never go back"
            severity = "reject" if kept > _CLEAR * reward.spread else "warn"
            yield finding("stage-farming", message, hint, {"kept": kept, "spread": reward.spread}, severity=severity)
