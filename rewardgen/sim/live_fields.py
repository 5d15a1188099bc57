"""Shared parts of simulators of MuJoCo models: facts of the model, fields by name, and their values before a step."""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import torch
from torch import Tensor

from rewardgen.core.errors import TaskError, did_you_mean
from rewardgen.core.physics import cannot_vary
from rewardgen.sim.tensors import put_rows, rows_of

CONTACT_FORCES = "cfrc_ext"
MOCAP = ("mocap_pos", "mocap_quat")
LARGEST_STATE = 1e10
"""MuJoCo's own limit (mjMAXVAL) beyond which a state counts as bad."""


class ModelFacts:
    """Attributes of a `Simulator` that follow from a MuJoCo model."""

    takes_masks = False
    most_envs: int | None = None

    def __init__(self, model: mujoco.MjModel, num_envs: int, frame_skip: int, device: torch.device) -> None:
        self.model, self.num_envs, self.device = model, num_envs, device
        self.control_step_s = float(model.opt.timestep) * frame_skip
        self.state_size = model.nq, model.nv
        limits = torch.tensor(model.actuator_ctrlrange, dtype=torch.float32, device=device)
        self.action_low, self.action_high = limits[:, 0].contiguous(), limits[:, 1].contiguous()
        self.action_parts = action_parts(model)

    def names(self, kind: str) -> tuple[str, ...]:
        """See `Simulator.names`; a kind is a noun of mjModel, such as `body`, `joint`, `sensor` or `key`."""
        count = getattr(self.model, {"joint": "njnt", "actuator": "nu"}.get(kind, f"n{kind}"))
        return tuple(getattr(self.model, kind)(index).name for index in range(count))

    def vary(self, which: Tensor, factors: Mapping[str, Tensor]) -> None:
        """See `Simulator.vary`."""
        raise cannot_vary()


class LiveFields(ModelFacts):
    """Fields of all envs by name, bound when first read, and their values before the last control step."""

    def __init__(
        self, model: mujoco.MjModel, num_envs: int, frame_skip: int, device: torch.device, contact_forces: bool
    ) -> None:
        super().__init__(model, num_envs, frame_skip, device)
        self._contact_forces = contact_forces
        self._fields: dict[str, Tensor] = {}
        self._before: dict[str, Tensor] = {}
        self._fresh = True
        """True if all envs were reset since the last step."""

    def field(self, name: str) -> Tensor:
        """See `Simulator.field`; `cfrc_ext` needs `contact_forces`."""
        if name not in self._fields:
            import mujoco.batch  # missing in older releases

            if name not in mujoco.batch.DATA_FIELDS:
                raise TaskError(f"MuJoCo has no data field `{name}`", did_you_mean(name, mujoco.batch.DATA_FIELDS))
            self._need_fresh(f"field({name!r})")
            if name == CONTACT_FORCES and not self._contact_forces:
                raise TaskError(f"`{name}` is read but not computed", "set `needs_contact_forces = True` in the task")
            self._fields[name] = self._bound(name)
        return self._fields[name]

    def before(self, name: str) -> Tensor:
        """See `Simulator.before`."""
        if name not in self._before:
            self._need_fresh(f"before({name!r})")
            self._before[name] = self.field(name).clone()
        return self._before[name]

    def _bound(self, name: str) -> Tensor:
        """Bind a field: (N, ...) float64, live from now on."""
        raise NotImplementedError

    def _remember(self, which: Tensor | None = None) -> None:
        """Copy the present fields to the values before, for some envs, (n,) int64 or (N,) bool, or for all."""
        for name, earlier in self._before.items():
            if which is None:
                earlier.copy_(self._fields[name])
            else:
                put_rows(earlier, which, rows_of(self._fields[name], which))

    def _need_fresh(self, call: str) -> None:
        if not self._fresh:
            what = f"`{call}` was first read in the middle of an episode"
            raise TaskError(what, "read it at every call of the method, whatever the state")


def action_parts(model: mujoco.MjModel) -> tuple[str, ...]:
    """Return the names of the actuators; an unnamed actuator has the name of its joint."""
    return tuple(model.actuator(index).name or _driven(model, index) for index in range(model.nu))


def _driven(model: mujoco.MjModel, index: int) -> str:
    on_joint = model.actuator_trntype[index] == mujoco.mjtTrn.mjTRN_JOINT
    name = model.joint(int(model.actuator_trnid[index, 0])).name if on_joint else ""
    return name or f"actuator_{index}"
