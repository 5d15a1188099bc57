"""MuJoCo Warp: the envs of a model on a CUDA device or, slowly and by the same code, on the CPU.

MuJoCo Warp computes in single precision. Fields are converted to double on the device after each control step. See
https://github.com/google-deepmind/mujoco_warp.
"""

# The packages of this extra may be missing, and carry no type stubs.
# pyright: reportAttributeAccessIssue=false, reportMissingImports=false, reportArgumentType=false, reportCallIssue=false

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
from mujoco_warp._src import collision_primitive
from torch import Tensor

from rewardgen.core.errors import MachineError, TaskError
from rewardgen.sim.live_fields import CONTACT_FORCES, LARGEST_STATE, MOCAP, LiveFields
from rewardgen.sim.tensors import constant, put_rows

_ON_CPU = "train it with `--device cpu`"
_STATE = ("time", "qpos", "qvel", "act", "qacc_warmstart")
"""State of an env, without controls and mocap bodies."""
_RESET = ("time", "act", "qacc_warmstart", "ctrl", "overflow", "qvel")
"""Fields that are zero when an episode begins."""
_LACKED_ROOM = mjw.OverflowType.ALL & ~(mjw.OverflowType.ITERATIONS | mjw.OverflowType.LS_ITERATIONS)
"""Flags of a step without room for all contacts or constraints; a solver that stopped early is no such step."""
_TRIED_EPISODES, _TRIED_STEPS = 4, 500
_ROOM = 2
"""Room for contacts and constraints of an env, relative to the most that random actions made."""
_SHARE = 0.5
"""Share of free memory for envs; rollouts and networks need the rest."""
_CAPSULE_ON_PLANE = collision_primitive.plane_capsule


@wp.func
def _capsule_on_plane(  # noqa: ANN202
    normal: wp.vec3, point: wp.vec3, position: wp.vec3, axis: wp.vec3, radius: float, half_length: float
):
    """Turn the friction pyramid of a capsule on a plane along the capsule, as MuJoCo does.

    MuJoCo Warp 4.0 turns it along the world's axes where a capsule is steeper than 60 degrees, as legs are.
    """
    distances, points, frame = _CAPSULE_ON_PLANE(normal, point, position, axis, radius, half_length)
    along = axis - normal * wp.dot(normal, axis)
    if wp.length(along) > 1e-6:
        along = wp.normalize(along)
        across = wp.cross(normal, along)
        frame = wp.matrix_from_rows(normal, along, across)
    return distances, points, frame


collision_primitive.plane_capsule = _capsule_on_plane


