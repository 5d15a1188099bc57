"""MuJoCo Warp: the envs of a model on a CUDA device or, slowly and by the same code, on the CPU.

Its physics is in single precision; fields are given in double, as everywhere, and converted on the device after each
control step. See https://github.com/google-deepmind/mujoco_warp.
"""

# MuJoCo's compiled modules carry no type stubs, and the packages of this extra may be missing.
# pyright: reportAttributeAccessIssue=false, reportMissingImports=false

from __future__ import annotations

import copy
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
from rewardgen.sim import warp_contacts  # noqa: F401  (fixes MuJoCo Warp)
from rewardgen.sim.constants import constant
from rewardgen.sim.live_fields import CONTACT_FORCES, LARGEST_STATE, MOCAP, LiveFields, without_contact_forces
from rewardgen.sim.rows import as_column, put_rows

_ON_CPU = "train it with `--device cpu`"
_STATE = ("time", "qpos", "qvel", "act", "qacc_warmstart")
"""State of an env, besides its controls and mocap bodies."""
_RESET = ("time", "act", "qacc_warmstart", "ctrl", "overflow", "qvel")
"""Fields that are zero when an episode begins."""
_LACKED_ROOM = mjw.OverflowType.ALL & ~(mjw.OverflowType.ITERATIONS | mjw.OverflowType.LS_ITERATIONS)
"""Contacts or constraints were left out of a step. A solver that stops early leaves out nothing."""
_TRIED_EPISODES, _TRIED_STEPS = 4, 500
_ROOM = 2
"""Contacts and constraints of an env, relative to the most that random actions made."""
_SHARE = 0.5
"""Share of the free memory for envs; rollouts and networks need the rest."""
_MANY, _WORTH = 4096, 0.75
"""With at least `_MANY` envs, those at rest are left out once at most the share `_WORTH` is awake. With fewer, a step
takes as long as one of half as many."""


