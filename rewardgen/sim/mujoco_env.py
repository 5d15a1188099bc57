"""Environments over a simulator of a MuJoCo model: episodes, automatic reset, time limit, inputs of rewards.

Computes no reward and no fitness.
"""

# MuJoCo's compiled modules carry no type stubs.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import ClassVar, Protocol

import mujoco
import torch
from torch import Tensor

from rewardgen.sim.contract import require, state_problems, tensor_problems, termination_problems, variable_problems
from rewardgen.sim.episodes import with_previous
from rewardgen.sim.faults import task_faults
from rewardgen.sim.host_waits import HostWaits
from rewardgen.sim.model import action_parts, action_range
from rewardgen.sim.protocol import Simulator
from rewardgen.sim.quantities import TurnCounter
from rewardgen.sim.rows import put_rows, rows_of
from rewardgen.sim.variables import Var
from rewardgen.sim.vec_env import DIVERGED, Policy, Step
from rewardgen.sim.view import Draws, SimView, Start, stream_keys

_PERTURBING_SEED = 30_000_001
_UNLIMITED_SHIFT = {mujoco.mjtJoint.mjJNT_HINGE: (-math.pi, math.pi), mujoco.mjtJoint.mjJNT_SLIDE: (-0.5, 0.5)}
"""How far a joint without limits is moved, by its type [rad, m]."""


