"""Environments of a MuJoCo model: `SimulatorEnv` with random states, words about the robot, and poses for films."""

from __future__ import annotations

import math
from collections.abc import Sequence

import mujoco
import numpy as np
import torch
from torch import Tensor

from rewardgen.sim.draws import Draws, stream_keys
from rewardgen.sim.model_words import body_words, shapes_words
from rewardgen.sim.protocol import MujocoSimulator
from rewardgen.sim.quantities import TurnCounter
from rewardgen.sim.sim_env import Dynamics, SimulatorEnv
from rewardgen.sim.sim_view import SimView

_PERTURBING_SEED = 30_000_001
_DRAWS, _ALIKE = 3, 1e-9
"""Random states of the search for variables beyond all actions, and the largest difference of equal values."""
_UNLIMITED_SHIFT = {mujoco.mjtJoint.mjJNT_HINGE: (-math.pi, math.pi), mujoco.mjtJoint.mjJNT_SLIDE: (-0.5, 0.5)}
"""Shift of a joint without limits, by its type [rad, m]."""


class MujocoVecEnv(SimulatorEnv):
    """The `VecEnv` of a MuJoCo model; see `SimulatorEnv`."""

    view: SimView

    def __init__(self, dynamics: Dynamics, simulator: MujocoSimulator, seeds: Sequence[int]) -> None:
        view = SimView(simulator)
        self.model = simulator.model
        self._turns = TurnCounter(view, dynamics.declared().values())
        super().__init__(dynamics, simulator, seeds, view)

    @property
    def body_words(self) -> str:
        """See `VecEnv.body_words`."""
        return f"{body_words(self.model)} {shapes_words(self.model)}".strip()

    def perturb(self, number: int) -> Tensor:
        """See `VecEnv.perturb`: joint positions are drawn over their whole ranges."""
        draw = Draws(stream_keys(torch.full_like(self._all, _PERTURBING_SEED), self._all, self._all * 0 + number))
        qpos, distance = self.view.qpos.clone(), draw.uniform(0.0, 1.0, 1)
        for joint in range(self.model.njnt):
            _perturb(qpos, self.model, joint, distance, draw)
        return self.place(qpos, self.view.qvel + distance * draw.normal(2.0, self.model.nv))

    def beyond_actions(self) -> dict[str, tuple[bool, ...]]:
        """Find the parts of variables that differ between starts and stay equal when all movable joints are moved.

        A joint counts as movable if its tree has a geom that can touch: a box to be pushed does, a mark does not. Envs
        are reset, and left in arbitrary states.
        """
        qpos_fixed, qvel_fixed = _unreached(self.model)
        if not qpos_fixed:
            return {}
        self.reset()
        qpos, qvel = self.view.qpos.clone(), self.view.qvel.clone()
        at_start = _parts(self)
        fixed = {name: (values.amax(0) - values.amin(0)) > _ALIKE for name, values in at_start.items()}
        for number in range(_DRAWS):
            self.perturb(number)
            moved_qpos, moved_qvel = self.view.qpos.clone(), self.view.qvel.clone()
            moved_qpos[:, qpos_fixed], moved_qvel[:, qvel_fixed] = qpos[:, qpos_fixed], qvel[:, qvel_fixed]
            self.place(moved_qpos, moved_qvel)
            for name, values in _parts(self).items():
                fixed[name] &= ((values - at_start[name]).abs() <= _ALIKE).all(0)
        return {name: tuple(parts.tolist()) for name, parts in fixed.items() if bool(parts.any())}

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


def _parts(envs: MujocoVecEnv) -> dict[str, Tensor]:
    """Copy the present variables, (N, parts) each."""
    values = envs.variables_now()
    return {name: value.reshape(len(value), -1).double().clone() for name, value in values.items()}


def _unreached(model: mujoco.MjModel) -> tuple[list[int], list[int]]:
    """Indices into qpos and qvel of joints that no actuator moves, nothing touches and nothing ties to others."""
    if model.neq or model.ntendon or not model.nu:
        return [], []
    data = mujoco.MjData(model)
    data.ctrl[:] = np.where(model.actuator_ctrllimited, 0.3 * model.actuator_ctrlrange[:, 1] + 0.01, 0.3)
    mujoco.mj_forward(model, data)
    reached = {int(model.dof_treeid[dof]) for dof in np.nonzero(data.qfrc_actuator)[0]}
    touching = {*np.flatnonzero(model.geom_contype | model.geom_conaffinity), *model.pair_geom1, *model.pair_geom2}
    reached |= {int(model.body_treeid[model.geom_bodyid[geom]]) for geom in touching}
    qpos: list[int] = []
    qvel: list[int] = []
    for joint in range(model.njnt):
        position, dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        if int(model.dof_treeid[dof]) not in reached:
            kind = int(model.jnt_type[joint])
            qpos += range(position, position + {0: 7, 1: 4}.get(kind, 1))
            qvel += range(dof, dof + {0: 6, 1: 3}.get(kind, 1))
    return qpos, qvel
