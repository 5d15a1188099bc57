"""Environments over a simulator of a MuJoCo model: besides `SimulatorEnv`, random states, words and films of it."""

# MuJoCo's compiled modules carry no type stubs.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import math
from collections.abc import Sequence

import mujoco
import torch
from torch import Tensor

from rewardgen.sim.draws import Draws, stream_keys
from rewardgen.sim.influence import parts_beyond_actions
from rewardgen.sim.model_words import robot_words
from rewardgen.sim.protocol import MujocoSimulator
from rewardgen.sim.quantities import TurnCounter
from rewardgen.sim.sim_env import Dynamics, SimulatorEnv
from rewardgen.sim.sim_view import SimView

_PERTURBING_SEED = 30_000_001
_UNLIMITED_SHIFT = {mujoco.mjtJoint.mjJNT_HINGE: (-math.pi, math.pi), mujoco.mjtJoint.mjJNT_SLIDE: (-0.5, 0.5)}
"""Shift of a joint without limits, by its type [rad, m]."""


class MujocoVecEnv(SimulatorEnv):
    """The `VecEnv` of a MuJoCo model.

    Args:
        dynamics: The simulated part of the task.
        simulator: N fresh envs of its model.
        seeds: One seed per N / len(seeds) envs.

    Raises:
        TaskError: The dynamics break their contract.
    """

    view: SimView

    def __init__(self, dynamics: Dynamics, simulator: MujocoSimulator, seeds: Sequence[int]) -> None:
        view = SimView(simulator)
        self.model = simulator.model
        self._turns = TurnCounter.of(view, dynamics.declared().values())
        super().__init__(dynamics, simulator, seeds, view)

    @property
    def body_words(self) -> str:
        """See `VecEnv.body_words`."""
        return robot_words(self.model)

    def perturb(self, number: int) -> Tensor:
        """See `VecEnv.perturb`: joint positions are drawn over their whole ranges."""
        draw = Draws(stream_keys(torch.full_like(self._all, _PERTURBING_SEED), self._all, self._all * 0 + number))
        qpos, distance = self.view.qpos.clone(), draw.uniform(0.0, 1.0, 1)
        for joint in range(self.model.njnt):
            _perturb(qpos, self.model, joint, distance, draw)
        return self.place(qpos, self.view.qvel + distance * draw.normal(2.0, self.model.nv))

    def beyond_actions(self) -> dict[str, tuple[bool, ...]]:
        """See `VecEnv.beyond_actions`; envs are reset, and left in arbitrary states."""
        return parts_beyond_actions(self)

    def pose(self) -> Tensor:
        """See `VecEnv.pose`."""
        fields = [self.view.qpos]
        if self.model.nmocap:
            places = torch.cat((self.view.field("mocap_pos"), self.view.field("mocap_quat")), 2)
            fields.append(places.flatten(1))
        return torch.cat(fields, 1)

    def _begun(self, which: Tensor) -> None:
        self._turns.begin(which)

    def _advanced(self) -> None:
        self._turns.advance()


def _perturb(qpos: Tensor, model: mujoco.MjModel, joint: int, distance: Tensor, draw: Draws) -> None:
    kind, start = mujoco.mjtJoint(model.jnt_type[joint]), int(model.jnt_qposadr[joint])
    if kind in (mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL):
        size = 7 if kind == mujoco.mjtJoint.mjJNT_FREE else 4
        qpos[:, start : start + size] += distance * draw.normal(0.2, size)
        quaternion = slice(start + size - 4, start + size)
        qpos[:, quaternion] /= qpos[:, quaternion].norm(dim=1, keepdim=True)
        return
    limited = bool(model.jnt_limited[joint])
    low, high = model.jnt_range[joint].tolist() if limited else _UNLIMITED_SHIFT[kind]
    drawn = draw.uniform(low, high, 1)[:, 0]
    qpos[:, start] += distance[:, 0] * (drawn - qpos[:, start] if limited else drawn)
