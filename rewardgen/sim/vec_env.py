"""The environment loop over N worlds of a task: episodes, automatic reset, time limit, inputs of rewards.

Computes no reward and no fitness.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rewardgen.sim.contract import (
    require,
    state_problems,
    tensor_problems,
    termination_problems,
    variable_problems,
)
from rewardgen.sim.faults import task_faults
from rewardgen.sim.model import action_range, load_model
from rewardgen.sim.mujoco_cpu import CpuSimulator
from rewardgen.sim.variables import Var
from rewardgen.sim.view import Draws, SimView, stream_keys

DIVERGED = "physics diverged"
"""The termination cause of a world whose state stopped being finite."""


@dataclass(slots=True)
class Step:
    """What one control step of N worlds gives.

    Attributes:
        observation: What the policy acts on next, after automatic reset, (N, O) float32.
        final_observation: The same before any reset, (N, O) float32: to bootstrap truncated episodes.
        inputs: What rewards read: each variable, `action`, and `prev_` of each, float32, (N,) or (N, k), after the
            control step and before any reset. `prev_` equals the current value on an episode's first step.
        terminated: Whether a termination condition ended the episode, (N,) bool.
        truncated: Whether the time limit ended it, (N,) bool; never together with `terminated`.
        causes: Termination cause to (N,) bool; `physics diverged` is always among them.
        episode_step: Control steps since the episode began, (N,) int64; 1 on its first step.
    """

    observation: Tensor
    final_observation: Tensor
    inputs: dict[str, Tensor]
    terminated: Tensor
    truncated: Tensor
    causes: dict[str, Tensor]
    episode_step: Tensor


class Dynamics(Protocol):
    """What is simulated: where episodes begin, what is read of them, and what ends them. See `MujocoTask`."""

    path: ClassVar[Path]
    """The file that it comes from, for messages."""
    frame_skip: ClassVar[int]
    episode_steps: ClassVar[int]
    needs_contact_forces: ClassVar[bool]

    def model_file(self) -> Path:
        """The MJCF file."""
        ...

    def declared(self) -> dict[str, Var]:
        """The variables by name."""
        ...

    def reset(self, sim: SimView, draw: Draws) -> tuple[Tensor, Tensor]:
        """Positions (n, nq) and velocities (n, nv) of n new episodes."""
        ...

    def variables(self, sim: SimView) -> dict[str, Tensor]:
        """The variables after a control step, (N, ...) each."""
        ...

    def observe(self, sim: SimView, variables: Mapping[str, Tensor]) -> Tensor:
        """What the policy sees, (N, O)."""
        ...

    def terminated(self, sim: SimView, variables: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Cause that ends an episode to (N,) bool."""
        ...


