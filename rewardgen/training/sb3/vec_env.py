"""A task's envs with a generated reward, as a `VecEnv` of Stable-Baselines3."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv as Sb3VecEnv

from rewardgen.sim.vec_env import Step, VecEnv
from rewardgen.training.ppo.policy import from_policy_units

Price = Callable[[Step], np.ndarray]
"""Rewards (N,) of a step."""


class RewardedVecEnv(Sb3VecEnv):
    """Envs of one slice. Actions are in units of half their range, or choices.

    The learner gets observations, rewards and ends; the reward gets copies of the variables, never an env.
    """

    def __init__(self, envs: VecEnv, price: Price) -> None:
        self._task_envs, self._price = envs, price
        self.choices = envs.choices
        observed = spaces.Box(-np.inf, np.inf, (envs.observation_size,), np.float32)
        acted: spaces.Space[Any] = spaces.Box(-1.0, 1.0, (envs.action_size,), np.float32)
        if self.choices:
            one = len(self.choices) == 1
            acted = spaces.Discrete(self.choices[0]) if one else spaces.MultiDiscrete([*self.choices])
        super().__init__(envs.num_envs, observed, acted)
        self._chosen: torch.Tensor = envs.action_low.new_zeros(envs.num_envs, envs.action_size)

    def reset(self) -> np.ndarray:
        """Begin new episodes; return observations (N, O)."""
        return self._task_envs.reset().numpy().copy()

    def step_async(self, actions: np.ndarray) -> None:
        """Keep the actions for `step_wait`."""
        if self.choices:
            rows = torch.from_numpy(np.asarray(actions)).reshape(self.num_envs, -1)
            hot = [torch.nn.functional.one_hot(rows[:, at], count) for at, count in enumerate(self.choices)]
            self._chosen = torch.cat(hot, 1).float()
        else:
            low, high = self._task_envs.action_low, self._task_envs.action_high
            self._chosen = from_policy_units(torch.from_numpy(actions), low, high)

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Step; return observations, rewards, ends, and infos with final observations."""
        step = self._task_envs.step(self._chosen)
        reward = self._price(step)
        done = (step.terminated | step.truncated).numpy()
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for index in np.flatnonzero(done):
            infos[index] = {
                "terminal_observation": step.final_observation[index].numpy(),
                "TimeLimit.truncated": bool(step.truncated[index]),
            }
        return step.observation.numpy().copy(), reward, done, infos

    def close(self) -> None:
        """Do nothing: nothing is open."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Attributes of the envs are hidden."""
        return [None] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Attributes of the envs are hidden."""

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Methods of the envs are hidden."""
        return [None] * self.num_envs

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> Sequence[bool]:
        """No env is wrapped."""
        return [False] * self.num_envs
