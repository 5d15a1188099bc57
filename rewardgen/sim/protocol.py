"""The seam between the environments and the physics: what a simulator is, and how one is made.

To add a simulator, write a class with the members of `Simulator`, and register what makes it under a name:

```python
SIMULATORS.register("point-mass", PointMass)     # called as make_simulator calls it
```

A task chooses it by that name: `simulator = "point-mass"`. It may register its own in its task file.
"""

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
    """N envs of one MuJoCo model, stepped together. Knows of no task, episode or reward.

    Everything that it takes and gives lies on its device, env axis first; states and fields are float64. An env's
    numbers must not depend on the envs beside it.

    One with `takes_masks = True` also takes a mask in `reset`: on a GPU the host would wait to number envs.
    """

    model: mujoco.MjModel
    """The compiled model."""
    device: torch.device
    """Where its tensors are."""
    num_envs: int
    """N."""
    control_step_s: float
    """Duration of a control step [s]."""

    def field(self, name: str) -> Tensor:
        """A mjData field of every env, (N, ...), live.

        Raises:
            TaskError: There is no such field, or it was not asked for before the first control step.
        """
        ...

    def before(self, name: str) -> Tensor:
        """A field before the last control step, (N, ...); the current one in envs just reset.

        Raises:
            TaskError: There is no such field, or it was not asked for when the episodes began.
        """
        ...

    def step(self, control: Tensor, ids: Tensor | None = None) -> None:
        """Advance envs by one control step.

        Args:
            control: Actuator controls, (N, nu), within their ranges.
            ids: Which envs, (n,) int64; all of them if not given. The others stay as they are.
        """
        ...

    def reset(
        self, which: Tensor, qpos: Tensor | None = None, qvel: Tensor | None = None, mocap: Tensor | None = None
    ) -> None:
        """Put envs into a state, with all that follows from it, as if nothing had been before.

        Args:
            which: Which envs, (n,) int64; or a mask, (N,) bool: then n is N in what follows, and the rows of the
                other envs are of no matter.
            qpos: Positions, (n, nq); the model's reference pose if not given.
            qvel: Velocities, (n, nv); zero if not given.
            mocap: Where mocap bodies go, a position and a quaternion each, (n, nmocap, 7); they stay if not given.
        """
        ...

    def restore_diverged(self) -> Tensor:
        """Put envs whose state is not finite back to where they were before the control step, at rest.

        It is called once after each control step. Derived fields may stay what they were before the step.

        Returns:
            Which envs diverged, (N,) bool.
        """
        ...


class SimulatorFactory(Protocol):
    """What makes a simulator; the class itself, if its constructor takes these."""

    def __call__(
        self,
        model: mujoco.MjModel,
        num_envs: int,
        frame_skip: int,
        *,
        threads: int,
        contact_forces: bool,
        current_fields: bool,
    ) -> Simulator:
        """A simulator of a model.

        Args:
            model: The compiled model, with MuJoCo's automatic reset switched off.
            num_envs: N.
            frame_skip: Physics steps per control step.
            threads: Physics threads, where it runs on CPU.
            contact_forces: Whether to compute `cfrc_ext` after each control step, one pass per env.
            current_fields: Whether fields that follow from positions and velocities describe the state after a control
                step, as after `mj_step1`, not the last physics substep.
        """
        ...


OWN_SENSORS = "rewardgen:"
"""What the names of the sensors begin with that are added to a model."""
MUJOCO_CPU = "mujoco-cpu"
ON_DEVICE = {"cuda": "mujoco-warp", "warp-cpu": "mujoco-warp-cpu"}
"""What steps a model that `MUJOCO_CPU` would step, by the device that is asked for."""


def _warp(device: str) -> SimulatorFactory:
    def make(model: mujoco.MjModel, num_envs: int, frame_skip: int, **options: Any) -> Simulator:
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
