"""Policies' view beyond the task's observation: the stage of their reward, and the numbers that it observes.

Observations end with a number for each stage, 1 for the present one, and then those of `observe`. Without the stages, a
policy that must do different things in two stages could not tell them apart (Toro Icarte et al. 2022, "Reward
Machines", section 4: the state of the machine belongs to the state of the task).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from rewardgen.sim.episodes import start_inputs
from rewardgen.sim.tensors import as_column
from rewardgen.sim.vec_env import Step, VecEnv
from rewardgen.training.shared.rewards import Inputs, Rewards


class Eyes:
    """Eyes of the rewards of W envs, slice after slice, from step to step; they see K numbers, none without eyes.

    Args:
        rewards: Rewards of the slices.
        envs: Envs that are reset before the first observation is seen, and stepped before each `follow`.

    Attributes:
        size: K.
    """

    def __init__(self, rewards: Rewards, envs: VecEnv) -> None:
        self._rewards, self._envs = rewards, envs
        self._stages, self._numbers = rewards.stage_count, rewards.observed_count
        self.size = self._stages + self._numbers
        self._ids = torch.arange(envs.num_envs, device=envs.device)
        self._stage = torch.zeros_like(self._ids)
        self._seen: Tensor | None = None
        """Numbers of `observe` for the next observation; None before the first."""

    def see(self, observation: Tensor) -> Tensor:
        """Return what policies see, (W, O + K), for an observation (W, O)."""
        if self._seen is None:
            self._seen = self._look(self._starts() if self._numbers else {}, self._stage)
        return self._with(observation, self._stage, self._seen)

    def follow(self, step: Step) -> Tensor:
        """Move on by a step; return its final observation as policies see it, (W, O + K)."""
        if not self.size:
            return step.final_observation
        ended = step.terminated | step.truncated
        after = self._rewards.next_stages(self._stage, step.inputs)
        seen = self._look(step.inputs, after)
        self._stage, self._seen = torch.where(ended, 0, after), seen
        if self._numbers and bool(ended.any()):
            # Rows whose episode goes on are seen once more, so that those of a slice never depend on other slices.
            inputs = {
                name: torch.where(as_column(ended, value), value, step.inputs[name])
                for name, value in self._starts().items()
            }
            self._seen = self._look(inputs, self._stage)
        return self._with(step.final_observation, after, seen)

    def keep(self, kept: Sequence[int], slices: int) -> None:
        """Drop all but some of S slices, whose rewards have dropped them too."""
        rows = list(kept)
        self._stage, self._ids = (part.unflatten(0, (slices, -1))[rows].flatten() for part in (self._stage, self._ids))
        if self._seen is not None:
            self._seen = self._seen.unflatten(0, (slices, -1))[rows].flatten(0, 1)

    def _starts(self) -> dict[str, Tensor]:
        inputs = start_inputs(self._envs)
        return {name: inputs[name][self._ids] for name in self._rewards.observes}

    def _look(self, inputs: Inputs, stage: Tensor) -> Tensor:
        return self._rewards.observations(stage, inputs, self._numbers)

    def _with(self, observation: Tensor, stage: Tensor, seen: Tensor) -> Tensor:
        if not self.size:
            return observation
        parts = [torch.nn.functional.one_hot(stage, self._stages)] if self._stages else []
        return torch.cat((observation, *(part.to(observation.dtype) for part in (*parts, seen))), 1)
