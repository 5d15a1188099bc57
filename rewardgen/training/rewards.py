"""Pricing transitions with the candidates' rewards, and finding out which slice and step a failure belongs to.

A reward that fails takes down its own slices only. Rewards are called once per rollout, not once per step: they are
functions of one transition, so time is just more rows.

Shapes: T steps, S slices, N worlds per slice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from rewardgen.records import FailureKind, RewardSpec, SliceSpec
from rewardgen.reward.program import Program, RewardError, compile_reward

Inputs = Mapping[str, Tensor]


class Fault(NamedTuple):
    """A reward that failed in one slice.

    Args:
        slice: Index of the slice.
        step: Index of the first failing control step in what was priced.
        kind: `exception`, `shape` or `non-finite`.
        message: What happened, with the reward's line where it is known.
    """

    slice: int
    step: int
    kind: FailureKind
    message: str


@dataclass(frozen=True)
class Priced:
    """Rewards of T steps of all worlds.

    Args:
        total: Sum of the components, (T, S, N) float32; zero in slices that failed or were already disabled.
        components: For each slice, component name to (T, N); empty where there is none.
        faults: The slices that failed.
    """

    total: Tensor
    components: list[dict[str, Tensor]]
    faults: list[Fault]


class _Group(NamedTuple):
    """The neighbouring slices first..last-1 of one candidate."""

    reward: RewardSpec
    program: Program | None
    problem: str
    first: int
    last: int


class Rewards:
    """The rewards of a batch of slices.

    Args:
        rewards: The programs.
        slices: The batch's slices, those of one candidate side by side.
        valid: Every input that the task offers.
    """

    def __init__(self, rewards: Sequence[RewardSpec], slices: Sequence[SliceSpec], valid: Collection[str]) -> None:
        self._slices = len(slices)
        by_id = {reward.candidate_id: reward for reward in rewards}
        self._groups = [_group(by_id[id], valid, first, last) for id, first, last in _runs(slices)]

    @property
    def input_names(self) -> list[str]:
        """Every input that some reward reads, and `action`, in alphabetical order."""
        return sorted({"action", *(name for group in self._groups if group.program for name in group.program.inputs)})

    def price(self, inputs: Inputs, active: Sequence[bool]) -> Priced:
        """Call every candidate's reward on its slices.

        Args:
            inputs: Name to (T, S * N, ...). Rewards are given copies.
            active: Which slices are priced at all.
        """
        steps, worlds = inputs["action"].shape[:2]
        number = worlds // self._slices
        total = torch.zeros(steps, self._slices, number)
        components: list[dict[str, Tensor]] = [{} for _ in range(self._slices)]
        faults: list[Fault] = []
        for group in self._groups:
            if any(active[group.first : group.last]):
                found, failed = _price_group(group, inputs, number)
                faults += [fault for fault in failed if active[fault.slice]]
                for index, parts in found.items():
                    if active[index]:
                        components[index] = parts
                        total[:, index] = sum(parts.values(), torch.zeros(()))
        return Priced(total, components, faults)


def _runs(slices: Sequence[SliceSpec]) -> Iterator[tuple[str, int, int]]:
    """Candidate id, first and one past the last index of each run of slices of one candidate."""
    first = 0
    for index in range(1, len(slices) + 1):
        if index == len(slices) or slices[index].candidate_id != slices[first].candidate_id:
            yield slices[first].candidate_id, first, index
            first = index


def _group(reward: RewardSpec, valid: Collection[str], first: int, last: int) -> _Group:
    try:
        program = compile_reward(reward.source)
    except RewardError as error:
        return _Group(reward, None, str(error), first, last)
    unknown = [name for name in program.inputs if name not in valid]
    problem = f"the task has no input `{unknown[0]}`" if unknown else ""
    return _Group(reward, None if unknown else program, problem, first, last)


def _price_group(group: _Group, inputs: Inputs, number: int) -> tuple[dict[int, dict[str, Tensor]], list[Fault]]:
    """Components of each sound slice of a candidate, and the faults of the others."""
    members = range(group.first, group.last)
    if group.program is None:
        return {}, [Fault(index, 0, "exception", group.problem) for index in members]
    names = {"action", *group.program.inputs}
    own = {name: inputs[name][:, group.first * number : group.last * number] for name in names}
    try:
        return _split(_call(group, own), group, number), []
    except RewardError:
        return _price_one_by_one(group, own, number)


def _price_one_by_one(group: _Group, own: Inputs, number: int) -> tuple[dict[int, dict[str, Tensor]], list[Fault]]:
    """After a failure of the whole candidate: which of its slices fails, and at which step first."""
    found: dict[int, dict[str, Tensor]] = {}
    faults: list[Fault] = []
    for index in range(group.first, group.last):
        start = (index - group.first) * number
        part = {name: value[:, start : start + number] for name, value in own.items()}
        try:
            found[index] = _call(group, part)
        except RewardError as error:
            step, first = _first_failure(group, part, error)
            faults.append(Fault(index, step, first.kind, str(first)))
    return found, faults


def _first_failure(group: _Group, part: Inputs, error: RewardError) -> tuple[int, RewardError]:
    """The first step that fails when priced by itself; the last step if only all of them together fail."""
    steps = len(part["action"])
    for step in range(steps):
        try:
            _call(group, {name: value[step : step + 1] for name, value in part.items()})
        except RewardError as first:
            return step, first
    return steps - 1, error


def _call(group: _Group, part: Inputs) -> dict[str, Tensor]:
    """Components (T, n) of inputs (T, n, ...).

    Raises:
        RewardError: The reward failed, or its components are finite but their sum is not.
    """
    assert group.program is not None
    steps, worlds = part["action"].shape[:2]
    # A reward may write into what it is given; what it is given must be nobody else's.
    rows = {name: part[name].flatten(0, 1).clone() for name in group.program.inputs}
    with torch.no_grad():
        components = group.program(rows, group.reward.tunables)
    if not bool(sum(components.values(), torch.zeros(())).isfinite().all()):
        raise RewardError("the sum of the components is not finite", kind="non-finite")
    return {name: value.view(steps, worlds) for name, value in components.items()}


def _split(components: dict[str, Tensor], group: _Group, number: int) -> dict[int, dict[str, Tensor]]:
    return {
        index: {
            name: value[:, (index - group.first) * number : (index - group.first + 1) * number]
            for name, value in components.items()
        }
        for index in range(group.first, group.last)
    }