class WarpSimulator(LiveFields):
    """N envs over MuJoCo Warp; a `Simulator`. Further arguments are those of `SimulatorFactory`.

    The host waits for the device while it is made, and where many envs are left out or come back: in no other step.
    Those that were left out come back when they are stepped or reset by their numbers; a mask does not reach them.

    Args:
        device: `cuda`, the current one, or `cpu`.

    Attributes:
        most_envs: How many envs its free memory had room for.

    Raises:
        MachineError: There is no such device, or its memory has no room for so many envs.
        TaskError: MuJoCo Warp cannot simulate the model.
    """

    takes_masks = True

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
        wp.config.log_level = wp.LOG_ERROR
        self._place = _opened(device)
        place = torch.device(*("cuda", self._place.ordinal) if self._place.is_cuda else ("cpu",))
        super().__init__(model, num_envs, frame_skip, place)
        self._frame_skip, self._contact_forces, self._current_fields = frame_skip, contact_forces, current_fields
        self._simulated = _accepted(model)
        with wp.ScopedDevice(self._place):
            self._model = _put(self._simulated)
            self._room = _room(self._simulated)
            most = _most_envs(self._simulated, self._model, self._room, self._place)
        self.most_envs: int | None = most
        if num_envs > most:
            what = f"{num_envs} envs do not fit into the memory of {self._place}, {most} do"
            raise MachineError(what, "train with a smaller `num_envs`")
        self._qpos0 = constant(model.qpos0, self.device)
        self._diverged = torch.zeros(num_envs, dtype=torch.bool, device=self.device)
        self._all = self._rows = torch.arange(num_envs, device=self.device)
        self._stepped: Tensor | None = None
        self._sources: dict[str, Tensor] = {}
        self._allot()
        for name in ("qpos", "qvel", "ctrl", *(MOCAP if model.nmocap else ())):
            self.field(name)
        self.reset(self._all)
        self.before("qpos")
        self.before("qvel")

    def step(self, control: Tensor, ids: Tensor | None = None) -> None:
        """See `Simulator.step`. Envs at rest are stepped too and put back, or left out if there are many."""
        if len(self._rows) < self.num_envs and ids is not self._stepped and not self._has(ids):
            self._simulate(self._all)
        if ids is not None and len(self._rows) >= _MANY and 0 < len(ids) <= _WORTH * len(self._rows):
            self._simulate(ids)
        self._stepped = ids
        self._remember()
        raw, rows = self._raw, self._rows
        raw["ctrl"].copy_(control[rows])
        awake, kept = torch.ones_like(rows, dtype=torch.bool), {}
        if ids is not None and len(ids) < len(rows):
            awake = torch.zeros_like(self._diverged).index_fill(0, ids, True)[rows]
            kept = {name: raw[name].clone() for name in _STATE}
        self._advance()
        self._fresh = False
        for name, state in kept.items():
            put_rows(raw[name], ~awake, state)
        sound = torch.stack([(raw[name].abs() < LARGEST_STATE).all(1) for name in ("qpos", "qvel")]).all(0)
        sound &= (raw["overflow"] & int(_LACKED_ROOM)) == 0
        self._diverged[rows] = awake & ~sound
        self._convert(awake & sound)

    def restore_diverged(self) -> Tensor:
        """See `Simulator.restore_diverged`. An env in whose step contacts were left out counts as diverged.

        Its derived fields stay what they were before the step.
        """
        diverged, self._diverged = self._diverged, torch.zeros_like(self._diverged)
        own = diverged[self._rows]
        for name in _RESET:
            put_rows(self._raw[name], own, 0)
        put_rows(self._raw["qpos"], own, self._before["qpos"][self._rows])
        for name in {"qvel", "ctrl", CONTACT_FORCES} & self._fields.keys():
            put_rows(self._fields[name], diverged, 0.0)
        self._remember(diverged)
        return diverged

    def reset(
        self, which: Tensor, qpos: Tensor | None = None, qvel: Tensor | None = None, mocap: Tensor | None = None
    ) -> None:
        """See `Simulator.reset`."""
        if which.dtype != torch.bool:
            ids, which = which, torch.zeros_like(self._diverged).index_fill(0, which, True)
            qpos, qvel, mocap = (each if each is None else self._spread(ids, each) for each in (qpos, qvel, mocap))
            if len(self._rows) < self.num_envs and not self._has(ids):
                self._simulate(self._all)
            self._fresh = self._fresh or len(ids) == self.num_envs
        raw, own = self._raw, which[self._rows]
        for name in _RESET:
            put_rows(raw[name], own, 0)
        put_rows(raw["qpos"], own, (self._qpos0 if qpos is None else qpos[self._rows]).expand_as(raw["qpos"]))
        if qvel is not None:
            put_rows(raw["qvel"], own, qvel[self._rows])
        if mocap is not None:
            for name, place in zip(MOCAP, (mocap[..., :3], mocap[..., 3:]), strict=True):
                put_rows(raw[name], own, place[self._rows])
        warm = raw["qacc_warmstart"].clone()
        self._forward()
        put_rows(raw["qacc_warmstart"], ~own, warm)  # the other envs go on as if nothing had been
        self._convert(own)
        if CONTACT_FORCES in self._fields:
            put_rows(self._fields[CONTACT_FORCES], which, 0.0)
        self._remember(which)

    def _spread(self, ids: Tensor, values: Tensor) -> Tensor:
        """Rows for some envs, (n, ...), as rows for all of them."""
        return values.new_zeros(self.num_envs, *values.shape[1:]).index_copy(0, ids, values)

    def _has(self, ids: Tensor | None) -> bool:
        """True if some envs, or all, are being simulated."""
        return ids is not None and bool(torch.isin(ids, self._rows).all())

    def _simulate(self, rows: Tensor) -> None:
        """Have memory for some envs only, (n,). They go on as they are; of those that come back only positions,
        velocities, controls and mocap bodies are known.
        """
        carried = {name: self._fields[name][rows] for name in ("qpos", "qvel", "ctrl", *MOCAP) if name in self._fields}
        for name in {*_STATE, "overflow"} - carried.keys():
            carried[name] = self._spread(self._rows, self._raw[name])[rows]
        wp.synchronize_device(self._place)  # torch may be reading what is given back now
        del self._data, self._raw, self._forward, self._advance
        self._sources = dict.fromkeys(self._sources, rows)
        self._rows = rows
        self._allot()
        for name, values in carried.items():
            self._raw[name].copy_(values)

    def _allot(self) -> None:
        """Memory for the envs that are simulated."""
        with wp.ScopedDevice(self._place):
            self._data = mjw.make_data(self._simulated, len(self._rows), **self._room)
            self._raw = {name: wp.to_torch(getattr(self._data, name)) for name in (*_STATE, "ctrl", "overflow", *MOCAP)}
            self._forward = self._recorded(self._launch_forward)
            self._advance = self._recorded(self._launch_steps)
        self._sources = {name: self._source(name) for name in self._sources}

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
        source = self._source(name)
        self._sources[name] = source
        return self._spread(self._rows, source.double())

    def _source(self, name: str) -> Tensor:
        """A field of the envs that are simulated, as MuJoCo Warp has it, (n, ...)."""
        array, shape = getattr(self._data, name, None), np.shape(getattr(mujoco.MjData(self.model), name))
        found = wp.to_torch(array) if isinstance(array, wp.array) else None
        if found is None or found.shape[:1] != self._rows.shape or found[0].numel() != int(np.prod(shape)):
            raise TaskError(
                f"MuJoCo Warp does not offer the data field `{name}`", f"read a sensor instead, or {_ON_CPU}"
            )
        return found.view(len(found), *shape)

    def _convert(self, which: Tensor) -> None:
        """Bring fields up to date, of some of the envs that are simulated, (n,) bool."""
        for name, source in self._sources.items():
            field = self._fields[name]
            field[self._rows] = torch.where(as_column(which, source), source.double(), field[self._rows])


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
    """Contacts and constraints for which an env has room."""
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


def _most_envs(model: mujoco.MjModel, put: Any, room: dict[str, int], device: Any) -> int:
    """Number of envs that fit into the free memory of the current device, with this room in each."""
    one, two = (_peak_bytes(model, put, room, num_envs) for num_envs in (1, 2))
    return max(0, int((_SHARE * _free_bytes(device) - one) // (two - one)) + 1)


def _peak_bytes(model: mujoco.MjModel, put: Any, room: dict[str, int], num_envs: int) -> int:
    """Peak memory of some envs, including that of a step."""
    native = wp._src.context.runtime.core  # what is public of it is a report to read
    with wp.ScopedMemoryTracker(print=False):
        native.wp_alloc_tracker_reset()
        mjw.step(put, mjw.make_data(model, num_envs, **room))
        return native.wp_alloc_tracker_get_peak_bytes()


def _free_bytes(device: Any) -> int:
    return device.free_memory if device.is_cuda else os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
