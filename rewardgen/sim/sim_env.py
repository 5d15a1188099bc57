"""Environments over any simulator: episodes, automatic reset, time limit and inputs of rewards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor

from rewardgen.core.physics import Ranges
from rewardgen.sim.contract import require, state_problems, tensor_problems, termination_problems, variable_problems
from rewardgen.sim.draws import Draws, stream_keys
from rewardgen.sim.episodes import with_previous
from rewardgen.sim.faults import task_faults
from rewardgen.sim.host_waits import HostWaits
from rewardgen.sim.protocol import Simulator
from rewardgen.sim.sim_view import Start, StateView
from rewardgen.sim.tensors import put_rows, rows_of
from rewardgen.sim.variables import Var
from rewardgen.sim.variation import Variation
from rewardgen.sim.vec_env import DIVERGED, ActFunction, Step, VecEnv


class Dynamics(Protocol):
    """The simulated part of a task: starts, variables, observations and terminations. See `MujocoTask`."""

    path: ClassVar[Path]
    """Task file, for messages."""
    episode_steps: ClassVar[int]
    scripted: ClassVar[Any] = None
    """Optional method `scripted(sim, variables)`, which returns the actions (N, A) of a controller."""

    def declared(self) -> dict[str, Var]:
        """Return the declared variables by name."""
        ...

    def reset(self, sim: Any, draw: Draws) -> Start:
        """Draw positions (n, nq), velocities (n, nv) and optionally goals, name to (n, ...), of n new episodes."""
        ...

    def read(self, sim: Any) -> dict[str, Tensor]:
        """Return the variables after a control step, (N, ...) each."""
        ...

    def observe(self, sim: Any, variables: Mapping[str, Tensor]) -> Tensor:
        """Return the policy's observation, (N, O)."""
        ...

    def terminated(self, sim: Any, variables: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the envs whose episode ends, (N,) bool, by cause."""
        ...


class SimulatorEnv(VecEnv):
    """The `VecEnv` of a simulator of N new envs, on its device, with one seed per N / len(seeds) envs.

    `dynamics` reads the view, a `StateView` by default. Raises a TaskError if `dynamics` breaks its contract.
    """

    view: StateView

    def __init__(
        self, dynamics: Dynamics, simulator: Simulator, seeds: Sequence[int], view: StateView | None = None
    ) -> None:
        self.view = view or StateView(simulator)
        self.device, self.num_envs, self.control_step_s = simulator.device, simulator.num_envs, simulator.control_step_s
        self.action_low, self.action_high = simulator.action_low, simulator.action_high
        self.action_size, self.action_parts = len(self.action_low), simulator.action_parts
        self.episode_steps, self.variables = dynamics.episode_steps, tuple(dynamics.declared())
        self.most_envs = simulator.most_envs
        self._dynamics, self._simulator = dynamics, simulator
        per_seed = self.num_envs // len(seeds)
        self._all = torch.arange(self.num_envs, device=self.device)
        self._seeds = torch.tensor(list(seeds), device=self.device).repeat_interleave(per_seed)
        self._index = self._all % per_seed
        self._episode = torch.zeros_like(self._all)
        self._episode_step = torch.zeros_like(self._all)
        self._previous: dict[str, Tensor] = {}
        self._variation: Variation | None = None
        self._difficulty = 1.0
        self._awake = torch.ones_like(self._all, dtype=torch.bool)
        self._awake_ids: Tensor | None = None
        self._by_mask = False
        """True if the host does not know which episodes begin; then starts are drawn for all envs."""
        self.observation_size, self.causes = self._rehearse()

    def reset(self, *, staggered: bool = False, anew: bool = False) -> Tensor:
        """See `VecEnv.reset`."""
        self._awake[:] = True
        self._awake_ids = None
        if anew:
            self._episode[:] = 0
        with self._task_code():
            self._begin(self._all)
            if staggered:
                self._episode_step = self._index * self.episode_steps // (self._index.max() + 1)
            return self._observe(self.view)

    def vary(self, ranges: Ranges) -> None:
        """See `VecEnv.vary`."""
        self._variation = Variation(ranges, self._simulator)

    def ease(self, difficulty: float) -> None:
        """See `VecEnv.ease`."""
        self._difficulty = difficulty

    def rest(self, which: Tensor) -> None:
        """See `VecEnv.rest`."""
        self._awake &= ~which
        self._awake_ids = self._awake.nonzero()[:, 0]

    def variables_now(self) -> dict[str, Tensor]:
        """See `VecEnv.variables_now`."""
        with self._task_code():
            return self._dynamics.read(self.view)

    def place(self, qpos: Tensor, qvel: Tensor) -> Tensor:
        """Put all envs into a state (N, nq) and (N, nv), as if their episodes began there; return the observation."""
        self._simulator.reset(self._all, qpos, qvel)
        self.view.keep_start(self._all)
        self._begun(self._all)
        self._episode_step[:] = 0
        with self._task_code():
            return self._observe(self.view)

    def scripted_policy(self) -> ActFunction | None:
        """See `VecEnv.scripted_policy`."""
        scripted = self._dynamics.scripted
        if scripted is None:
            return None

        def act(observation: Tensor) -> Tensor:
            with self._task_code("scripted"):
                action = scripted(self.view, self._dynamics.read(self.view))
            require(tensor_problems("the action of `scripted`", action, (self.num_envs, self.action_size)))
            return action

        return act

    def step(self, action: Tensor) -> Step:
        """See `VecEnv.step`."""
        action = action.float().clamp(self.action_low, self.action_high)
        applied = self._variation.delayed(action) if self._variation else action
        self._simulator.step(applied, self._awake_ids)
        self._episode_step += self._awake
        diverged = self._simulator.restore_diverged()
        self._advanced()
        with self._task_code():
            return self._conclude(action, diverged)

    def _begun(self, which: Tensor) -> None:
        """Hook for subclasses: episodes have begun in some envs, (n,) int64 or (N,) bool."""

    def _advanced(self) -> None:
        """Hook for subclasses: the simulator advanced by a control step."""

    def _task_code(self, method: str = "") -> AbstractContextManager[None]:
        return task_faults(self._dynamics.path, method, self.device)

    def _conclude(self, action: Tensor, diverged: Tensor) -> Step:
        variables = self._dynamics.read(self.view)
        final_observation = self._dynamics.observe(self.view, variables).float()
        causes = {**self._dynamics.terminated(self.view, variables), DIVERGED: diverged}
        terminated = torch.stack(tuple(causes.values())).any(0) & self._awake
        truncated = (self._episode_step >= self.episode_steps) & self._awake & ~terminated
        current = {name: variables[name].float() for name in self.variables} | {"action": action}
        inputs = with_previous(current, self._previous or current, self._episode_step == 1)
        self._previous = current
        episode_step = self._episode_step.clone()
        observation = self._restarted(terminated | truncated, final_observation)
        return Step(observation, final_observation, inputs, terminated, truncated, causes, episode_step)

    def _restarted(self, ended: Tensor, observation: Tensor) -> Tensor:
        """Begin the next episode in envs whose episode ended, (N,) bool, and return the observation, (N, O)."""
        if self._by_mask:
            self._begin(ended)
            return torch.where(ended[:, None], self._observe(self.view), observation)
        if len(ids := ended.nonzero()[:, 0]):
            self._begin(ids)
            return observation.index_copy(0, ids, self._observe(self.view.of_envs(ids)))
        return observation

    def _begin(self, which: Tensor) -> None:
        """Begin the next episode of some envs, (n,) int64 or (N,) bool."""
        episode = rows_of(self._episode, which)
        stream = rows_of(self._seeds, which), rows_of(self._index, which), episode
        draw = Draws(stream_keys(*stream), self._difficulty)
        if self._variation:
            self._variation.begin(which, *stream)
        rows = self._all if which.dtype == torch.bool else which  # `reset` gets copies, and may write into them
        state = self._dynamics.reset(self.view.of_envs(rows), draw)
        require(state_problems(state, len(which), *self._simulator.state_size))
        self.view.begin(which, state)
        self._begun(which)
        put_rows(self._episode, which, episode + 1)
        put_rows(self._episode_step, which, 0)

    def _observe(self, view: StateView) -> Tensor:
        return self._dynamics.observe(view, self._dynamics.read(view)).float()

    def _rehearse(self) -> tuple[int, tuple[str, ...]]:
        """Check the results of the task's methods in one reset; return the observation size and causes."""
        dynamics = self._dynamics
        with self._task_code():
            with HostWaits() as waits:
                self._begin(self._all)
            # A `reset` that needs the host runs only for envs whose episode ended.
            self._by_mask = self._simulator.takes_masks and not waits.reads
            variables = dynamics.read(self.view)
            require(variable_problems(dynamics.declared(), variables, self.num_envs))
            observation = dynamics.observe(self.view, variables)
            require(tensor_problems("the observation", observation, (self.num_envs, -1)))
            causes = dynamics.terminated(self.view, variables)
            require(termination_problems(causes, self.num_envs))
        self._episode[:] = 0
        return int(observation.shape[1]), tuple(causes)
