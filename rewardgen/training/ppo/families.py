"""Pricing the slices of rewards that are one program with different constants, and finding out who fails and when.

Shapes: T steps, S slices, N worlds per slice, R rows of one call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rewardgen.reward.components import Components
from rewardgen.reward.program import Program, RewardError
from rewardgen.store.records import FailureKind

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


class Member(NamedTuple):
    """The reward of one slice.

    Args:
        program: Its program.
        overrides: Values for some of the program's tunable constants; the defaults serve the rest.
    """

    program: Program
    overrides: Mapping[str, float]


class Family:
    """Slices whose rewards are one program but for the numbers of its tunable constants.

    Slices with equal constants are priced by one call. So are all slices, with the constants as tensors, once that was
    seen to give the same as a call for each: a program may branch on a constant, or multiply it with a vector.

    Args:
        members: Index of a slice to its reward; at least one.

    Attributes:
        slices: Indices of the slices.
        inputs: Names of the inputs that the programs read.
    """

    def __init__(self, members: Mapping[int, Member]) -> None:
        self.slices = tuple(members)
        self.inputs = members[self.slices[0]].program.inputs
        self._members = members
        self._shares: bool | None = None

    def price(self, inputs: Inputs, indices: Sequence[int]) -> tuple[dict[int, Components], list[Fault]]:
        """Call the program for some of the slices.

        Args:
            inputs: Name to (T, S, N, ...); they are copied, since a program may write into what it is given.
            indices: The slices.

        Returns:
            Components (T, N) and their total for each slice that is sound, and the faults of the others.
        """
        groups = self._by_constants(indices)
        if len(groups) > 1 and self._separable(inputs, indices) and self._sharing(inputs, indices, groups):
            try:
                return self._call(inputs, indices), []
            except RewardError:
                pass  # one of them fails; the calls below tell which
        found: dict[int, Components] = {}
        faults: list[Fault] = []
        for group in groups:
            try:
                found |= self._call(inputs, group)
            except RewardError:
                self._price_one_by_one(inputs, group, found, faults)
        return found, faults

    def _by_constants(self, indices: Sequence[int]) -> list[list[int]]:
        groups: dict[Any, list[int]] = {}
        for index in indices:
            program, overrides = self._members[index]
            groups.setdefault((program.source, tuple(sorted(overrides.items()))), []).append(index)
        return list(groups.values())

    def _separable(self, inputs: Inputs, indices: Sequence[int]) -> bool:
        """Whether constants of one per row, (R,), multiplied with any input, can give only (R,) or an error.

        (R,) and (R, 1) would give (R, R), and so would (R,) and (R, k) for as few rows as k, without a word.
        """
        _, _, worlds = inputs["action"].shape[:3]
        sizes = [size for name in self.inputs for size in inputs[name].shape[3:]]
        return all(1 < size < len(indices) * worlds for size in sizes)

    def _sharing(self, inputs: Inputs, indices: Sequence[int], groups: Sequence[Sequence[int]]) -> bool:
        """Whether one call may serve all constants; found out on one step, where a wrong shape cannot grow large.

        On the last one of a rollout: on the first, terms of a difference to the step before are zero.
        """
        if self._shares is None:
            step = {name: inputs[name][-1:] for name in self._names}
            try:
                apart = {index: parts for group in groups for index, parts in self._call(step, group).items()}
            except RewardError:
                return False  # found out at another time
            try:
                self._shares = _agree(self._call(step, indices), apart)
            except RewardError:
                self._shares = False
        return self._shares

    def _price_one_by_one(
        self, inputs: Inputs, group: Sequence[int], found: dict[int, Components], faults: list[Fault]
    ) -> None:
        """After a failure of them all: which slice fails, and at which step first."""
        for index in group:
            try:
                found |= self._call(inputs, [index])
            except RewardError as error:
                step, first = self._first_failure(inputs, index, error)
                faults.append(Fault(index, step, first.kind, str(first)))

    def _first_failure(self, inputs: Inputs, index: int, error: RewardError) -> tuple[int, RewardError]:
        """The first step that fails when priced by itself; the last step if only all of them together fail."""
        steps = len(inputs["action"])
        for step in range(steps):
            try:
                self._call({name: inputs[name][step : step + 1] for name in self._names}, [index])
            except RewardError as first:
                return step, first
        return steps - 1, error

    @property
    def _names(self) -> set[str]:
        return {"action", *self.inputs}

    def _call(self, inputs: Inputs, indices: Sequence[int]) -> dict[int, Components]:
        """Components (T, N) of each of the slices.

        Raises:
            RewardError: The reward failed.
        """
        steps, _, worlds = inputs["action"].shape[:3]
        rows = {name: _rows(inputs[name], indices) for name in self.inputs}
        with torch.no_grad():
            components = self._members[indices[0]].program(rows, self._tunables(indices, steps, worlds))
        return dict(zip(indices, _slices(components, (steps, len(indices), worlds)), strict=True))

    def _tunables(self, indices: Sequence[int], steps: int, worlds: int) -> dict[str, float | Tensor]:
        """What a call overrides: constants that differ between the slices by one value per row, (R,)."""
        given = [
            {**program.tunables, **overrides} for program, overrides in (self._members[index] for index in indices)
        ]
        differing = [name for name in given[0] if len({each[name] for each in given}) > 1]
        per_row = {
            name: torch.tensor([each[name] for each in given]).repeat_interleave(worlds).repeat(steps)
            for name in differing
        }
        return {**self._members[indices[0]].overrides, **per_row}


def _rows(value: Tensor, indices: Sequence[int]) -> Tensor:
    """A copy of an input in some slices, (R, ...) of (T, S, N, ...)."""
    first, last = indices[0], indices[-1]
    if list(indices) != list(range(first, last + 1)):
        return value[:, list(indices)].flatten(0, 2)
    # Neighbours, as the seeds of a candidate are, are copied several times faster than picked.
    return value[:, first : last + 1].clone(memory_format=torch.contiguous_format).flatten(0, 2)


def _slices(components: Components, shape: tuple[int, int, int]) -> list[Components]:
    """The slices of what was priced together, (T, N) each, of (T, S, N)."""
    totals = components.total.view(shape).unbind(1)
    parts = zip(*(value.view(shape).unbind(1) for value in components.values()), strict=True)
    found = [Components(zip(components, values, strict=True)) for values in parts]
    for each, total in zip(found, totals, strict=True):
        each.total = total
    return found


def _agree(together: dict[int, Components], apart: dict[int, Components]) -> bool:
    """Whether they are equal up to the rounding of a number and of a tensor."""
    return all(
        list(together[index]) == list(parts)
        and all(torch.allclose(together[index][name], value, rtol=1e-5, atol=1e-7) for name, value in parts.items())
        for index, parts in apart.items()
    )
