"""Pricing transitions with the candidates' rewards.

Each slice is priced by a call of its own, on copies of its inputs, so a reward that fails takes down its own slices
only, and so does one that takes too long. Rewards are called once per rollout, not once per step.

Shapes: T steps, S slices, N envs per slice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor

from rewardgen.core.errors import WorkerError, did_you_mean
from rewardgen.reward import pricing
from rewardgen.reward.contract import Components
from rewardgen.reward.program import Program, RewardError, compile_reward
from rewardgen.sandbox.limits import OutOfTimeError, time_limit
from rewardgen.sim.vec_env import HIDDEN
from rewardgen.store.records import FailureKind, RewardSpec, SliceSpec

Inputs = Mapping[str, Tensor]
Result = TypeVar("Result")

CALL_LIMIT_S = 5.0
"""Processor time of one call. A reward that passed the probe takes far less."""


class Fault(NamedTuple):
    """A reward that failed in one slice."""

    slice: int
    kind: FailureKind
    message: str


@dataclass(frozen=True)
class PricedSlices:
    """Rewards of T steps of all envs."""

    total: Tensor  # sum of the components, (T, S, N) float32; zero in slices that failed or were disabled
    components: list[Components]  # of each slice, name to (T, N)
    faults: list[Fault]


class Rewards:
    """The rewards of a batch of slices."""

    def __init__(self, rewards: Sequence[RewardSpec], slices: Sequence[SliceSpec], valid: Collection[str]) -> None:
        by_id = {reward.candidate_id: reward for reward in rewards}
        self._specs = [by_id[spec.candidate_id] for spec in slices]
        self._programs: dict[int, Program] = {}
        self.problems: dict[int, RewardError] = {}
        """Index of a slice to the failure that ended its reward."""
        self._carries: dict[int, Any] = {}
        for index, spec in enumerate(self._specs):
            try:
                offered = {*valid, *(HIDDEN if spec.is_baseline else ())}
                self._programs[index] = in_time(partial(_compiled, spec.source, offered))
            except RewardError as error:
                self.problems[index] = error
        self._sizes = {
            (len(program.staged.stages) if program.staged else 0, len(program.observed))
            for program in self._programs.values()
        }

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of stages and of observed numbers of each reward; 0 without. Raises a WorkerError if slices differ."""
        if len(self._sizes) > 1:
            raise WorkerError("rewards whose policies see differently many numbers are in one batch", "report it")
        return max(self._sizes, default=(0, 0))

    @property
    def input_names(self) -> list[str]:
        """Inputs that some reward reads, and `action`, in alphabetical order."""
        priced = (name for program in self._programs.values() for name in program.inputs)
        return sorted({"action", *priced, *self.observes})

    @property
    def observes(self) -> list[str]:
        """Inputs that some `observe` reads, in alphabetical order."""
        return sorted({name for program in self._programs.values() for name in program.observes})

    def look(self, stages: Tensor, inputs: Inputs) -> Tensor:
        """Return what policies see after the task's observation, (S * N, K); see `Program.look`.

        Takes stages (S * N,) int64, and the inputs of `observes`, (S * N, ...). A reward that fails ends: its slice
        sees zeros, and pricing reports the failure.
        """
        by_slice = stages.unflatten(0, (len(self._specs), -1))
        seen = torch.zeros(*by_slice.shape, sum(self.sizes), device=stages.device)
        for index, program in [*self._programs.items()]:
            of_slice = {name: inputs[name].unflatten(0, by_slice.shape)[index] for name in program.observes}
            try:
                seen[index] = in_time(partial(program.look, of_slice, by_slice[index]))
            except RewardError as error:
                self.problems[index] = error
                del self._programs[index]
        return seen.flatten(0, 1)

    def next_stages(self, stages: Tensor, inputs: Inputs) -> Tensor:
        """Return the stage of each env after a step, (S * N,) int64, from those before it and its inputs, (S * N, ...).

        A slice whose transition fails keeps its stages here; pricing the step fails too, and tells.
        """
        slices = len(self._specs)
        after = stages.clone().unflatten(0, (slices, -1))
        for index, program in self._programs.items():
            if program.staged:
                of_slice = {name: inputs[name].unflatten(0, (slices, -1))[index] for name in program.inputs}
                with suppress(RewardError):
                    after[index] = in_time(partial(program.staged.next_stage, after[index], of_slice))
        return after.flatten()

    def keep(self, kept: Sequence[int]) -> None:
        """See `SliceLearner.keep`."""
        self._specs = [self._specs[index] for index in kept]
        self._programs = {place: self._programs[index] for place, index in enumerate(kept) if index in self._programs}
        self.problems = {place: self.problems[index] for place, index in enumerate(kept) if index in self.problems}
        self._carries = {place: self._carries[index] for place, index in enumerate(kept) if index in self._carries}

    def price(self, inputs: Inputs, active: Sequence[bool], begins: Tensor | None = None) -> PricedSlices:
        """Call every candidate's reward on copies of its active slices' inputs, name to (T, S * N, ...).

        `begins`, (T, S * N) bool, is True on the first step of an episode; its steps continue those of the last call
        with it. Without it the inputs are whole episodes, and rewards remember nothing of other calls.
        """
        slices = len(self._specs)
        by_slice = {name: value.unflatten(1, (slices, -1)) for name, value in inputs.items()}
        total = by_slice["action"].new_zeros(by_slice["action"].shape[:3])
        components = [Components() for _ in range(slices)]
        faults = [Fault(index, error.kind, str(error)) for index, error in self.problems.items() if active[index]]
        for index in (index for index in self._programs if active[index]):
            of_slice = {name: by_slice[name][:, index] for name in self._programs[index].inputs}
            starts = None if begins is None else begins.unflatten(1, (slices, -1))[:, index]
            carry = None if begins is None else self._carries.get(index)
            try:
                parts, after = in_time(partial(pricing.price, self._programs[index], of_slice, starts, carry))
            except RewardError as error:
                faults.append(Fault(index, error.kind, str(error)))
                continue
            if begins is not None:
                self._carries[index] = after
            total[:, index] = parts.total
            components[index] = parts
        return PricedSlices(total, components, faults)


def in_time(call: Callable[[], Result]) -> Result:
    """Make one call of a reward, in the main thread, where a signal can end it by a RewardError."""
    try:
        with time_limit(CALL_LIMIT_S):
            return call()
    except OutOfTimeError:
        message = f"the reward takes more than {CALL_LIMIT_S:g} s of processor time in one call"
        raise RewardError(message, None, "exception", "compute over the whole batch, without large loops") from None


def _compiled(source: str, valid: Collection[str]) -> Program:
    program = compile_reward(source)
    unknown = [name for name in (*program.inputs, *program.observes) if name not in valid]
    if unknown:
        hint = did_you_mean(unknown[0], valid)
        raise RewardError(f"the task has no input `{unknown[0]}`; {hint}", None, "exception", hint)
    return program
