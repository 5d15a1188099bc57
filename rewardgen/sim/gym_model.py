"""Quantities of Gymnasium's MuJoCo environments, read from a copy of the model with sensors.

A state holds no actuator forces and no turns since the episode began, so such quantities cannot be read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import torch
from torch import Tensor

from rewardgen.core.errors import TaskError
from rewardgen.sim.model import compile_model
from rewardgen.sim.mujoco_cpu import CpuSimulator
from rewardgen.sim.quantities import Quantity, with_sensors
from rewardgen.sim.sim_view import SimView

_SAME_M = 1e-4
_MOMENTS = ("JOINTACTFRC", "ACTUATORFRC")


def state_of(env: Any) -> np.ndarray | None:
    """Return positions, velocities, mocap poses and controls of a MuJoCo environment in one row; None for others."""
    data: Any = getattr(env.unwrapped, "data", None)
    if not (isinstance(getattr(env.unwrapped, "model", None), mujoco.MjModel) and isinstance(data, mujoco.MjData)):
        return None
    return np.concatenate((data.qpos, data.qvel, np.hstack((data.mocap_pos, data.mocap_quat)).ravel(), data.ctrl))


def render_fast(env: Any) -> None:
    """Reduce shadow quality: without a GPU, full shadows take seconds per picture."""
    model: Any = getattr(getattr(env, "unwrapped", env), "model", None)
    if isinstance(model, mujoco.MjModel):
        model.vis.quality.shadowsize, model.vis.quality.offsamples = 1024, 0


def model_file(env: Any) -> Path | None:
    """Return the file of an environment's model; None if the model was changed after loading."""
    state, path = state_of(env), Path(str(getattr(env.unwrapped, "fullpath", "")))
    if state is None or not path.is_file():
        return None
    own, data = env.unwrapped.model, env.unwrapped.data
    try:
        reader = ModelReader(path, {}, 1)
        reader.read([state])
    except (TaskError, RuntimeError):  # the state does not fit this model
        return None
    mujoco.mj_kinematics(own, data)
    for name in ("xpos", "site_xpos"):
        here, there = reader.view.field(name)[0].numpy(), getattr(data, name)
        if here.shape != there.shape or not np.allclose(here, there, atol=_SAME_M):
            return None
    return path


class ModelReader:
    """Reads quantities from the states of N environments of one model file.

    Raises a TaskError if the model lacks a part, or a state does not determine a quantity.
    """

    def __init__(self, path: Path, quantities: Mapping[str, Quantity], num_envs: int) -> None:
        for name, quantity in quantities.items():
            if quantity.turning or any(sensor.kind in _MOMENTS for sensor in quantity.sensed):
                raise TaskError(f"`{name}` cannot be read from a Gymnasium environment", "compute it in `variables`")
        model = compile_model(path, lambda spec: with_sensors(spec, quantities.values()))
        self._quantities, self._rows = dict(quantities), torch.arange(num_envs)
        self._simulator = CpuSimulator(model, num_envs, 1)
        self.view = SimView(self._simulator)

    def read(self, states: Sequence[np.ndarray]) -> dict[str, Tensor]:
        """Return the quantities, (N,) or (N, k) each, from the `state_of` of each environment."""
        model = self._simulator.model
        sizes = (model.nq, model.nv, 7 * model.nmocap, model.nu)
        qpos, qvel, mocap, control = torch.from_numpy(np.stack(states)).split(sizes, 1)
        places = mocap.reshape(-1, model.nmocap, 7) if model.nmocap else None
        self._simulator.reset(self._rows, qpos, qvel, places)
        self._simulator.forward(control)  # forces of contacts are not those of motors at rest
        return {name: quantity.read(self.view).clone() for name, quantity in self._quantities.items()}