class Dynamics(Protocol):
    """What is simulated: where episodes begin, what is read of them, and what ends them. See `MujocoTask`.

    It may also have `scripted(sim, variables)`, the actions (N, A) of a controller.
    """

    path: ClassVar[Path]
    """The file that it comes from, for messages."""
    episode_steps: ClassVar[int]

    def declared(self) -> dict[str, Var]:
        """The variables by name."""
        ...

    def reset(self, sim: SimView, draw: Draws) -> Start:
        """Positions (n, nq) and velocities (n, nv) of n new episodes, and perhaps their goals, name to (n, ...)."""
        ...

    def read(self, sim: SimView) -> dict[str, Tensor]:
        """The variables after a control step, (N, ...) each."""
        ...

    def observe(self, sim: SimView, variables: Mapping[str, Tensor]) -> Tensor:
        """What the policy sees, (N, O)."""
        ...

    def terminated(self, sim: SimView, variables: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Cause that ends an episode to (N,) bool."""
        ...


class MujocoVecEnv:
    """The `VecEnv` of a MuJoCo model. Everything is computed on the simulator's device.

    Args:
        dynamics: What is simulated.
        simulator: N fresh envs of its model.
        seeds: One seed per N / len(seeds) envs.

    Raises:
        TaskError: The dynamics break their contract.
    """

    def __init__(self, dynamics: Dynamics, simulator: Simulator, seeds: Sequence[int]) -> None:
        self.view = SimView(simulator)
        self.device, self.num_envs, self.control_step_s = simulator.device, simulator.num_envs, simulator.control_step_s
        self.action_low, self.action_high = action_range(simulator.model, simulator.device)
        self.action_size, self.action_parts = len(self.action_low), action_parts(simulator.model)
        self.episode_steps, self.variables = dynamics.episode_steps, tuple(dynamics.declared())
        self._dynamics, self._simulator = dynamics, simulator
        self.most_envs: int | None = getattr(simulator, "most_envs", None)
        per_seed = self.num_envs // len(seeds)
        self._all = torch.arange(self.num_envs, device=self.device)
        self._seeds = torch.tensor(list(seeds), device=self.device).repeat_interleave(per_seed)
        self._index = self._all % per_seed
        self._episode = torch.zeros_like(self._all)
        self._episode_step = torch.zeros_like(self._all)
        self._previous: dict[str, Tensor] = {}
        self._awake = torch.ones_like(self._all, dtype=torch.bool)
        self._awake_ids: Tensor | None = None
        self._turns = TurnCounter.of(self.view, dynamics.declared().values())
        self._by_mask = False
        """Whether episodes begin without the host knowing where, for which all envs are drawn."""
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

    def rest(self, which: Tensor) -> None:
        """See `VecEnv.rest`."""
        self._awake &= ~which
        self._awake_ids = self._awake.nonzero()[:, 0]

    def variables_now(self) -> dict[str, Tensor]:
        """The variables of every env as it is, (N, ...) each."""
        with self._task_code():
            return self._dynamics.read(self.view)

    def place(self, qpos: Tensor, qvel: Tensor) -> Tensor:
        """Put every env into a state, as if its episode had begun there.

        Args:
            qpos: Positions, (N, nq).
            qvel: Velocities, (N, nv).

        Returns:
            The observation, (N, O) float32.
        """
        self._simulator.reset(self._all, qpos, qvel)
        self.view.keep_start(self._all)
        self._turns.begin(self._all)
        self._episode_step[:] = 0
        with self._task_code():
            return self._observe(self.view)

    def perturb(self, number: int) -> Tensor:
        """See `VecEnv.perturb`: joint positions are drawn over their whole ranges."""
        draw = Draws(stream_keys(torch.full_like(self._all, _PERTURBING_SEED), self._all, self._all * 0 + number))
        model, qpos = self.view.model, self.view.qpos.clone()
        distance = draw.uniform(0.0, 1.0, 1)
        for joint in range(model.njnt):
            _perturb(qpos, model, joint, distance, draw)
        return self.place(qpos, self.view.qvel + distance * draw.normal(2.0, model.nv))

    def scripted_policy(self) -> Policy | None:
        """See `VecEnv.scripted_policy`."""
        scripted = getattr(self._dynamics, "scripted", None)
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
        self._simulator.step(action, self._awake_ids)
        self._episode_step += self._awake
        diverged = self._simulator.restore_diverged()
        self._turns.advance()
        with self._task_code():
            return self._conclude(action, diverged)

    def _task_code(self, method: str = "") -> AbstractContextManager[None]:
        """Where code of the task runs."""
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
        """The observation (N, O) once the next episode has begun where one ended, (N,) bool."""
        if self._by_mask:
            self._begin(ended)
            return torch.where(ended[:, None], self._observe(self.view), observation)
        if len(ids := ended.nonzero()[:, 0]):
            self._begin(ids)
            return observation.index_copy(0, ids, self._observe(self.view.of_envs(ids)))
        return observation

    def _begin(self, which: Tensor) -> None:
        """Start the next episode of some envs, (n,) int64 or (N,) bool."""
        episode = rows_of(self._episode, which)
        draw = Draws(stream_keys(rows_of(self._seeds, which), rows_of(self._index, which), episode))
        asked = self._all if which.dtype == torch.bool else which  # a `reset` may write into what it reads of these
        state = self._dynamics.reset(self.view.of_envs(asked), draw)
        require(state_problems(state, len(which), self.view.model.nq, self.view.model.nv))
        self.view.begin(which, state)
        self._turns.begin(which)
        put_rows(self._episode, which, episode + 1)
        put_rows(self._episode_step, which, 0)

    def _observe(self, view: SimView) -> Tensor:
        return self._dynamics.observe(view, self._dynamics.read(view)).float()

    def _rehearse(self) -> tuple[int, tuple[str, ...]]:
        """Go through a reset once, check what the task returns, forget it; observation size and termination causes."""
        dynamics = self._dynamics
        with self._task_code():
            with HostWaits() as waits:
                self._begin(self._all)
            # One that the host takes part in is not asked for envs whose episodes go on.
            self._by_mask = getattr(self._simulator, "takes_masks", False) and not waits.reads
            variables = dynamics.read(self.view)
            require(variable_problems(dynamics.declared(), variables, self.num_envs))
            observation = dynamics.observe(self.view, variables)
            require(tensor_problems("the observation", observation, (self.num_envs, -1)))
            causes = dynamics.terminated(self.view, variables)
            require(termination_problems(causes, self.num_envs))
        self._episode[:] = 0
        return int(observation.shape[1]), tuple(causes)


def _perturb(qpos: Tensor, model: mujoco.MjModel, joint: int, distance: Tensor, draw: Draws) -> None:
    kind, start = mujoco.mjtJoint(model.jnt_type[joint]), int(model.jnt_qposadr[joint])
    if kind in (mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL):
        size = 7 if kind == mujoco.mjtJoint.mjJNT_FREE else 4
        part = slice(start, start + size)
        qpos[:, part] += distance * draw.normal(0.2, size)
        quaternion = slice(start + size - 4, start + size)
        qpos[:, quaternion] /= qpos[:, quaternion].norm(dim=1, keepdim=True)
        return
    limited = bool(model.jnt_limited[joint])
    low, high = model.jnt_range[joint].tolist() if limited else _UNLIMITED_SHIFT[kind]
    drawn = draw.uniform(low, high, 1)[:, 0]
    qpos[:, start] += distance[:, 0] * (drawn - qpos[:, start] if limited else drawn)