class VecEnv:
    """N = len(seeds) * worlds_per_seed worlds of a task; world i belongs to seeds[i // worlds_per_seed].

    What happens in a world depends only on its seed, its index among the worlds of that seed, its episode number and
    its actions: it is the same alone and among others.

    Args:
        task: The task.
        seeds: One seed per slice.
        worlds_per_seed: Worlds of each slice.
        threads: Physics threads.

    Raises:
        TaskError: The task breaks its contract.
    """

    def __init__(self, task: Dynamics, seeds: Sequence[int], worlds_per_seed: int, *, threads: int = 1) -> None:
        self.task = task
        self.num_envs = len(seeds) * worlds_per_seed
        model = load_model(task.model_file())
        self.action_size = int(model.nu)
        self.action_low, self.action_high = action_range(model)
        self._simulator = CpuSimulator(
            model, self.num_envs, task.frame_skip, threads=threads, contact_forces=task.needs_contact_forces
        )
        self.view = SimView(self._simulator)
        self._seeds = np.repeat(np.array([seed % 2**64 for seed in seeds], np.uint64), worlds_per_seed)
        self._index = np.tile(np.arange(worlds_per_seed, dtype=np.uint64), len(seeds))
        self._episode = np.zeros(self.num_envs, np.uint64)
        self._episode_step = torch.zeros(self.num_envs, dtype=torch.int64)
        self._names = tuple(task.declared())
        self._previous: dict[str, Tensor] = {}
        self._some_first = True
        self._awake = torch.ones(self.num_envs, dtype=torch.bool)
        self._awake_ids: NDArray[np.int64] | None = None
        self.observation_size, self.causes = self._rehearse()

    def reset(self, *, staggered: bool = False) -> Tensor:
        """Begin a new episode in every world, those at rest included.

        Args:
            staggered: Cut the first episodes short by different amounts, so that the worlds of a seed are never in step
                with each other. Otherwise a rollout of a task without early termination shows one moment of the episode
                only, and the policy forgets the others: on the cart-pole swing-up, 0.72 instead of 0.84 fitness.

        Returns:
            The observation, (N, O) float32.
        """
        self._awake[:] = True
        self._awake_ids = None
        with task_faults(self.task.path):
            self._begin(np.arange(self.num_envs))
            if staggered:
                index = torch.from_numpy(self._index.astype(np.int64))
                self._episode_step = index * self.task.episode_steps // (int(index.max()) + 1)
            return self._observe(self.view)

    def rest(self, which: Tensor) -> None:
        """Simulate some worlds no longer, until the next `reset`; they stay as they are, and no episode ends in them.

        Args:
            which: (N,) bool.
        """
        self._awake &= ~which
        self._awake_ids = self._awake.nonzero()[:, 0].numpy()

    def place(self, qpos: Tensor, qvel: Tensor) -> Tensor:
        """Put every world into a state, as if its episode had begun there.

        Args:
            qpos: Positions, (N, nq).
            qvel: Velocities, (N, nv).

        Returns:
            The observation, (N, O) float32.
        """
        self._simulator.reset(np.arange(self.num_envs), qpos, qvel)
        self._episode_step[:] = 0
        self._some_first = True
        with task_faults(self.task.path):
            return self._observe(self.view)

    def step(self, action: Tensor) -> Step:
        """Apply an action for one control step; worlds whose episode ends begin the next one, those at rest do nothing.

        Args:
            action: (N, A) in actuator units; clipped to their range.
        """
        action = action.float().clamp(self.action_low, self.action_high)
        self._simulator.step(action, self._awake_ids)
        self._episode_step += self._awake
        diverged = self._simulator.restore_diverged()
        with task_faults(self.task.path):
            return self._conclude(action, diverged)

    def _conclude(self, action: Tensor, diverged: Tensor) -> Step:
        variables = self.task.variables(self.view)
        final_observation = self.task.observe(self.view, variables).float()
        causes = {**self.task.terminated(self.view, variables), DIVERGED: diverged}
        terminated = torch.stack(tuple(causes.values())).any(0) & self._awake
        truncated = (self._episode_step >= self.task.episode_steps) & self._awake & ~terminated
        inputs = self._inputs(variables, action)
        episode_step = self._episode_step.clone()
        ended = terminated | truncated
        observation = final_observation
        if bool(ended.any()):
            ids = ended.nonzero()[:, 0]
            self._begin(ids.numpy())
            observation = final_observation.index_copy(0, ids, self._observe(self.view.of_worlds(ids)))
        return Step(observation, final_observation, inputs, terminated, truncated, causes, episode_step)

    def _inputs(self, variables: dict[str, Tensor], action: Tensor) -> dict[str, Tensor]:
        current = {name: variables[name].float() for name in self._names}
        current["action"] = action
        previous = self._previous or current
        if self._some_first:
            first = self._episode_step == 1
            previous = {
                name: torch.where(_along(first, value), value, previous[name]) for name, value in current.items()
            }
        self._previous = current
        self._some_first = False
        return {**current, **{f"prev_{name}": previous[name] for name in current}}

    def _begin(self, ids: NDArray[np.int64]) -> None:
        """Start the next episode of some worlds, (n,)."""
        draw = Draws(stream_keys(self._seeds[ids], self._index[ids], self._episode[ids]))
        state = self.task.reset(self.view, draw)
        require(state_problems(state, len(ids), self.view.model.nq, self.view.model.nv))
        self._simulator.reset(ids, *state)
        self._episode[ids] += np.uint64(1)
        self._episode_step[torch.from_numpy(ids)] = 0
        self._some_first = True

    def _observe(self, view: SimView) -> Tensor:
        return self.task.observe(view, self.task.variables(view)).float()

    def _rehearse(self) -> tuple[int, tuple[str, ...]]:
        """Go through a reset once, check what the task returns, forget it; observation size and termination causes."""
        with task_faults(self.task.path):
            self._begin(np.arange(self.num_envs))
            variables = self.task.variables(self.view)
            require(variable_problems(self.task.declared(), variables, self.num_envs))
            observation = self.task.observe(self.view, variables)
            require(tensor_problems("the observation", observation, (self.num_envs, -1)))
            causes = self.task.terminated(self.view, variables)
            require(termination_problems(causes, self.num_envs))
        self._episode[:] = 0
        return int(observation.shape[1]), (*causes, DIVERGED)


def _along(mask: Tensor, values: Tensor) -> Tensor:
    """A mask (N,) shaped to broadcast over (N, ...)."""
    return mask.view(-1, *[1] * (values.dim() - 1))
