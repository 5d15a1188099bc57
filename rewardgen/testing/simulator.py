"""A simulator in torch alone, for tests of everything above the physics."""

from __future__ import annotations

import mujoco
import torch
from torch import Tensor

from rewardgen.core.errors import TaskError, did_you_mean
from rewardgen.sim.live_fields import ModelFacts


class PointMasses(ModelFacts):
    """Unit masses on frictionless rails: every joint of the model is a slide, moved by an actuator. A `Simulator`.

    Register it, under a name of your own, for tasks that have such a model:
    `SIMULATORS.register("point-masses", PointMasses)`.

    Args:
        model: A model in which actuator i pushes slide joint i.
        num_envs: N.
        frame_skip: Physics steps per control step.
        threads: Of no matter.
        contact_forces: Of no matter; there are no contacts.
        current_fields: Of no matter; no field follows from others.
        device: Where the masses are.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        num_envs: int,
        frame_skip: int,
        *,
        threads: int = 1,
        contact_forces: bool = False,
        current_fields: bool = False,
        device: str = "cpu",
    ) -> None:
        super().__init__(model, num_envs, frame_skip, torch.device(device))
        self._frame_skip = frame_skip
        state = torch.zeros(num_envs, model.nq, dtype=torch.float64, device=self.device)
        self._fields = {name: state.clone() for name in ("qpos", "qvel", "ctrl")}
        self._before = {name: state.clone() for name in self._fields}

    def field(self, name: str) -> Tensor:
        """See `Simulator.field`: `qpos`, `qvel` and `ctrl` are all there is."""
        if name not in self._fields:
            raise TaskError(f"point masses have no field `{name}`", did_you_mean(name, self._fields))
        return self._fields[name]

    def before(self, name: str) -> Tensor:
        """See `Simulator.before`."""
        self.field(name)
        return self._before[name]

    def step(self, control: Tensor, ids: Tensor | None = None) -> None:
        """See `Simulator.step`."""
        rows = torch.arange(self.num_envs, device=self.device) if ids is None else ids
        for name, kept in self._before.items():
            kept.copy_(self._fields[name])
        self._fields["ctrl"].copy_(control)
        step_s = self.control_step_s / self._frame_skip
        for _ in range(self._frame_skip):
            self._fields["qvel"][rows] += step_s * self._fields["ctrl"][rows]
            self._fields["qpos"][rows] += step_s * self._fields["qvel"][rows]

    def reset(
        self, which: Tensor, qpos: Tensor | None = None, qvel: Tensor | None = None, mocap: Tensor | None = None
    ) -> None:
        """See `Simulator.reset`; there are no mocap bodies."""
        for name, value in (("qpos", qpos), ("qvel", qvel), ("ctrl", None)):
            self._fields[name][which] = 0.0 if value is None else value
            self._before[name][which] = self._fields[name][which]

    def restore_diverged(self) -> Tensor:
        """See `Simulator.restore_diverged`."""
        diverged = ~(self._fields["qpos"] + self._fields["qvel"]).isfinite().all(1)
        self.reset(diverged.nonzero()[:, 0], self._before["qpos"][diverged])
        return diverged
