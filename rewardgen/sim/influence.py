"""Which variables no action can change: those that only tell where something lies that nothing of the robot reaches."""

# MuJoCo's compiled modules carry no type stubs.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import mujoco
import numpy as np
from torch import Tensor

from rewardgen.sim.mujoco_env import MujocoVecEnv

_DRAWS = 3
_ALIKE = 1e-9


def beyond_actions(envs: MujocoVecEnv) -> dict[str, tuple[bool, ...]]:
    """Of each variable that has such parts: which are drawn at the start of an episode, and then nothing changes them.

    Told apart by moving everything that could be moved: what differs between starts, and stays as it is then. What can
    touch something counts as movable, so a box to be pushed does, and a mark on the floor does not.

    Args:
        envs: Environments of the task; they are reset, and left in states of no use.
    """
    qpos_fixed, qvel_fixed = _unreached(envs.view.model)
    if not qpos_fixed:
        return {}
    envs.reset()
    qpos, qvel = envs.view.qpos.clone(), envs.view.qvel.clone()
    at_start = _parts(envs)
    found = {name: (each.amax(0) - each.amin(0)) > _ALIKE for name, each in at_start.items()}
    for number in range(_DRAWS):
        envs.perturb(number)
        moved_qpos, moved_qvel = envs.view.qpos.clone(), envs.view.qvel.clone()
        moved_qpos[:, qpos_fixed], moved_qvel[:, qvel_fixed] = qpos[:, qpos_fixed], qvel[:, qvel_fixed]
        envs.place(moved_qpos, moved_qvel)
        for name, each in _parts(envs).items():
            found[name] &= ((each - at_start[name]).abs() <= _ALIKE).all(0)
    return {name: tuple(each.tolist()) for name, each in found.items() if bool(each.any())}


def _parts(envs: MujocoVecEnv) -> dict[str, Tensor]:
    """The variables as they are now, (N, parts) each; a copy."""
    values = envs.variables_now()
    return {name: each.reshape(len(each), -1).double().clone() for name, each in values.items()}


def _unreached(model: mujoco.MjModel) -> tuple[list[int], list[int]]:
    """Positions and velocities of joints that no actuator moves, nothing can touch and nothing ties to others."""
    if model.neq or model.ntendon or not model.nu:
        return [], []
    data = mujoco.MjData(model)
    data.ctrl[:] = np.where(model.actuator_ctrllimited, 0.3 * model.actuator_ctrlrange[:, 1] + 0.01, 0.3)
    mujoco.mj_forward(model, data)
    reached = {int(model.dof_treeid[dof]) for dof in np.nonzero(data.qfrc_actuator)[0]}
    paired = {int(each) for each in (*model.pair_geom1, *model.pair_geom2)}
    touching = [
        geom
        for geom in range(model.ngeom)
        if model.geom_contype[geom] or model.geom_conaffinity[geom] or geom in paired
    ]
    reached |= {int(model.body_treeid[model.geom_bodyid[geom]]) for geom in touching}
    qpos: list[int] = []
    qvel: list[int] = []
    for joint in range(model.njnt):
        position, dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        if int(model.dof_treeid[dof]) not in reached:
            kind = mujoco.mjtJoint(model.jnt_type[joint])
            qpos += range(position, position + {0: 7, 1: 4}.get(int(kind), 1))
            qvel += range(dof, dof + {0: 6, 1: 3}.get(int(kind), 1))
    return qpos, qvel
