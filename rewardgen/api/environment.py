"""A task as a Gymnasium environment, for any trainer that takes one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
import torch
from torch import Tensor

from rewardgen.api.reward import Reward, reward_source
from rewardgen.core.errors import UsageError, did_you_mean
from rewardgen.sim.episodes import Episode
from rewardgen.sim.vec_env import VecEnv
from rewardgen.store.records import BASELINES
from rewardgen.tasks.baselines import baseline_sources
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.protocol import Task

_MOST_SEED = 2**31 - 1


class TaskEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """One environment of a task: `rewardgen.make_env`.

    `info` holds at every step the `components` of the reward and the `variables` of the task, and at the end of an
    episode its `fitness` and `success`, by the task's own code; `is_success` says the same to Stable-Baselines3.

    Args:
        task: The task.
        reward: What it pays; it reads nothing but the task's variables, `action`, and `prev_` of each.
    """

    metadata = {"render_modes": []}

    def __init__(self, task: Task, reward: Reward) -> None:
        self._task = task
        self.reward = reward
        self._envs: VecEnv = self._task.make_envs([0], 1)
        self._next: Tensor | None = None
        self._steps: list[dict[str, Tensor]] = []
        low, high = (each.numpy().astype(np.float32) for each in (self._envs.action_low, self._envs.action_high))
        self.action_space = gymnasium.spaces.Box(low, high, dtype=np.float32)
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (self._envs.observation_size,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """See `gymnasium.Env.reset`. With the same seed, the same episodes follow each other."""
        begins = seed is not None or self._np_random is None
        super().reset(seed=seed)
        if begins:
            own = int(self.np_random.integers(_MOST_SEED)) if seed is None else seed % _MOST_SEED
            self._envs = self._task.make_envs([own], 1)
            self._next = None
        observation = self._envs.reset() if self._next is None else self._next
        self._next, self._steps = None, []
        return _array(observation), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, SupportsFloat, bool, bool, dict[str, Any]]:
        """See `gymnasium.Env.step`."""
        step = self._envs.step(torch.as_tensor(np.asarray(action, np.float32)).view(1, -1))
        components = self.reward(step.inputs)
        self._steps.append({name: step.inputs[name] for name in (*self._envs.variables, "action")})
        terminated, truncated = bool(step.terminated[0]), bool(step.truncated[0])
        info: dict[str, Any] = {
            "components": {name: float(value[0]) for name, value in components.items()},
            "variables": {name: _plain(step.inputs[name]) for name in self._envs.variables},
        }
        if terminated or truncated:
            info |= self._measured(terminated)
            self._next = step.observation
        return _array(step.final_observation), sum(info["components"].values()), terminated, truncated, info

    def _measured(self, terminated: bool) -> dict[str, Any]:
        """What the task says of the episode that has just ended."""
        values = {name: torch.stack([each[name] for each in self._steps]) for name in self._steps[0]}
        lengths, envs = torch.tensor([len(self._steps)]), self._envs
        episode = Episode(values, lengths, torch.tensor([terminated]), envs.control_step_s, envs.episode_steps)
        found = measure_episodes(self._task, episode)
        success = bool(found.success[0])
        return {"fitness": float(found.fitness[0]), "success": success, "is_success": success}


def make_env(task: str | Path, reward: str | Path | Reward | None = None) -> TaskEnv:
    """A `gymnasium.Env` of a task. It runs the task file in this process, so take none that you have not read.

    Args:
        task: Name of a shipped task, or the path of a task file.
        reward: What it pays: a `Reward` such as `run.best.reward`, the path of a Python file with a `compute_reward`,
            or its text; `human` and `sparse` are the task's own, of which the human one is paid if none is given. It
            runs in this process too: see `Reward`.

    Raises:
        TaskError: There is no such task, or it breaks its contract.
        UsageError: The task has no such reward, or none that reads its variables; or the file cannot be read.
        RewardError: The reward is not written in the reward language.
    """
    loaded = load_task(str(task))
    if reward is None or reward in BASELINES:
        name, own = str(reward or "human"), baseline_sources(loaded)
        if name not in own:
            raise UsageError(f"{loaded.path.name} has no {name} reward", "give one: `make_env(task, reward=...)`")
        paid = Reward(own[name], name)
    else:
        paid = reward if isinstance(reward, Reward) else Reward(reward_source(reward))
    known = [*loaded.declared(), "action"]
    known += [f"prev_{name}" for name in known]
    if unknown := [name for name in paid.inputs if name not in known]:
        raise UsageError(f"the reward reads `{unknown[0]}`, which the task has not", did_you_mean(unknown[0], known))
    return TaskEnv(loaded, paid)


def _array(observation: Tensor) -> np.ndarray:
    return observation[0].numpy().astype(np.float32)


def _plain(value: Tensor) -> float | np.ndarray:
    return float(value[0]) if value.dim() == 1 else value[0].numpy().copy()
