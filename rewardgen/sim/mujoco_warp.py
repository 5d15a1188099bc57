"""MuJoCo Warp: the worlds of a model on a CUDA device or, slowly and by the same code, on the CPU.

Its physics is in single precision; fields are given in double, as everywhere, and converted on the device after each
control step. See https://github.com/google-deepmind/mujoco_warp.
"""

# MuJoCo's compiled modules carry no type stubs, and the packages of this extra may be missing.
# pyright: reportAttributeAccessIssue=false, reportMissingImports=false

from __future__ import annotations

import copy
import dataclasses
import os
from collections.abc import Callable
from typing import Any

import mujoco
import mujoco_warp as mjw
import numpy as np
import torch
import warp as wp
from torch import Tensor

from rewardgen.core.errors import MachineError, TaskError
from rewardgen.sim import warp_contacts  # noqa: F401  (mends MuJoCo Warp)
from rewardgen.sim.live_fields import CONTACT_FORCES, LARGEST_STATE, MOCAP, LiveFields, without_contact_forces

_ON_CPU = "train it with `--device cpu`"
_STATE = ("time", "qpos", "qvel", "act", "qacc_warmstart")
"""What a world goes on from, besides its controls and mocap bodies."""
_LACKED_ROOM = mjw.OverflowType.ALL & ~(mjw.OverflowType.ITERATIONS | mjw.OverflowType.LS_ITERATIONS)
"""Contacts or constraints were left out of a step. A solver that stops early leaves out nothing."""
_TRIED_EPISODES, _TRIED_STEPS = 4, 500
_ROOM = 2
"""Contacts and constraints of a world, relative to the most that random actions made."""
_SHARE = 0.5
"""Of the free memory that worlds may take; rollouts and networks need the rest."""


