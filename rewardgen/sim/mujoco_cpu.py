"""MuJoCo on CPU threads, with numpy arrays below the tensors."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from operator import attrgetter

import mujoco
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rewardgen.core.errors import TaskError
from rewardgen.sim.live_fields import CONTACT_FORCES, LARGEST_STATE, MOCAP, LiveFields

_VARIED = {
    "friction": ("geom_friction", "pair_friction"),
    "mass": ("body_mass", "body_inertia"),
    "damping": ("dof_damping",),
    "gravity": ("opt.gravity",),
}
"""Fields of the model by the parameter that multiplies them."""


class CpuSimulator(LiveFields):
    """A `Simulator` of N envs over `mujoco.batch`.

    Args:
        model: The compiled model, with MuJoCo's automatic reset switched off.
        num_envs: N.
        frame_skip: Physics steps per control step.
        threads: Physics threads on the CPU.
        contact_forces: Compute `cfrc_ext` after each control step.
        current_fields: Compute derived fields of the state after a control step, as `mj_step1` does, instead of those
            of the last physics substep.
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
    ) -> None:
        if contact_forces and current_fields:
            what = "contact forces are those of the last physics substep, and other fields cannot be later"
            raise TaskError(what, "set one of `needs_contact_forces` and `current_fields`")
        super().__init__(model, num_envs, frame_skip, torch.device("cpu"), contact_forces)
        self._frame_skip = frame_skip
        # A persistent batch continues from the computed stage instead of computing the stage twice.
        import mujoco.batch  # missing in older releases

        self._batch = mujoco.batch.Batch(model, num_envs, threads, persistent=contact_forces or current_fields)
        self._stage = mujoco.mjtStage.mjSTAGE_VEL if current_fields else mujoco.mjtStage.mjSTAGE_NONE
        self._arrays: dict[str, NDArray[np.float64]] = {}
        self._scratch = mujoco.MjData(model) if contact_forces else None
        if contact_forces:
            self._fields[CONTACT_FORCES] = self._shared(CONTACT_FORCES, np.zeros((num_envs, model.nbody, 6)))
        for name in ("qpos", "qvel", "ctrl", *(MOCAP if model.nmocap else ())):
            self.field(name)
        self.reset(torch.arange(num_envs, device=self.device))
        self.before("qpos")
        self.before("qvel")

    def step(self, control: Tensor, ids: Tensor | None = None) -> None:
        """See `Simulator.step`."""
        self._remember()
        self._fields["ctrl"].copy_(control)
        self._batch.step(None if ids is None else ids.numpy(), nstep=self._frame_skip, stage=self._stage)
        self._fresh = False
        if self._scratch is not None:
            self._update_contact_forces(self._scratch, range(self.num_envs) if ids is None else ids.tolist())

    def forward(self, control: Tensor) -> None:
        """Compute what follows from the present state and controls, (N, A), without a step."""
        self._fields["ctrl"].copy_(control)
        self._batch.forward()

    def restore_diverged(self) -> Tensor:
        """See `Simulator.restore_diverged`."""
        qpos, qvel = self._arrays["qpos"], self._arrays["qvel"]
        if _sound(qpos) and _sound(qvel):
            return torch.zeros(self.num_envs, dtype=torch.bool, device=self.device)
        sound = [_sound(qpos[env]) and _sound(qvel[env]) for env in range(self.num_envs)]
        diverged = ~torch.tensor(sound, device=self.device)
        self.reset(diverged.nonzero()[:, 0], self._before["qpos"][diverged])
        return diverged

    def reset(
        self, which: Tensor, qpos: Tensor | None = None, qvel: Tensor | None = None, mocap: Tensor | None = None
    ) -> None:
        """See `Simulator.reset`."""
        rows = which.numpy()
        places = [self._arrays[name][rows] for name in MOCAP] if self.model.nmocap else []
        self._batch.reset(rows, stage=mujoco.mjtStage.mjSTAGE_NONE)
        if mocap is not None:
            places = [mocap[..., :3].numpy(), mocap[..., 3:].numpy()]
        for name, place in zip(MOCAP, places, strict=False):
            self._arrays[name][rows] = place
        if qpos is not None:
            self._arrays["qpos"][rows] = qpos.numpy()
        if qvel is not None:
            self._arrays["qvel"][rows] = qvel.numpy()
        self._batch.forward(rows)
        if self._scratch is not None:
            self._arrays[CONTACT_FORCES][rows] = 0.0
        self._remember(which)
        self._fresh = self._fresh or len(which) == self.num_envs

    def vary(self, which: Tensor, factors: Mapping[str, Tensor]) -> None:
        """See `Simulator.vary`."""
        rows = which.numpy()
        for name, factor in factors.items():
            for field in _VARIED[name]:
                own = np.asarray(attrgetter(field)(self.model))
                self._batch.expand(field)[rows] = own * factor.numpy().reshape(-1, *[1] * own.ndim)
        self._batch.set_const(rows)

    def _update_contact_forces(self, scratch: mujoco.MjData, ids: Iterable[int]) -> None:
        """Compute contact forces of the last substep, as Gymnasium does after `mj_step`."""
        forces = self._arrays[CONTACT_FORCES]
        for env in ids:
            self._batch.get_data(env, scratch)
            mujoco.mj_rnePostConstraint(self.model, scratch)
            forces[env] = scratch.cfrc_ext

    def _bound(self, name: str) -> Tensor:
        shared = self._shared(name, self._batch.bind(name))
        self._batch.forward()  # a derived field is zero until the first call after its binding
        return shared

    def _shared(self, name: str, array: NDArray[np.float64]) -> Tensor:
        self._arrays[name] = array
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
            return torch.from_numpy(array)


def _sound(state: NDArray[np.float64]) -> bool:
    return bool(np.abs(state).max() < LARGEST_STATE)
