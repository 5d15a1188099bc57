"""The seam between environments and physics: `Simulator`, and the registry of simulators of MuJoCo models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import mujoco
import torch
from torch import Tensor

from rewardgen.core.errors import MachineError
from rewardgen.core.extras import install_hint
from rewardgen.core.physics import cannot_vary
from rewardgen.core.registry import Registry
from rewardgen.sim.mujoco_cpu import CpuSimulator


class Simulator(Protocol):
    """N envs of one physical system, stepped together, without tasks, episodes and rewards.

    All tensors lie on `device`, env axis first; states and fields are float64. An env must not depend on other envs.

    To add a physics engine, derive a class and let a task's `make_envs` return
    `SimulatorEnv(self, YourSimulator(...), seeds)`. To add another way to step MuJoCo models, define `model` too and
    register the class, `SIMULATORS.register("point-mass", PointMass)`; a `MujocoTask` selects it with
    `simulator = "point-mass"`.
    """

    device: torch.device
    num_envs: int
    """N."""
    control_step_s: float
    """Duration of a control step [s]."""
    state_size: tuple[int, int]
    """Numbers of positions and of velocities, (nq, nv)."""
    action_low: Tensor
    """Lowest control of each actuator, (A,) float32."""
    action_high: Tensor
    """Highest control of each actuator, (A,) float32."""
    action_parts: tuple[str, ...]
    """Names of the actuators."""
    takes_masks: bool = False
    """True if `reset` also takes a mask, for which the host need not wait for a GPU."""
    most_envs: int | None = None
    """Largest N that fits into the device's free memory; None if unlimited."""

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the names of parts of a kind, such as `body` or `joint`, in the order of the fields."""
        return ()

    def field(self, name: str) -> Tensor:
        """Return a field of all envs, (N, ...), live: the tensor changes with the next step.

        Raises:
            TaskError: The field is unknown, or is first read in the middle of an episode.
        """
        ...

    def before(self, name: str) -> Tensor:
        """Return a field before the last control step, (N, ...); the current value in envs that were just reset.

        Raises:
            TaskError: As for `field`.
        """
        ...

    def step(self, control: Tensor, ids: Tensor | None = None) -> None:
        """Advance envs by one control step.

        Args:
            control: Actuator controls, (N, A), within their ranges.
            ids: Envs to advance, (n,) int64; all by default. Other envs do not change.
        """
        ...

    def reset(
        self, which: Tensor, qpos: Tensor | None = None, qvel: Tensor | None = None, mocap: Tensor | None = None
    ) -> None:
        """Put envs into a state and compute all fields, without a trace of earlier states.

        Args:
            which: Envs, (n,) int64; or a mask, (N,) bool: then n is N, and rows of other envs are ignored.
            qpos: Positions, (n, nq); the reference pose by default.
            qvel: Velocities, (n, nv); zero by default.
            mocap: Position and quaternion of each mocap body, (n, nmocap, 7); unchanged by default.
        """
        ...

    def restore_diverged(self) -> Tensor:
        """Return envs with a state that is not finite to their positions before the control step, at rest.

        Called once after each control step. Derived fields may keep their earlier values.

        Returns:
            True for envs that diverged, (N,) bool.
        """
        ...

    def vary(self, which: Tensor, factors: Mapping[str, Tensor]) -> None:
        """Multiply values of the model in some envs, (n,) int64, until the next call; called before their `reset`.

        `factors` maps parameters of `rewardgen.core.physics` to the factor in each env, (n,). By default a TaskError.
        """
        raise cannot_vary()


class MujocoSimulator(Simulator, Protocol):
    """A simulator of a MuJoCo model."""

    model: mujoco.MjModel


OWN_SENSORS = "rewardgen:"
"""Prefix of the names of sensors that rewardgen adds to a model."""
MUJOCO_CPU = "mujoco-cpu"
ON_DEVICE = {"cuda": "mujoco-warp", "warp-cpu": "mujoco-warp-cpu"}
"""Simulator that replaces `MUJOCO_CPU` on a device, by device."""


def _warp(device: str) -> Callable[..., MujocoSimulator]:
    def make(model: mujoco.MjModel, num_envs: int, frame_skip: int, **options: Any) -> MujocoSimulator:
        try:
            from rewardgen.sim.mujoco_warp import WarpSimulator
        except ImportError as error:
            raise MachineError(f"MuJoCo Warp is not installed: {error}", install_hint("gpu")) from error
        return WarpSimulator(model, num_envs, frame_skip, device=device, **options)

    return make


SIMULATORS: Registry[Callable[..., MujocoSimulator]] = Registry("simulator")
"""Makers of a simulator of a MuJoCo model, with the arguments of `CpuSimulator`."""
SIMULATORS.register(MUJOCO_CPU, CpuSimulator)
SIMULATORS.register(ON_DEVICE["cuda"], _warp("cuda"))
SIMULATORS.register(ON_DEVICE["warp-cpu"], _warp("cpu"))
