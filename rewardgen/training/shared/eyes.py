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
from rewardgen.training.shared.rewards import Rewards


class Eyes:
    """Eyes of the rewards of W envs, slice after slice, from step to step; they see K = `size` numbers, 0 without eyes.

    The envs are reset before the first observation is seen, and stepped before each `follow`.
    """

    def __init__(self, rewards: Rewards, envs: VecEnv) -> None:
        self._rewards, self._envs, self.size = rewards, envs, sum(rewards.sizes)
        self._ids = torch.arange(envs.num_envs, device=envs.device)
        self._stage = torch.zeros_like(self._ids)
        self._seen: Tensor | None = None
        """The K numbers beside the next observation, (W, K); None before the first."""

    def see(self, observation: Tensor) -> Tensor:
        """Return what policies see, (W, O + K), for an observation (W, O)."""
        if not self.size:
            return observation
        if self._seen is None:
            self._seen = self._rewards.look(self._stage, self._starts())
        return torch.cat((observation, self._seen), 1)

    def follow(self, step: Step) -> Tensor:
        """Move on by a step; return its final observation as policies see it, (W, O + K)."""
        if not self.size:
            return step.final_observation
        ended = step.terminated | step.truncated
        after = self._rewards.next_stages(self._stage, step.inputs)
        seen = self._rewards.look(after, step.inputs)
        self._stage, self._seen = torch.where(ended, 0, after), seen
        if not self._rewards.observes or bool(ended.any()):
            # Rows whose episode goes on are looked at once more, so that what a slice sees never depends on others.
            inputs = {
                name: torch.where(as_column(ended, value), value, step.inputs[name])
                for name, value in self._starts().items()
            }
            self._seen = self._rewards.look(self._stage, inputs)
        return torch.cat((step.final_observation, seen), 1)

    def keep(self, kept: Sequence[int], slices: int) -> None:
        """Drop all but some of S slices, whose rewards have dropped them too."""
        rows = list(kept)
        self._stage, self._ids = (part.unflatten(0, (slices, -1))[rows].flatten() for part in (self._stage, self._ids))
        if self._seen is not None:
            self._seen = self._seen.unflatten(0, (slices, -1))[rows].flatten(0, 1)

    def _starts(self) -> dict[str, Tensor]:
        names = self._rewards.observes
        inputs = start_inputs(self._envs) if names else {}
        return {name: inputs[name][self._ids] for name in names}