class WarpSimulator(LiveFields):
    """A `Simulator` of N envs over MuJoCo Warp. After construction the host never waits for the device.

    Its device is `cuda`, the current one, or `cpu`; the other arguments are those of `CpuSimulator`.

    Raises:
        MachineError: The device is missing, or its memory is too small for N envs.
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
        super().__init__(model, num_envs, frame_skip, place, contact_forces)
        self._frame_skip, self._current_fields = frame_skip, current_fields
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
        self._sources: dict[str, Tensor] = {}
        with wp.ScopedDevice(self._place):
            self._data = mjw.make_data(self._simulated, num_envs, **self._room)
            self._raw = {name: wp.to_torch(getattr(self._data, name)) for name in (*_STATE, "ctrl", "overflow", *MOCAP)}
            self._forward = self._recorded(lambda: mjw.forward(self._model, self._data))
            self._advance = self._recorded(self._launch_steps)
        for name in ("qpos", "qvel", "ctrl", *(MOCAP if model.nmocap else ())):
            self.field(name)
        self.reset(torch.arange(num_envs, device=self.device))
        self.before("qpos")
        self.before("qvel")

    def step(self, control: Tensor, ids: Tensor | None = None) -> None:
        """See `Simulator.step`. Envs at rest are stepped too, then put back."""
        self._remember()
        raw = self._raw
        raw["ctrl"].copy_(control)
        awake, kept = torch.ones_like(self._diverged), {}
        if ids is not None and len(ids) < self.num_envs:
            awake = torch.zeros_like(self._diverged).index_fill(0, ids, True)
            kept = {name: raw[name].clone() for name in _STATE}
        self._advance()
        self._fresh = False
        for name, state in kept.items():
            put_rows(raw[name], ~awake, state)
        sound = torch.stack([(raw[name].abs() < LARGEST_STATE).all(1) for name in ("qpos", "qvel")]).all(0)
        sound &= (raw["overflow"] & int(_LACKED_ROOM)) == 0
        self._diverged = awake & ~sound
        self._convert(awake & sound)

    def restore_diverged(self) -> Tensor:
        """See `Simulator.restore_diverged`. An env counts as diverged, too, if its step left out contacts.

        Derived fields keep their values from before the step.
        """
        diverged, self._diverged = self._diverged, torch.zeros_like(self._diverged)
        for name in _RESET:
            put_rows(self._raw[name], diverged, 0)
        put_rows(self._raw["qpos"], diverged, self._before["qpos"])
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
            qpos, qvel, mocap = (rows if rows is None else self._spread(ids, rows) for rows in (qpos, qvel, mocap))
            self._fresh = self._fresh or len(ids) == self.num_envs
        raw = self._raw
        for name in _RESET:
            put_rows(raw[name], which, 0)
        put_rows(raw["qpos"], which, (self._qpos0 if qpos is None else qpos).expand_as(raw["qpos"]))
        if qvel is not None:
            put_rows(raw["qvel"], which, qvel)
        if mocap is not None:
            for name, place in zip(MOCAP, (mocap[..., :3], mocap[..., 3:]), strict=True):
                put_rows(raw[name], which, place)
        warm = raw["qacc_warmstart"].clone()
        self._forward()
        put_rows(raw["qacc_warmstart"], ~which, warm)  # the other envs continue undisturbed
        self._convert(which)
        if CONTACT_FORCES in self._fields:
            put_rows(self._fields[CONTACT_FORCES], which, 0.0)
        self._remember(which)

    def _spread(self, ids: Tensor, values: Tensor) -> Tensor:
        """Rows of some envs, (n, ...), as rows of all."""
        return values.new_zeros(self.num_envs, *values.shape[1:]).index_copy(0, ids, values)

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
        """Record the work as one CUDA graph: its hundred small kernels take longer to launch than to run."""

        def directly() -> None:
            with wp.ScopedDevice(self._place):
                launch()

        if not self._place.is_cuda:
            return directly
        launch()  # compiles kernels, which a recording cannot
        with wp.ScopedCapture() as capture:
            launch()
        wp.synchronize_device(self._place)  # from here on all work is on torch's stream
        graph: Any = capture.graph
        return lambda: wp.capture_launch(graph, wp.stream_from_torch(self.device))

    def _bound(self, name: str) -> Tensor:
        array, shape = getattr(self._data, name, None), np.shape(getattr(mujoco.MjData(self.model), name))
        source = wp.to_torch(array) if isinstance(array, wp.array) else None
        if source is None or len(source) != self.num_envs or source[0].numel() != int(np.prod(shape)):
            what = f"MuJoCo Warp does not offer the data field `{name}`"
            raise TaskError(what, f"read a sensor instead, or {_ON_CPU}")
        self._sources[name] = source.view(self.num_envs, *shape)
        values = self._sources[name].double()
        return values.zero_() if name == CONTACT_FORCES else values  # those of a step before the reset are still there

    def _convert(self, which: Tensor) -> None:
        """Update the fields of some envs, (N,) bool."""
        for name, source in self._sources.items():
            put_rows(self._fields[name], which, source)


def _opened(device: str) -> Any:
    wp.init()
    try:
        return wp.get_device(device)
    except (RuntimeError, ValueError) as error:
        raise MachineError(f"there is no device `{device}` for MuJoCo Warp", "see `rewardgen doctor`") from error


def _accepted(model: mujoco.MjModel) -> mujoco.MjModel:
    """Return the model as MuJoCo Warp accepts it: without unsupported switches, and with Newton instead of PGS."""
    changed = copy.copy(model)
    for flag in (mujoco.mjtDisableBit.mjDSBL_AUTORESET, mujoco.mjtDisableBit.mjDSBL_MIDPHASE):
        changed.opt.disableflags &= ~int(flag)
    if changed.opt.solver == mujoco.mjtSolver.mjSOL_PGS:
        changed.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    return changed


def _put(model: mujoco.MjModel) -> Any:
    try:
        put = mjw.put_model(model)
    except NotImplementedError as error:
        raise TaskError(f"MuJoCo Warp cannot simulate the model: {error}", _ON_CPU) from error
    if model.nhistory:
        raise TaskError("MuJoCo Warp would not forget the delays of the model between episodes", _ON_CPU)
    put.opt.warn_overflow = 0  # `restore_diverged` reports overflows
    return put


def _room(model: mujoco.MjModel) -> dict[str, int]:
    """Numbers of contacts and constraints for which an env has room."""
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
    native = wp._src.context.runtime.core  # the public interface only prints a report
    with wp.ScopedMemoryTracker(print=False):
        native.wp_alloc_tracker_reset()
        mjw.step(put, mjw.make_data(model, num_envs, **room))
        return native.wp_alloc_tracker_get_peak_bytes()


def _free_bytes(device: Any) -> int:
    return device.free_memory if device.is_cuda else os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
