"""Base of simulators of MuJoCo models: facts of the model, fields bound when first read, and their last values."""

# MuJoCo's compiled modules carry no type stubs.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import mujoco
import torch
from torch import Tensor

from rewardgen.core.errors import TaskError, did_you_mean
from rewardgen.sim.rows import put_rows, rows_of

CONTACT_FORCES = "cfrc_ext"
MOCAP = ("mocap_pos", "mocap_quat")
LARGEST_STATE = 1e10
"""MuJoCo's own limit (mjMAXVAL) beyond which a state counts as bad."""


class ModelFacts:
    """The attributes of a `Simulator` that follow from a MuJoCo model.

    Args:
        model: The model.
        num_envs: N.
        frame_skip: Physics steps per control step.
        device: Where the simulator's tensors lie.
    """

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
        """See `Simulator.names`; kinds are those of mjModel, such as `body`, `joint`, `sensor` and `key`."""
        count = getattr(self.model, {"joint": "njnt", "actuator": "nu"}.get(kind, f"n{kind}"))
        return tuple(getattr(self.model, kind)(index).name for index in range(count))


class LiveFields(ModelFacts):
    """Fields of all envs by name, and their values before the last control step."""

    def __init__(self, model: mujoco.MjModel, num_envs: int, frame_skip: int, device: torch.device) -> None:
        super().__init__(model, num_envs, frame_skip, device)
        self._fields: dict[str, Tensor] = {}
        self._before: dict[str, Tensor] = {}
        self._fresh = True
        """True while all episodes have just begun."""

    def field(self, name: str) -> Tensor:
        """See `Simulator.field`; `cfrc_ext` exists with `contact_forces` only."""
        if name not in self._fields:
            import mujoco.batch  # missing in older releases

            if name not in mujoco.batch.DATA_FIELDS:
                raise TaskError(f"MuJoCo has no data field `{name}`", did_you_mean(name, mujoco.batch.DATA_FIELDS))
            self._need_fresh(f"field({name!r})")
            self._fields[name] = self._bound(name)
        return self._fields[name]

    def before(self, name: str) -> Tensor:
        """See `Simulator.before`."""
        if name not in self._before:
            self._need_fresh(f"before({name!r})")
            self._before[name] = self.field(name).clone()
        return self._before[name]

    def _bound(self, name: str) -> Tensor:
        """The field, (N, ...) float64, live from now on."""
        raise NotImplementedError

    def _remember(self, which: Tensor | None = None) -> None:
        """Store the present fields as those before, of some envs, (n,) int64 or (N,) bool, or of all."""
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
    """Names of the actuators, in order; an actuator without a name is called after the joint it drives."""
    return tuple(model.actuator(index).name or _driven(model, index) for index in range(model.nu))


def _driven(model: mujoco.MjModel, index: int) -> str:
    on_joint = model.actuator_trntype[index] == mujoco.mjtTrn.mjTRN_JOINT
    name = model.joint(int(model.actuator_trnid[index, 0])).name if on_joint else ""
    return name or f"actuator_{index}"


def without_contact_forces() -> TaskError:
    """Error of a task that reads contact forces without asking for them."""
    return TaskError("`cfrc_ext` is read but not computed", "set `needs_contact_forces = True` in the task")
