"""Policies' view of their reward's stages: a number for each stage, 1 for the present one, after the observation.

Without it, a policy that must do different things in two stages could not tell them apart (Toro Icarte et al. 2022,
"Reward Machines", section 4: the state of the machine belongs to the state of the task).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from rewardgen.sim.vec_env import Step
from rewardgen.training.shared.rewards import Rewards


class StageEyes:
    """Present stages of W envs, slice after slice, from step to step; K numbers for K stages, none without stages.

    Args:
        rewards: Rewards of the slices.
        num_envs: W, at the start of their episodes.
        device: Device of the envs.

    Attributes:
        size: K.
    """

    def __init__(self, rewards: Rewards, num_envs: int, device: torch.device) -> None:
        self._rewards, self.size = rewards, rewards.stage_count
        self._stage = torch.zeros(num_envs, dtype=torch.int64, device=device)

    def see(self, observation: Tensor) -> Tensor:
        """Return what policies see, (W, O + K), for an observation (W, O)."""
        return self._with(observation, self._stage)

    def follow(self, step: Step) -> Tensor:
        """Move on by a step; return its final observation as policies see it, (W, O + K)."""
        if not self.size:
            return step.final_observation
        after = self._rewards.next_stages(self._stage, step.inputs)
        self._stage = torch.where(step.terminated | step.truncated, 0, after)
        return self._with(step.final_observation, after)

    def keep(self, kept: Sequence[int], slices: int) -> None:
        """Drop all but some of S slices, whose rewards have dropped them too."""
        self._stage = self._stage.unflatten(0, (slices, -1))[list(kept)].flatten()

    def _with(self, observation: Tensor, stage: Tensor) -> Tensor:
        if not self.size:
            return observation
        seen = torch.nn.functional.one_hot(stage, self.size)
        return torch.cat((observation, seen.to(observation.dtype)), 1)
