"""The seam between environments and physics: what a simulator is, and how one of a MuJoCo model is made."""

# MuJoCo's compiled modules carry no type stubs.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any, Protocol

import mujoco
import torch
from torch import Tensor

from rewardgen.core.errors import MachineError
from rewardgen.core.extras import install_hint
from rewardgen.core.registry import Registry
from rewardgen.sim.mujoco_cpu import CpuSimulator


class Simulator(Protocol):
    """N envs of one physical system, stepped together; independent of tasks, episodes and rewards.

    Everything lies on `device`, env axis first; states and fields are float64. An env's numbers must not depend on the
    envs beside it.

    To add a physics engine, derive a class from this one and let a task's `make_envs` return
    `SimulatorEnv(self, YourSimulator(...), seeds)`. To add another way to step MuJoCo models, write a class with a
    `model` too and register its factory, `SIMULATORS.register("point-mass", PointMass)`; a `MujocoTask` chooses it by
    name, `simulator = "point-mass"`.
    """

    device: torch.device
    num_envs: int
    """N."""
    control_step_s: float
    """Duration of a control step [s]."""
    state_size: tuple[int, int]
    """Entries of the positions and of the velocities, (nq, nv)."""
    action_low: Tensor
    """Lowest control of each actuator, (A,) float32."""
    action_high: Tensor
    """Highest control of each actuator, (A,) float32."""
    action_parts: tuple[str, ...]
    """Names of the actuators."""
    takes_masks: bool = False
    """True if `reset` also takes a mask: on a GPU the host would wait to number envs."""
    most_envs: int | None = None
    """Envs that the device's free memory has room for; None if unlimited."""

    def names(self, kind: str) -> tuple[str, ...]:
        """Names of the system's parts of a kind, such as `body` or `joint`, in the order in which fields have them."""
        return ()

    def field(self, name: str) -> Tensor:
        """A field of every env, (N, ...), live: its tensor changes with the next step.

        Raises:
            TaskError: The field is unknown, or was first read after an episode had begun.
        """
        ...

    def before(self, name: str) -> Tensor:
        """A field before the last control step, (N, ...); the current value in envs that were just reset.

        Raises:
            TaskError: As for `field`.
        """
        ...

    def step(self, control: Tensor, ids: Tensor | None = None) -> None:
        """Advance envs by one control step.

        Args:
            control: Actuator controls, (N, A), within their ranges.
            ids: Which envs, (n,) int64; all by default. The others stay as they are.
        """
        ...

    def reset(
        self, which: Tensor, qpos: Tensor | None = None, qvel: Tensor | None = None, mocap: Tensor | None = None
    ) -> None:
        """Put envs into a state and compute all that follows from it, without a trace of earlier states.

        Args:
            which: Which envs, (n,) int64; or a mask, (N,) bool: then n is N below, and rows of other envs are ignored.
            qpos: Positions, (n, nq); the reference pose by default.
            qvel: Velocities, (n, nv); zero by default.
            mocap: Position and quaternion of each mocap body, (n, nmocap, 7); unchanged by default.
        """
        ...

    def restore_diverged(self) -> Tensor:
        """Put envs with a state that is not finite back to their state before the control step, at rest.

        Called once after each control step. Derived fields may keep their values from before the step.

        Returns:
            True for envs that diverged, (N,) bool.
        """
        ...


class MujocoSimulator(Simulator, Protocol):
    """A simulator of a MuJoCo model."""

    model: mujoco.MjModel


class SimulatorFactory(Protocol):
    """Makes a simulator of a MuJoCo model; the class itself, if its constructor takes these arguments."""

    def __call__(
        self,
        model: mujoco.MjModel,
        num_envs: int,
        frame_skip: int,
        *,
        threads: int,
        contact_forces: bool,
        current_fields: bool,
    ) -> MujocoSimulator:
        """A simulator of a model.

        Args:
            model: The compiled model, with MuJoCo's automatic reset switched off.
            num_envs: N.
            frame_skip: Physics steps per control step.
            threads: Physics threads on the CPU.
            contact_forces: Compute `cfrc_ext` after each control step, one pass per env.
            current_fields: Fields that follow from positions and velocities describe the state after a control step,
                as after `mj_step1`, instead of the last physics substep.
        """
        ...


OWN_SENSORS = "rewardgen:"
"""Prefix of the names of the sensors that are added to a model."""
MUJOCO_CPU = "mujoco-cpu"
ON_DEVICE = {"cuda": "mujoco-warp", "warp-cpu": "mujoco-warp-cpu"}
"""Device to the simulator that takes the place of `MUJOCO_CPU` there."""


def _warp(device: str) -> SimulatorFactory:
    def make(model: mujoco.MjModel, num_envs: int, frame_skip: int, **options: Any) -> MujocoSimulator:
        try:
            from rewardgen.sim.mujoco_warp import WarpSimulator
        except ImportError as error:
            raise MachineError(f"MuJoCo Warp is not installed: {error}", install_hint("gpu")) from error
        return WarpSimulator(model, num_envs, frame_skip, device=device, **options)

    return make


SIMULATORS: Registry[SimulatorFactory] = Registry("simulator")
SIMULATORS.register(MUJOCO_CPU, CpuSimulator)
SIMULATORS.register(ON_DEVICE["cuda"], _warp("cuda"))
SIMULATORS.register(ON_DEVICE["warp-cpu"], _warp("cpu"))
