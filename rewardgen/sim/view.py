"""What task code is given: a batched view of the simulator, and random numbers with one stream per world."""

# MuJoCo's compiled modules carry no type stubs.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Protocol

import mujoco
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rewardgen.core.errors import TaskError, did_you_mean

Bound = float | Sequence[float] | Tensor


class Simulator(Protocol):
    """What a view needs of a simulator; the physics may run anywhere."""

    model: mujoco.MjModel
    control_step_s: float

    def field(self, name: str) -> Tensor:
        """A mjData field of every world, (N, ...) float64."""
        ...

    def before(self, name: str) -> Tensor:
        """The same field before the last control step, (N, ...) float64."""
        ...


class SimView:
    """All worlds of a simulation as batched tensors, float64, world axis first.

    The tensors are live: they change at the next control step, so keep none of them. As after `mj_step`, derived fields
    such as `xpos` describe the last physics substep; `qpos` and `qvel` are current.

    Args:
        simulator: The simulator behind the view.
    """

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self.model = simulator.model
        self.control_step_s = simulator.control_step_s
        self.qpos0 = torch.from_numpy(simulator.model.qpos0.copy())
        self._found: dict[tuple[str, str], int] = {}

    def of_worlds(self, ids: Tensor) -> SimView:
        """Some of the worlds only, as they are now.

        Args:
            ids: Which worlds, (n,) int64.
        """
        part = copy.copy(self)
        part._simulator = _Part(self._simulator, ids)
        return part

    @property
    def qpos(self) -> Tensor:
        """Positions of the joints, (N, nq) [m, rad, or quaternion entries]."""
        return self._simulator.field("qpos")

    @property
    def qvel(self) -> Tensor:
        """Velocities of the joints, (N, nv) [m/s, rad/s]."""
        return self._simulator.field("qvel")

    @property
    def ctrl(self) -> Tensor:
        """Controls of the actuators, (N, nu), as the last control step applied them."""
        return self._simulator.field("ctrl")

    def field(self, name: str) -> Tensor:
        """Any field of mjData, (N, ...), for example `xpos` (N, nbody, 3).

        Raises:
            TaskError: There is no such field, or it is `cfrc_ext` and the task does not ask for contact forces.
        """
        return self._simulator.field(name)

    def before(self, name: str) -> Tensor:
        """A field before the control step, (N, ...); equal to the current one right after a reset.

        Raises:
            TaskError: There is no such field, or it was first asked for in the middle of an episode.
        """
        return self._simulator.before(name)

    def sensor(self, name: str) -> Tensor:
        """Reading of a named sensor of the model, (N, dimension).

        Raises:
            TaskError: The model has no such sensor.
        """
        index = self._find("sensor", name, self.model.nsensor)
        start = int(self.model.sensor_adr[index])
        return self.field("sensordata")[:, start : start + int(self.model.sensor_dim[index])]

    def body(self, name: str) -> int:
        """Number of a named body: the index into fields such as `xpos` (N, nbody, 3).

        Raises:
            TaskError: The model has no such body.
        """
        return self._find("body", name, self.model.nbody)

    def geom(self, name: str) -> int:
        """Number of a named geom: the index into fields such as `geom_xpos` (N, ngeom, 3).

        Raises:
            TaskError: The model has no such geom.
        """
        return self._find("geom", name, self.model.ngeom)

    def clearance(self, geom: str) -> Tensor:
        """Height of the lowest point of a named sphere or capsule above the plane z = 0, (N,) [m].

        Raises:
            TaskError: The model has no such geom, or it is of another shape.
        """
        index = self.geom(geom)
        capsule = self.model.geom_type[index] == mujoco.mjtGeom.mjGEOM_CAPSULE
        if not capsule and self.model.geom_type[index] != mujoco.mjtGeom.mjGEOM_SPHERE:
            raise TaskError(
                f"geom `{geom}` is neither a sphere nor a capsule", "compute its clearance from `geom_xpos`"
            )
        radius, half_length = self.model.geom_size[index, :2]
        centre = self.field("geom_xpos")[:, index, 2] - radius
        return centre - half_length * self.field("geom_xmat")[:, index, 8].abs() if capsule else centre

    def _find(self, kind: str, name: str, count: int) -> int:
        if (kind, name) not in self._found:
            access = getattr(self.model, kind)
            names = [access(index).name for index in range(count)]
            if name not in names:
                raise TaskError(f"the model has no {kind} `{name}`", did_you_mean(name, filter(None, names)))
            self._found[kind, name] = names.index(name)
        return self._found[kind, name]


class _Part:
    """Some worlds of a simulator.

    Args:
        simulator: The simulator of all worlds.
        ids: Which of them, (n,) int64.
    """

    def __init__(self, simulator: Simulator, ids: Tensor) -> None:
        self._simulator = simulator
        self._ids = ids
        self.model = simulator.model
        self.control_step_s = simulator.control_step_s

    def field(self, name: str) -> Tensor:
        return self._simulator.field(name)[self._ids]

    def before(self, name: str) -> Tensor:
        return self._simulator.before(name)[self._ids]


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Draws:
    """Random numbers for n worlds, a stream of its own for each, without state beyond the position in the streams.

    The numbers are a hash of (stream, position): SplitMix64 (Steele, Lea and Flood, 2014). So a world draws the same
    numbers whichever worlds are drawn with it.

    Args:
        streams: One key per world, (n,) uint64.
    """

    def __init__(self, streams: NDArray[np.uint64]) -> None:
        self._streams = streams
        self._position = 1
        self.num_envs = len(streams)

    def uniform(self, low: Bound, high: Bound, size: int) -> Tensor:
        """Uniform numbers in [low, high), (n, size) float64; a bound may be a number or (size,) of them."""
        lower = torch.as_tensor(low, dtype=torch.float64)
        upper = torch.as_tensor(high, dtype=torch.float64)
        return lower + (upper - lower) * torch.from_numpy(self._unit(size))

    def normal(self, std: Bound, size: int) -> Tensor:
        """Normal numbers with mean zero, (n, size) float64 (Box and Muller, 1958)."""
        radius = torch.from_numpy(np.sqrt(-2.0 * np.log1p(-self._unit(size))))
        angle = torch.from_numpy(2.0 * np.pi * self._unit(size))
        return torch.as_tensor(std, dtype=torch.float64) * radius * angle.cos()

    def _unit(self, size: int) -> NDArray[np.float64]:
        positions = np.arange(self._position, self._position + size, dtype=np.uint64)
        self._position += size
        bits = _mix(self._streams[:, None] + positions * _GOLDEN)
        return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def stream_keys(seeds: NDArray[np.uint64], *labels: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Keys of independent streams, one per row of (seed, label, ...).

    Args:
        seeds: Seeds, (n,) uint64.
        labels: What tells streams of one seed apart, (n,) uint64 each.
    """
    keys = _mix(seeds + _GOLDEN)
    for label in labels:
        keys = _mix(keys + (label + np.uint64(1)) * _GOLDEN)
    return keys


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
