"""Pricing transitions with the candidates' rewards.

A reward that fails takes down its own slices only; to return other components than before is a failure too. Rewards
are called once per rollout, not once per step: they are functions of one transition, so time is just more rows.

Shapes: T steps, S slices, N worlds per slice.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from rewardgen.reward.component_names import HINT, unshared
from rewardgen.reward.identity import structure_fingerprint
from rewardgen.reward.program import Program, RewardError, compile_reward
from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.training.ppo.families import Family, Fault, Inputs, Member


@dataclass(frozen=True)
class Priced:
    """Rewards of T steps of all worlds.

    Args:
        total: Sum of the components, (T, S, N) float32; zero in slices that failed or were already disabled.
        components: For each slice, component name to (T, N); empty where there is none.
        faults: The slices that failed.
    """

    total: Tensor
    components: list[Mapping[str, Tensor]]
    faults: list[Fault]


class Rewards:
    """The rewards of a batch of slices.

    Args:
        rewards: The programs.
        slices: The batch's slices.
        valid: Every input that the task offers.
    """

    def __init__(self, rewards: Sequence[RewardSpec], slices: Sequence[SliceSpec], valid: Collection[str]) -> None:
        self._slices = len(slices)
        self._problems: dict[int, str] = {}
        self._names: dict[int, frozenset[str]] = {}
        self._families: list[Family] = []
        by_id = {reward.candidate_id: reward for reward in rewards}
        members: dict[str, dict[int, RewardSpec]] = {}
        for index, each in enumerate(slices):
            reward = by_id[each.candidate_id]
            members.setdefault(structure_fingerprint(reward.source), {})[index] = reward
        for family in members.values():
            self._admit(family, valid)

    def _admit(self, members: Mapping[int, RewardSpec], valid: Collection[str]) -> None:
        sound: dict[int, Member] = {}
        for index, reward in members.items():
            try:
                sound[index] = Member(_compiled(reward.source, valid), reward.tunables)
            except RewardError as error:
                self._problems[index] = str(error)
        if sound:
            self._families.append(Family(sound))

    @property
    def input_names(self) -> list[str]:
        """Every input that some reward reads, and `action`, in alphabetical order."""
        return sorted({"action", *(name for family in self._families for name in family.inputs)})

    def price(self, inputs: Inputs, active: Sequence[bool]) -> Priced:
        """Call every candidate's reward on its slices.

        Args:
            inputs: Name to (T, S * N, ...). Rewards are given copies.
            active: Which slices are priced at all.
        """
        steps, worlds = inputs["action"].shape[:2]
        total = torch.zeros(steps, self._slices, worlds // self._slices)
        components: list[Mapping[str, Tensor]] = [{} for _ in range(self._slices)]
        faults = [Fault(index, 0, "exception", text) for index, text in self._problems.items() if active[index]]
        by_slice = {name: value.unflatten(1, (self._slices, -1)) for name, value in inputs.items()}
        for family in self._families:
            found, failed = family.price(by_slice, [index for index in family.slices if active[index]])
            faults += failed
            for index, parts in found.items():
                names = unshared(self._names.setdefault(index, frozenset(parts)), parts)
                if names:
                    faults.append(Fault(index, steps - 1, "shape", _renamed(names)))
                else:
                    components[index] = parts
                    total[:, index] = parts.total
        return Priced(total, components, faults)


def _renamed(names: str) -> str:
    return f"component names must not change during training, and {names} is not in every call: {HINT}"


def _compiled(source: str, valid: Collection[str]) -> Program:
    program = compile_reward(source)
    unknown = [name for name in program.inputs if name not in valid]
    if unknown:
        raise RewardError(f"the task has no input `{unknown[0]}`")
    return program
