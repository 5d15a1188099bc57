"""Numbers that a reward observes: finite, independent of the batch, of a usual size, and not always the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from rewardgen.critic.probe.contract import check_contract
from rewardgen.critic.probe.probed_reward import ProbedReward, finding, is_flat
from rewardgen.critic.probe.reward_source import RewardSource
from rewardgen.reward.observation import seen_besides
from rewardgen.reward.program import Program
from rewardgen.sim.transitions import TransitionSet
from rewardgen.store.records import Finding

_LARGE = 1e3
"""Size from which on a number is far from those of observations."""


def eyes_on(program: Program, transitions: TransitionSet, source: RewardSource) -> ProbedReward:
    """Return what policies see on recorded transitions, as components of a reward; each row is in a stage of its own.

    Raises:
        RewardError: `observe` fails.
    """
    last = len(program.staged.stages) - 1 if program.staged else 0
    drawn = torch.randint(last + 1, (len(transitions),), generator=torch.Generator().manual_seed(0))
    facts = transitions.facts.model_copy(update={"bounds": {**transitions.facts.bounds, "stage": float(last)}})
    transitions = replace(transitions, inputs={**transitions.inputs, "stage": drawn}, facts=facts)
    names, reads = seen_besides(program.source), (*program.observes, "stage")

    def call(rows: dict[str, Tensor]) -> dict[str, Tensor]:
        return dict(zip(names, program.look(rows, rows["stage"]).T, strict=True))

    columns = call({name: transitions.inputs[name] for name in reads})
    return ProbedReward(call, reads, transitions, source, columns)


def check_eyes(eyes: ProbedReward) -> Iterator[Finding]:
    """Find the reasons why no policy can learn from what it sees.

    Raises:
        RewardError: `observe` fails in the second call on the same transitions.
    """
    for fault in check_contract(eyes, signal=False):
        yield fault.model_copy(update={"message": f"in `observe`, {fault.message}", "component": None})


def check_observation(reward: ProbedReward) -> Iterator[Finding]:
    """Find columns that are always the same, or far larger than observations are."""
    for name, value in reward.eyes.components.items() if reward.eyes else ():
        largest = float(value.abs().max())
        if largest > _LARGE:
            message = f"`observe` gives `{name}` up to {largest:.4g} on recorded transitions"
            yield finding("observed-large", message, "divide it by its usual size", {"largest": largest})
        if is_flat(value):
            message = f"`observe` gives `{name}` = {float(value.mean()):.4g} on all recorded transitions"
            hint = "leave the column out, or check its threshold"
            yield finding("observed-constant", message, hint, {"mean": float(value.mean())})
