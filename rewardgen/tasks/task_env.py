"""A task as a Gymnasium environment, for any trainer that takes one. Exported environments are this module, copied."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
import torch
from gymnasium.error import InvalidAction, ResetNeeded
from torch import Tensor

from rewardgen.core.errors import TaskError
from rewardgen.sim.episodes import Episode, start_inputs
from rewardgen.sim.vec_env import VecEnv
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.protocol import Task

_MOST_SEED = 2**31 - 1

BEGINS = "episode_begins"
"""Input of reward functions beside the task's: True on an episode's first step, (1,) bool."""

RewardFunction = Callable[[Mapping[str, Tensor]], Mapping[str, Tensor]]
"""From the inputs of a step and `BEGINS`, by name, to the reward's components: (1,) each, or (1, k) of inputs."""
SeeFunction = Callable[[Mapping[str, Tensor]], Tensor]
"""From the inputs of a step that is paid already, or of a start where `BEGINS` is True, to further entries of the
observation, (1, K)."""


class TaskEnv(gymnasium.Env[np.ndarray, Any]):
    """One environment of a task.

    `info` holds at every step the `components` of the reward and the `variables` of the task, and at the end of an
    episode its `cause`, and, if the task has them, its `fitness` and `success` by the task's own code; `is_success`
    repeats the latter for Stable-Baselines3. Where actions are choices, the action space is `Discrete` or
    `MultiDiscrete`; `step` also takes them one-hot, as policies of this task give them.

    Args:
        task: The task.
        reward: Its reward; reads the task's variables, `action`, and `prev_` of each.
        see: Further entries of the observation, for policies with the eyes of their reward.
        looks: True if `see` reads variables, which then the start of an episode has to tell.
    """

    metadata = {"render_modes": []}

    def __init__(self, task: Task, reward: RewardFunction, see: SeeFunction | None = None, looks: bool = True) -> None:
        self.task, self.reward, self._see, self._looks = task, reward, see, looks
        self._envs = one_env(task, 0)
        self._next: Tensor | None = None
        self._running = False
        self._steps: list[dict[str, Tensor]] = []
        self.control_step_s = self._envs.control_step_s
        self.action_space = action_space(self._envs.action_low, self._envs.action_high, self._envs.choices)
        size = self._envs.observation_size
        if see is not None:
            size = len(self._seen(self._envs.reset()))
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """See `gymnasium.Env.reset`. The same seed gives the same sequence of episodes; `options` have no effect."""
        begins = seed is not None or self._np_random is None
        super().reset(seed=seed)
        if begins:
            drawn = int(self.np_random.integers(_MOST_SEED)) if seed is None else seed % _MOST_SEED
            self._envs = one_env(self.task, drawn)
            self._next = None
        observation = self._envs.reset() if self._next is None else self._next
        self._next, self._steps, self._running = None, [], True
        return self._seen(observation), {}

    def step(self, action: Any) -> tuple[np.ndarray, SupportsFloat, bool, bool, dict[str, Any]]:
        """See `gymnasium.Env.step`. An action beyond its range is clipped.

        Raises:
            ResetNeeded: No episode is running.
            InvalidAction: The action has another shape than the action space, is not finite, or no choice.
        """
        if not self._running:
            raise ResetNeeded("`step` without an episode: call `reset` first, and after each end")
        step = self._envs.step(self._row(action))
        paid = self.reward({**step.inputs, BEGINS: torch.tensor([not self._steps])})
        if not isinstance(paid, Mapping):
            raise TaskError(f"the reward gives {type(paid).__name__}", "return a dict of components by name")
        components = {name: float(torch.as_tensor(value).reshape(-1)[0]) for name, value in paid.items()}
        self._steps.append({name: step.inputs[name] for name in (*self._envs.variables, "action")})
        terminated, truncated = bool(step.terminated[0]), bool(step.truncated[0])
        info: dict[str, Any] = {
            "components": components,
            "variables": {name: plain(step.inputs[name]) for name in self._envs.variables},
        }
        if terminated or truncated:
            causes = [cause for cause, holds in step.causes.items() if holds[0]]
            info |= {"cause": causes[0] if terminated and causes else "time limit", **self._measured(terminated)}
            self._next, self._running = step.observation, False
        seen = self._seen(step.final_observation, step.inputs)
        return seen, sum(components.values()), terminated, truncated, info

    def _row(self, action: Any) -> Tensor:
        """Return an action, (A,), or a choice by its number, as a row (1, A)."""
        shape, choices = (self._envs.action_size,), self._envs.choices
        values = np.asarray(action)
        if choices and values.shape != shape:
            numbers = values.reshape(self.action_space.shape) if values.size == len(choices) else values
            if not self.action_space.contains(numbers):
                raise InvalidAction(f"an action of {self.action_space} is required; this one is {action}")
            picked = zip(numbers.reshape(-1).tolist(), choices, strict=True)
            values = np.concatenate([np.eye(count)[number] for number, count in picked])
        values = np.asarray(values, np.float32)
        if values.shape != shape or not np.isfinite(values).all():
            fault = f"has shape {values.shape}" if values.shape != shape else f"is not finite: {values}"
            raise InvalidAction(f"an action of shape {shape} is required; this one {fault}")
        return torch.from_numpy(values).view(1, -1)

    def _seen(self, observation: Tensor, inputs: Mapping[str, Tensor] | None = None) -> np.ndarray:
        """Return what a policy sees after a step with these inputs, or at a start."""
        if self._see is not None:
            begins = torch.tensor([inputs is None])
            if inputs is None:
                inputs = start_inputs(self._envs) if self._looks else {}
            further = self._see({**inputs, BEGINS: begins})
            observation = torch.cat((observation, further), 1)
        return observation[0].numpy().astype(np.float32)

    def _measured(self, terminated: bool) -> dict[str, Any]:
        """Return the task's measures of the episode that has just ended."""
        values = {name: torch.stack([step[name] for step in self._steps]) for name in self._steps[0]}
        lengths, envs = torch.tensor([len(self._steps)]), self._envs
        episode = Episode(values, lengths, torch.tensor([terminated]), envs.control_step_s, envs.episode_steps)
        if not self.task.has_fitness:
            return {}
        measures = measure_episodes(self.task, episode)
        success = bool(measures.success[0])
        told = {"success": success, "is_success": success} if self.task.has_success else {}
        return {"fitness": float(measures.fitness[0]), **told}


def action_space(low: Tensor, high: Tensor, choices: Sequence[int] = ()) -> gymnasium.Space[Any]:
    """Return the space of actions between `low` and `high`, (A,) each, or of choices by their numbers of options."""
    if len(choices) == 1:
        return gymnasium.spaces.Discrete(choices[0])
    if choices:
        return gymnasium.spaces.MultiDiscrete([*choices])
    first, last = (bound.numpy().astype(np.float32) for bound in (low, high))
    return gymnasium.spaces.Box(first, last, dtype=np.float32)


def one_env(task: Task, seed: int) -> VecEnv:
    """Return a single environment of a task.

    Raises:
        TaskError: Several agents act in the task.
    """
    envs = task.make_envs([seed], 1)
    if envs.num_envs > 1:
        message = f"several agents act in {task.path.name}, and an environment of Gymnasium has one"
        raise TaskError(message, "train it here; elsewhere, use the original environment")
    return envs


def plain(value: Tensor) -> float | np.ndarray:
    """Return a variable of one env, (1,) or (1, k), as `info` holds it."""
    return float(value[0]) if value.dim() == 1 else value[0].numpy().copy()
