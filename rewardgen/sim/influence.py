"""Variables that no action can change: places of things that nothing of the robot reaches."""

# MuJoCo's compiled modules carry no type stubs.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from typing import TYPE_CHECKING

import mujoco
import numpy as np
from torch import Tensor

if TYPE_CHECKING:
    from rewardgen.sim.mujoco_env import MujocoVecEnv

_DRAWS = 3
_ALIKE = 1e-9


def parts_beyond_actions(envs: MujocoVecEnv) -> dict[str, tuple[bool, ...]]:
    """Find the parts of variables that are drawn at the start of an episode and stay as they are.

    Everything that can be moved is moved; a part counts if it differs between starts and does not change then. Things
    that can touch something count as movable, so a box to be pushed is, and a mark on the floor is not.
    """
    qpos_fixed, qvel_fixed = _unreached(envs.model)
    if not qpos_fixed:
        return {}
    envs.reset()
    qpos, qvel = envs.view.qpos.clone(), envs.view.qvel.clone()
    at_start = _parts(envs)
    fixed = {name: (values.amax(0) - values.amin(0)) > _ALIKE for name, values in at_start.items()}
    for number in range(_DRAWS):
        envs.perturb(number)
        moved_qpos, moved_qvel = envs.view.qpos.clone(), envs.view.qvel.clone()
        moved_qpos[:, qpos_fixed], moved_qvel[:, qvel_fixed] = qpos[:, qpos_fixed], qvel[:, qvel_fixed]
        envs.place(moved_qpos, moved_qvel)
        for name, values in _parts(envs).items():
            fixed[name] &= ((values - at_start[name]).abs() <= _ALIKE).all(0)
    return {name: tuple(parts.tolist()) for name, parts in fixed.items() if bool(parts.any())}


def _parts(envs: MujocoVecEnv) -> dict[str, Tensor]:
    """A copy of the present variables, (N, parts) each."""
    values = envs.variables_now()
    return {name: value.reshape(len(value), -1).double().clone() for name, value in values.items()}


def _unreached(model: mujoco.MjModel) -> tuple[list[int], list[int]]:
    """Positions and velocities of joints that no actuator moves, nothing can touch and nothing ties to others."""
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
