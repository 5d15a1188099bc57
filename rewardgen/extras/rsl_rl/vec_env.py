"""A task's envs with a generated reward, as a `VecEnv` of RSL-RL."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rewardgen.training.ppo.normaliser import RewardScaler
from rewardgen.training.ppo.policy import from_policy_units
from rewardgen.training.shared.one_slice import SliceTraining


class RewardedRslVecEnv:
    """Environments of one slice; a `rsl_rl.env.VecEnv`. Actions are in units of half their range, and cut off there.

    The learner gets observations, rewards and ends; a reward gets copies of the variables, never an environment. Where
    the environments have several groups of observations, as those of mjlab, the critic may see more than the policy.

    RSL-RL takes rewards as they are, and learns from those alone whose size suits it. So they are scaled here.

    Attributes:
        steps: Control steps of all environments so far.
        clipped: Share of the rewards of each step, by size, that was clipped in scaling them.
    """

    cfg: dict[str, Any] = {}

    def __init__(self, training: SliceTraining, discount: float) -> None:
        self._training, self._envs = training, training.envs
        envs = self._envs
        self.num_envs, self.num_actions = envs.num_envs, envs.action_size
        self.max_episode_length, self.device = envs.episode_steps, envs.device
        self.steps = 0
        self.clipped: list[Tensor] = []
        self._scaler = RewardScaler(1, envs.num_envs, discount, envs.device)
        self._seen = envs.reset(staggered=True)

    def get_observations(self) -> Any:
        """Return the current groups of observations, (N, k) each."""
        from tensordict import TensorDict  # an extra  # pyright: ignore[reportMissingImports]

        groups: dict[str, Tensor] = getattr(self._envs, "groups", None) or {"actor": self._seen}
        return TensorDict({name: values.clone() for name, values in groups.items()}, batch_size=[self.num_envs])

    def step(self, actions: Tensor) -> tuple[Any, Tensor, Tensor, dict[str, Tensor]]:
        """Step; return observations, rewards (N,), ends (N,) int64, and the ends by the time limit.

        Args:
            actions: (N, A).
        """
        step = self._envs.step(from_policy_units(actions.detach(), self._envs.action_low, self._envs.action_high))
        self._seen = step.observation
        ended = step.terminated | step.truncated
        reward = self._scaler(self._training.price(step)[None, None], ended[None, None])[0, 0]
        self.clipped.append(self._scaler.clipped[0])
        self.steps += self.num_envs
        seen = self.get_observations()
        self._training.require_finite(seen.values())
        return seen, reward, ended.to(torch.int64), {"time_outs": step.truncated}