class WarpSimulator(LiveFields):
    """N worlds over MuJoCo Warp; a `Simulator`. Further arguments are those of `SimulatorFactory`.

    Args:
        device: `cuda`, the current one, or `cpu`.

    Attributes:
        most_worlds: How many worlds its free memory had room for.

    Raises:
        MachineError: There is no such device, or its memory has no room for so many worlds.
        TaskError: MuJoCo Warp cannot simulate the model.
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
        device: str = "cuda",
    ) -> None:
        super().__init__()
        self.model, self.num_envs = model, num_envs
        self.control_step_s = float(model.opt.timestep) * frame_skip
        self._frame_skip, self._contact_forces, self._current_fields = frame_skip, contact_forces, current_fields
        wp.config.log_level = wp.LOG_ERROR
        self._place = _opened(device)
        self.device = torch.device(*("cuda", self._place.ordinal) if self._place.is_cuda else ("cpu",))
        with wp.ScopedDevice(self._place):
            simulated = _accepted(model)
            self._model = _put(simulated)
            room = _room(simulated)
            self.most_worlds = _most_worlds(simulated, room, self._place)
            if num_envs > self.most_worlds:
                what = f"{num_envs} worlds do not fit into the memory of {self._place}, {self.most_worlds} do"
                raise MachineError(what, "train with a smaller `num_envs`")
            self._data = mjw.make_data(simulated, num_envs, **room)
            self._raw = {name: wp.to_torch(getattr(self._data, name)) for name in (*_STATE, "ctrl", "overflow", *MOCAP)}
            self._qpos0 = torch.tensor(model.qpos0, device=self.device)
            self._forward = self._recorded(self._launch_forward)
            self._advance = self._recorded(self._launch_steps)
        self._sources: dict[str, Tensor] = {}
        self._all = torch.arange(num_envs, device=self.device)
        for name in ("qpos", "qvel", "ctrl", *(MOCAP if model.nmocap else ())):
            self.field(name)
        self.reset(self._all)
        self.before("qpos")
        self.before("qvel")

    def step(self, control: Tensor, ids: Tensor | None = None) -> None:
        """See `Simulator.step`. Worlds at rest are stepped too and put back."""
        self._remember()
        self._raw["ctrl"].copy_(control)
        kept = {} if ids is None else {name: self._raw[name].clone() for name in _STATE}
        self._advance()
        self._fresh = False
        if ids is None:
            self._convert()
            return
        resting = torch.ones(self.num_envs, dtype=torch.bool, device=self.device).index_fill(0, ids, False)
        for name, state in kept.items():
            rows = resting.view(-1, *[1] * (state.dim() - 1))
            self._raw[name].copy_(torch.where(rows, state, self._raw[name]))
        self._convert(ids)

    def restore_diverged(self) -> Tensor:
        """See `Simulator.restore_diverged`. A world in whose step contacts were left out counts as diverged."""
        states = (self._raw["qpos"], self._raw["qvel"])
        sound = torch.stack([(each.abs() < LARGEST_STATE).all(1) for each in states]).all(0)
        diverged = ~sound | ((self._raw["overflow"] & int(_LACKED_ROOM)) != 0)
        if bool(diverged.any()):
            self.reset(diverged.nonzero()[:, 0], self._before["qpos"][diverged])
        return diverged

    def reset(
        self, ids: Tensor, qpos: Tensor | None = None, qvel: Tensor | None = None, mocap: Tensor | None = None
    ) -> None:
        """See `Simulator.reset`."""
        raw = self._raw
        for name in ("time", "act", "qacc_warmstart", "ctrl", "overflow", "qvel"):
            raw[name][ids] = 0
        raw["qpos"][ids] = (self._qpos0 if qpos is None else qpos).to(raw["qpos"].dtype).expand(len(ids), -1)
        if qvel is not None:
            raw["qvel"][ids] = qvel.to(raw["qvel"].dtype)
        if mocap is not None:
            for name, place in zip(MOCAP, (mocap[..., :3], mocap[..., 3:]), strict=True):
                raw[name][ids] = place.to(raw[name].dtype)
        warm = raw["qacc_warmstart"].clone()
        self._forward()
        warm[ids] = raw["qacc_warmstart"][ids]
        raw["qacc_warmstart"].copy_(warm)  # the other worlds go on as if nothing had been
        self._convert(ids)
        if CONTACT_FORCES in self._fields:
            self._fields[CONTACT_FORCES][ids] = 0.0
        self._remember(ids)
        self._fresh = self._fresh or len(ids) == self.num_envs

    def _launch_forward(self) -> None:
        mjw.forward(self._model, self._data)

    def _launch_steps(self) -> None:
        model, data = self._model, self._data
        for _ in range(self._frame_skip):
            mjw.step(model, data)
        if self._contact_forces:
            mjw.rne_postconstraint(model, data)
        if self._current_fields:  # as `mj_step1` begins the next step
            mjw.fwd_position(model, data)
            mjw.sensor_pos(model, data)
            mjw.fwd_velocity(model, data)
            mjw.sensor_vel(model, data)

    def _recorded(self, launch: Callable[[], None]) -> Callable[[], None]:
        """The same work as one CUDA graph: some hundred small kernels, which take longer to launch than to run."""

        def directly() -> None:
            with wp.ScopedDevice(self._place):
                launch()

        if not self._place.is_cuda:
            return directly
        launch()  # compiles and loads what cannot be while a graph is recorded
        with wp.ScopedCapture() as capture:
            launch()
        wp.synchronize_device(self._place)  # from here on all work is on torch's stream
        graph: Any = capture.graph
        return lambda: wp.capture_launch(graph, wp.stream_from_torch(self.device))

    def _bound(self, name: str) -> Tensor:
        if name == CONTACT_FORCES and not self._contact_forces:
            raise without_contact_forces()
        array, shape = getattr(self._data, name, None), np.shape(getattr(mujoco.MjData(self.model), name))
        found = wp.to_torch(array) if isinstance(array, wp.array) else None
        if found is None or found.shape[:1] != (self.num_envs,) or found[0].numel() != int(np.prod(shape)):
            raise TaskError(
                f"MuJoCo Warp does not offer the data field `{name}`", f"read a sensor instead, or {_ON_CPU}"
            )
        self._sources[name] = found.view(self.num_envs, *shape)
        return self._sources[name].double()

    def _convert(self, ids: Tensor | None = None) -> None:
        """Bring fields up to date, of some worlds or of all."""
        for name, source in self._sources.items():
            if ids is None:
                self._fields[name].copy_(source)
            else:
                self._fields[name][ids] = source[ids].double()


def _opened(device: str) -> Any:
    wp.init()
    try:
        return wp.get_device(device)
    except (RuntimeError, ValueError) as error:
        raise MachineError(f"there is no device `{device}` for MuJoCo Warp", "see `rewardgen doctor`") from error


def _accepted(model: mujoco.MjModel) -> mujoco.MjModel:
    """A model as MuJoCo Warp takes it: PGS becomes Newton, which solves the same problem; some switches it lacks."""
    changed = copy.copy(model)
    for flag in (mujoco.mjtDisableBit.mjDSBL_AUTORESET, mujoco.mjtDisableBit.mjDSBL_MIDPHASE):
        changed.opt.disableflags &= ~int(flag)
    if changed.opt.solver == mujoco.mjtSolver.mjSOL_PGS:
        changed.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    return changed


def _put(model: mujoco.MjModel) -> Any:
    """The model on the current device."""
    try:
        put = mjw.put_model(model)
    except NotImplementedError as error:
        raise TaskError(f"MuJoCo Warp cannot simulate the model: {error}", _ON_CPU) from error
    if model.nhistory:
        raise TaskError("MuJoCo Warp would not forget the delays of the model between episodes", _ON_CPU)
    put.opt.warn_overflow = 0  # `restore_diverged` tells of it
    return put


def _room(model: mujoco.MjModel) -> dict[str, int]:
    """Contacts and constraints for which a world has room."""
    data, random = mujoco.MjData(model), np.random.default_rng(0)
    contacts = constraints = 0
    for _ in range(_TRIED_EPISODES):
        mujoco.mj_resetData(model, data)
        for _ in range(_TRIED_STEPS):
            data.ctrl[:] = random.uniform(*model.actuator_ctrlrange.T)
            mujoco.mj_step(model, data)
            contacts, constraints = max(contacts, data.ncon), max(constraints, data.nefc)
    usual = mjw.make_data(model, 1)
    return {"nconmax": max(_ROOM * contacts, usual.naconmax), "njmax": max(_ROOM * constraints, usual.njmax)}


def _most_worlds(model: mujoco.MjModel, room: dict[str, int], device: Any) -> int:
    """How many worlds fit into the free memory of the current device, with this room in each."""
    one, two = (_bytes(mjw.make_data(model, worlds, **room)) for worlds in (1, 2))
    return max(0, int((_SHARE * _free_bytes(device) - one) // (two - one)) + 1)


def _bytes(holder: Any) -> int:
    """Memory of all arrays in a structure."""
    if isinstance(holder, wp.array):
        return holder.capacity
    if not dataclasses.is_dataclass(holder):
        return 0
    return sum(_bytes(getattr(holder, each.name)) for each in dataclasses.fields(holder))


def _free_bytes(device: Any) -> int:
    return device.free_memory if device.is_cuda else os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
