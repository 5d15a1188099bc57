"""What task code is given: a batched view of the simulator, and random numbers with one stream per env."""

# MuJoCo's compiled modules carry no type stubs.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import mujoco
import numpy as np
import torch
from mujoco import rollout
from torch import Tensor

from rewardgen.core.errors import TaskError, UnknownName, did_you_mean
from rewardgen.core.provenance import usable_cores
from rewardgen.sim.clearance import lowest_point
from rewardgen.sim.constants import Numbers, constant
from rewardgen.sim.model import body_roles
from rewardgen.sim.protocol import OWN_SENSORS, Simulator
from rewardgen.sim.rows import put_rows, rows_of

Start = tuple[Tensor, Tensor] | tuple[Tensor, Tensor, Mapping[str, Tensor]]
"""What a task's `reset` returns: positions (n, nq), velocities (n, nv), and perhaps goals, name to (n,) or (n, k)."""
Bound = float | Sequence[float] | Tensor
_MOST_PROPOSALS = 1000
_MOST_ROLLED = 1024
"""Envs that come to rest in one call."""


def floats_alone(model: mujoco.MjModel) -> bool:
    """Whether a model begins with a robot's free joint, and nothing else floats freely."""
    free = model.jnt_type == mujoco.mjtJoint.mjJNT_FREE
    alone = free.sum() == 1 and bool(free[0])
    return alone and body_roles(model)[model.jnt_bodyid[0]] == "robot"


