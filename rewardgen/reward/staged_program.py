"""A compiled reward with stages: `next_stage` runs step by step, and `compute_reward` then on all steps at once.

For workers: it needs torch and runs generated code.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import CodeType
from typing import Any

import torch
from torch import Tensor

from rewardgen.reward.contract import Components, RewardError
from rewardgen.reward.program import Program
from rewardgen.reward.signature import Signature
from rewardgen.reward.stages import NEXT_STAGE, stage_names


class StagedProgram(Program):
    """A compiled reward whose memory is the stage of each env."""

    def __init__(self, source: str, signature: Signature, code: CodeType) -> None:
        super().__init__(source, signature, code)
        self.stages = stage_names(source)
        self.staged, self.settling_steps = self, len(self.stages)
        self._transition = signature.functions[NEXT_STAGE][0]

    def price(
        self, inputs: Mapping[str, Tensor], begins: Tensor, carry: Any, tunables: Mapping[str, float]
    ) -> tuple[Components, Any]:
        """Price the steps in order; the carry is the stage of each env, (N,) int64. See `Program`."""
        steps, num_envs = begins.shape
        stage = begins.new_zeros(num_envs, dtype=torch.int64) if carry is None else carry
        before: list[Tensor] = []
        after: list[Tensor] = []
        for step, first in enumerate(begins):
            stage = torch.where(first, 0, stage)
            before.append(stage)
            stage = self.next_stage(stage, {name: inputs[name][step] for name in self.inputs}, tunables)
            after.append(stage)
        rows = {name: inputs[name].flatten(0, 1) for name in self.inputs}
        rows |= {"stage": torch.cat(after), "prev_stage": torch.cat(before)}
        components = self(rows, tunables).view(steps, num_envs)
        components.stage = torch.stack(after)
        return components, stage

    def look(self, inputs: Mapping[str, Tensor], stage: Tensor) -> Tensor:
        """Return the stages, then the numbers of `observe`; see `Program`."""
        stages = torch.nn.functional.one_hot(stage, len(self.stages))
        return torch.cat((stages.float(), super().look(inputs, stage)), 1)

    def next_stage(self, stage: Tensor, inputs: Mapping[str, Tensor], tunables: Mapping[str, float] = {}) -> Tensor:
        """Return the stage of each env after a step, (N,) int64, from the one before it.

        Raises:
            RewardError: The function fails or returns anything else.
        """
        arguments = {**inputs, "stage": stage}
        moved = self.call(NEXT_STAGE, {name: arguments[name] for name in self._transition}, tunables)
        if type(moved) is not Tensor or moved.shape != stage.shape or moved.device != stage.device:
            kind = f"shape {tuple(moved.shape)}" if isinstance(moved, Tensor) else type(moved).__name__
            message = f"`{NEXT_STAGE}` returned {kind}, expected a stage for each env, a tensor of shape (N,)"
            raise RewardError(message, None, "shape", "end with `return torch.where(condition, 1, stage)`")
        whole = moved.to(torch.int64)
        if not bool(((whole == moved) & (whole >= 0) & (whole < len(self.stages))).all()):
            message = f"`{NEXT_STAGE}` returned a number that is no stage: they are 0 to {len(self.stages) - 1}"
            raise RewardError(message, None, "shape", "return indices of `STAGES`, as in `torch.where(done, 1, stage)`")
        return whole