class SimView:
    """All envs of a simulation as batched tensors, float64, env axis first.

    The tensors are live: they change at the next control step, so keep none of them. As after `mj_step`, derived fields
    such as `xpos` describe the last physics substep; `qpos` and `qvel` are current.

    Args:
        simulator: The simulator behind the view.
    """

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self._ids: Tensor | None = None
        self.model = simulator.model
        self.device = simulator.device
        self.control_step_s = simulator.control_step_s
        self.qpos0 = constant(simulator.model.qpos0, simulator.device)
        self._numbers: dict[str, dict[str, int]] = {}
        self._addresses: dict[tuple[str, mujoco.mjtJoint, str], int] = {}
        self._readings: dict[str, slice] = {}
        self._rotated: dict[str, Tensor] = {}
        self._goals: dict[str, Tensor] = {}
        self._has_begun = False
        self._starts: dict[str, Tensor] = {}

    def __getattr__(self, name: str) -> Any:
        import mujoco.batch  # missing in older releases

        if name in mujoco.batch.DATA_FIELDS:
            raise UnknownName(f"`sim` has no `{name}`", f'read it as `sim.field("{name}")`, envs first')
        offered = ("model", "device", "control_step_s", "qpos0", *(each for each in dir(SimView) if each[0] != "_"))
        raise UnknownName(f"`sim` has no `{name}`", did_you_mean(name, offered))

    def of_envs(self, ids: Tensor) -> SimView:
        """Some of the envs only, as they are now.

        Args:
            ids: Which envs, (n,) int64.
        """
        part = copy.copy(self)
        part._ids = ids
        return part

    @property
    def qpos(self) -> Tensor:
        """Positions of the joints, (N, nq) [m, rad, or quaternion entries]."""
        return self.field("qpos")

    @property
    def qvel(self) -> Tensor:
        """Velocities of the joints, (N, nv) [m/s, rad/s]."""
        return self.field("qvel")

    @property
    def ctrl(self) -> Tensor:
        """Controls of the actuators, (N, nu), as the last control step applied them."""
        return self.field("ctrl")

    def field(self, name: str) -> Tensor:
        """Any field of mjData, (N, ...), for example `xpos` (N, nbody, 3).

        Raises:
            TaskError: There is no such field, or it is `cfrc_ext` and the task does not ask for contact forces.
        """
        return self._own(self._simulator.field(name))

    def before(self, name: str) -> Tensor:
        """A field before the control step, (N, ...); equal to the current one right after a reset.

        Raises:
            TaskError: There is no such field, or it was first asked for in the middle of an episode.
        """
        return self._own(self._simulator.before(name))

    def start(self, name: str) -> Tensor:
        """A field as it was when the episode began, (N, ...).

        Raises:
            TaskError: There is no such field, or it was first asked for in the middle of an episode.
        """
        if name not in self._starts:
            self._simulator.before(name)  # which refuses what is asked for too late
            self._starts[name] = self._simulator.field(name).clone()
        return self._own(self._starts[name])

    def goal(self, name: str) -> Tensor:
        """What `reset` drew for the episode under this name, (N,) or (N, k).

        Raises:
            TaskError: It drew nothing of that name.
        """
        if name not in self._goals:
            hint = "return it from `reset` after positions and velocities: {" + f'"{name}": tensor' + "}"
            raise TaskError(f"there is no goal `{name}`", did_you_mean(name, self._goals) if self._goals else hint)
        return self._own(self._goals[name])

    def constant(self, values: Numbers) -> Tensor:
        """Numbers as a tensor that lies where the others do: float64, int64 where all are whole by their type, or bool.

        `torch.tensor` and indices in lists, as in `qpos[:, [1, 3]]`, would make the host wait for a GPU at each call.

        Args:
            values: The numbers, as `(0.0, -0.4)`, `[1, 3]` or `sim.model.jnt_range`.
        """
        return constant(values, self.device)

    def begin(self, which: Tensor, state: Start) -> None:
        """Begin episodes in some envs with what a task's `reset` returned.

        Args:
            which: Which envs, (n,) int64, or (N,) bool.
            state: What it returned, n rows, or N. A goal that is called like a mocap body is where that is in the
                episode: its position (n, 3), perhaps with its quaternion (n, 7).

        Raises:
            TaskError: Goals come and go, or one does not fit its body.
        """
        found = state[2] if len(state) == 3 else {}
        goals = {name: value.double() for name, value in found.items()}
        if self._has_begun and goals.keys() != self._goals.keys():
            here, before = (", ".join(each) or "none" for each in (goals, self._goals))
            raise TaskError(f"`reset` returns the goals {here}, and before {before}", "return the same ones each time")
        if not self._has_begun:
            self._require_movable(goals)
        self._simulator.reset(which, state[0], state[1], self._mocap(len(which), goals))
        for name, value in goals.items():
            if name not in self._goals:
                self._goals[name] = value.new_zeros((self._simulator.num_envs, *value.shape[1:]))
            put_rows(self._goals[name], which, value)
        self._has_begun = True
        self.keep_start(which)

    def _require_movable(self, goals: Mapping[str, Tensor]) -> None:
        """Refuse a place for a body that stays where the model has it."""
        moved = {self.model.body(body).name: self.model.body_mocapid[body] >= 0 for body in range(self.model.nbody)}
        for name, value in goals.items():
            if not moved.get(name, True) and value.shape[1:] in ((3,), (7,)):
                what = f"goal `{name}` is called like a body of the model, which no goal moves"
                raise TaskError(what, 'give the body `mocap="true"` in the model, or the goal another name')

    @property
    def goals(self) -> tuple[str, ...]:
        """Names of what `reset` draws for each episode."""
        return tuple(self._goals)

    def keep_start(self, which: Tensor) -> None:
        """Take the state of some envs, (n,) int64 or (N,) bool, for the one in which their episodes began."""
        for name, kept in self._starts.items():
            put_rows(kept, which, rows_of(self._simulator.field(name), which))

    def _mocap(self, count: int, goals: Mapping[str, Tensor]) -> Tensor | None:
        """Places of the mocap bodies, (n, nmocap, 7): as in the model, but for those that are goals."""
        model = self.model
        if not model.nmocap:
            return None
        bodies = [int((model.body_mocapid == number).argmax()) for number in range(model.nmocap)]
        places = torch.cat([self.constant(each[bodies]) for each in (model.body_pos, model.body_quat)], 1)
        places = places.repeat(count, 1, 1)
        for number, body in enumerate(bodies):
            name = model.body(body).name
            if name in goals:
                found = goals[name]
                if found.ndim != 2 or found.shape[1] not in (3, 7):
                    what = f"goal `{name}` moves the mocap body of that name, and has shape {tuple(found.shape)}"
                    raise TaskError(what, "return its position (n, 3), or with its quaternion (n, 7)")
                places[:, number, : found.shape[1]] = found
        return places

    @cached_property
    def floats_alone(self) -> bool:
        """See the function of this name."""
        return floats_alone(self.model)

    def keyframe(self, name: str) -> tuple[Tensor, Tensor]:
        """Positions (nq,) and velocities (nv,) of a named keyframe of the model.

        Raises:
            TaskError: The model has no such keyframe.
        """
        index = self._find("key", name, self.model.nkey)
        return self.constant(self.model.key_qpos[index]), self.constant(self.model.key_qvel[index])

    def sensor(self, name: str) -> Tensor:
        """Reading of a named sensor of the model, (N, dimension).

        Raises:
            TaskError: The model has no such sensor.
        """
        if name not in self._readings:
            index = self._find("sensor", name, self.model.nsensor)
            start = int(self.model.sensor_adr[index])
            self._readings[name] = slice(start, start + int(self.model.sensor_dim[index]))
        return self.field("sensordata")[:, self._readings[name]]

    def body(self, name: str) -> int:
        """Number of a named body: the index into fields such as `xpos` (N, nbody, 3).

        Raises:
            TaskError: The model has no such body.
        """
        return self._find("body", name, self.model.nbody)

    def joint(self, name: str, kind: mujoco.mjtJoint, address: str) -> int:
        """Where a joint's position or velocity is among all of them.

        Args:
            name: Name of the joint.
            kind: What it has to be.
            address: `jnt_qposadr` for `qpos`, `jnt_dofadr` for `qvel`.

        Raises:
            TaskError: The model has no such joint, or it is of another kind.
        """
        if (name, kind, address) not in self._addresses:
            index = self._find("joint", name, self.model.njnt)
            found = mujoco.mjtJoint(self.model.jnt_type[index])
            if found != kind:
                words = {each: each.name.removeprefix("mjJNT_").lower() for each in (found, kind)}
                raise TaskError(f"joint `{name}` is no {words[kind]} joint", f"it is a {words[found]} joint")
            self._addresses[name, kind, address] = int(getattr(self.model, address)[index])
        return self._addresses[name, kind, address]

    def placed(self, name: str) -> slice:
        """Where the place of a hinge or slide joint, or of a body that moves freely, is among all positions.

        Args:
            name: Of the joint or the body.

        Raises:
            TaskError: The model has neither, or the body does not move freely, or the joint is of another kind.
        """
        bodies = [self.model.body(each).name for each in range(self.model.nbody)]
        index = self.model.body_jntadr[bodies.index(name)] if name in bodies else -1
        if index >= 0 and int(self.model.jnt_type[index]) == int(mujoco.mjtJoint.mjJNT_FREE):
            first = int(self.model.jnt_qposadr[index])
            return slice(first, first + 3)
        index = self._find("joint", name, self.model.njnt)
        kind = mujoco.mjtJoint(self.model.jnt_type[index])
        if kind not in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE):
            raise TaskError(f"joint `{name}` is no hinge and no slide", "name the body if it moves freely")
        first = int(self.model.jnt_qposadr[index])
        return slice(first, first + 1)

    def rotated(self, body: str) -> Tensor:
        """How far a body has turned about its own axes since the episode began, (N, 3) [rad].

        Raises:
            TaskError: Nobody counts its turns: see `rewardgen.sim.quantities.Body.turns`.
        """
        if body not in self._rotated:
            hint = f'declare `Body("{body}").turns("y")` in the task'
            raise TaskError(f"the turns of `{body}` are not counted", hint)
        return self._own(self._rotated[body])

    def count_turns(self, sums: dict[str, Tensor]) -> None:
        """Take over the sums that `rotated` reads.

        Args:
            sums: Name of a body to (N, 3), changed in place by who counts.
        """
        self._rotated = sums

    def geom(self, name: str) -> int:
        """Number of a named geom: the index into fields such as `geom_xpos` (N, ngeom, 3).

        Raises:
            TaskError: The model has no such geom.
        """
        return self._find("geom", name, self.model.ngeom)

    def clearance(self, *geoms: str | int) -> Tensor:
        """Height of the lowest point of geoms above the plane z = 0, (N,) [m].

        Args:
            geoms: Their names, or numbers.

        Raises:
            TaskError: The model has no such geom, or one has no lowest point, as a plane has none; or none is named.
        """
        if not geoms:
            raise TaskError("`sim.clearance()` is of no geom", 'name some: `sim.clearance("left_foot", "right_foot")`')
        places, turns = self.field("geom_xpos"), self.field("geom_xmat")
        numbers = [self.geom(each) if isinstance(each, str) else each for each in geoms]
        heights = [lowest_point(self.model, each, places[:, each], turns[:, each]) for each in numbers]
        return torch.stack(heights).amin(0)

    def without_contact(self, propose: Callable[[], Tensor]) -> Tensor:
        """Initial positions in which nothing touches: each env has the first of its proposals that is so.

        Mocap bodies are where the model has them.

        Args:
            propose: Draws one for each of the n envs, (n, nq or more): positions, then what else belongs to them.

        Returns:
            What was proposed, (n, nq or more). Draw nothing after it: it takes more numbers, the more are refused.

        Raises:
            TaskError: A thousand proposals were not enough.
        """
        data, found = mujoco.MjData(self.model), propose()
        touching = torch.ones(len(found), dtype=torch.bool)
        for _ in range(_MOST_PROPOSALS):
            places = found[:, : self.model.nq].cpu().numpy()
            for env in touching.nonzero()[:, 0].tolist():
                data.qpos[:] = places[env]
                mujoco.mj_kinematics(self.model, data)
                mujoco.mj_collision(self.model, data)
                touching[env] = data.ncon > 0
            if not touching.any():
                return found
            found = torch.where(touching[:, None].to(found.device), propose(), found)
        hint = "propose positions further apart, or check that nothing touches in all of them"
        raise TaskError(f"something touches in all of {_MOST_PROPOSALS} proposed positions", hint)

    def settled(self, qpos: Tensor, seconds: float) -> tuple[Tensor, Tensor]:
        """States of the n envs once the model was left to itself, without control, mocap bodies where the model has
        them.

        MuJoCo simulates it on the CPU, on all cores if the envs lie on a GPU.

        Args:
            qpos: Positions at first, at rest, (n, nq).
            seconds: For how long [s].

        Returns:
            Positions (n, nq) and velocities (n, nv).
        """
        model, nq = self.model, self.model.nq
        places = qpos.cpu().numpy()
        states = np.zeros((len(places), mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
        states[:, 1 : 1 + nq] = places
        threads = usable_cores() if self.device.type == "cuda" else 1
        steps, data = round(seconds / model.opt.timestep), [mujoco.MjData(model) for _ in range(threads)]
        parts = np.array_split(states, -(-len(states) // _MOST_ROLLED))  # what it returns has every step
        rolled = [np.asarray(rollout.rollout(model, data, each, nstep=steps)[0]) for each in parts]
        ends = torch.from_numpy(np.concatenate([each[:, -1] for each in rolled])).to(self.device)
        return ends[:, 1 : 1 + nq], ends[:, 1 + nq : 1 + nq + model.nv]

    def _own(self, values: Tensor) -> Tensor:
        return values if self._ids is None else values[self._ids]

    def _find(self, kind: str, name: str, count: int) -> int:
        if kind not in self._numbers:
            access = getattr(self.model, kind)
            self._numbers[kind] = {access(index).name: index for index in range(count)}
        numbers = self._numbers[kind]
        if name not in numbers:
            own = [each for each in numbers if each and not each.startswith(OWN_SENSORS)]
            hint = (
                did_you_mean(name, own)
                if own
                else f'it has no {kind} with a name: give one `name="{name}"` in the model'
            )
            raise TaskError(f"the model has no {kind} `{name}`", hint)
        return numbers[name]


_GOLDEN = 0x9E3779B97F4A7C15


class Draws:
    """Random numbers for n envs, a stream of its own for each, without state beyond the position in the streams.

    The numbers are a hash of (stream, position): SplitMix64 (Steele, Lea and Flood, 2014). So an env draws the same
    numbers whichever envs are drawn with it.

    Args:
        streams: One key per env, (n,) int64, from `stream_keys`.
    """

    def __init__(self, streams: Tensor) -> None:
        self._streams = streams
        self._position = 1
        self.num_envs = len(streams)
        self.device = streams.device

    def uniform(self, low: Bound, high: Bound, size: int) -> Tensor:
        """Uniform numbers in [low, high), (n, size) float64; a bound may be a number or (size,) of them."""
        lower, upper = self._bound(low), self._bound(high)
        return lower + (upper - lower) * self._unit(size)

    def normal(self, std: Bound, size: int) -> Tensor:
        """Normal numbers with mean zero, (n, size) float64 (Box and Muller, 1958)."""
        squared = torch.special.xlog1py(-2.0, -self._unit(size))
        if self.device.type == "cpu":  # where MKL's real square root, which torch takes, may be off by the last bit
            radius = torch.complex(squared, torch.zeros_like(squared)).sqrt().real
        else:  # where torch would compile a complex one first
            radius = squared.sqrt()
        angle = 2.0 * math.pi * self._unit(size)
        return self._bound(std) * radius * angle.cos()

    def _bound(self, value: Bound) -> float | Tensor:
        if isinstance(value, int | float):
            return float(value)
        return value.to(self.device, torch.float64) if isinstance(value, Tensor) else constant(value, self.device)

    def _unit(self, size: int) -> Tensor:
        positions = torch.arange(self._position, self._position + size, device=self.device)
        self._position += size
        bits = _mix(self._streams.unsqueeze(1) + positions * _signed(_GOLDEN))
        return _shifted(bits, 11).double() * 2.0**-53


def stream_keys(seeds: Tensor, *labels: Tensor) -> Tensor:
    """Keys of independent streams, one per row of (seed, label, ...), (n,) int64.

    Args:
        seeds: Seeds, (n,) int64.
        labels: What tells streams of one seed apart, (n,) int64 each.
    """
    keys = _mix(seeds + _signed(_GOLDEN))
    for label in labels:
        keys = _mix(keys + (label + 1) * _signed(_GOLDEN))
    return keys


def _mix(values: Tensor) -> Tensor:
    values = (values ^ _shifted(values, 30)) * _signed(0xBF58476D1CE4E5B9)
    values = (values ^ _shifted(values, 27)) * _signed(0x94D049BB133111EB)
    return values ^ _shifted(values, 31)


def _shifted(values: Tensor, bits: int) -> Tensor:
    """Values (n, ...) int64 shifted to the right as if they were unsigned."""
    return (values >> bits) & ((1 << (64 - bits)) - 1)


def _signed(value: int) -> int:
    """The int64 with the bits of an unsigned number: torch multiplies no uint64, and overflow wraps the same."""
    return value - (1 << 64) if value >> 63 else value
