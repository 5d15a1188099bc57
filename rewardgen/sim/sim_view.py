"""Views of simulations for task code: of any simulator, and of a MuJoCo model with its parts by name."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Self

import mujoco
import numpy as np
import torch
from mujoco import rollout
from torch import Tensor

from rewardgen.core.errors import TaskError, UnknownName, did_you_mean
from rewardgen.core.provenance import usable_cores
from rewardgen.sim.geometry import lowest_point
from rewardgen.sim.model import body_roles
from rewardgen.sim.protocol import OWN_SENSORS, MujocoSimulator, Simulator
from rewardgen.sim.tensors import Numbers, constant, put_rows, rows_of

Start = tuple[Tensor, Tensor] | tuple[Tensor, Tensor, Mapping[str, Tensor]]
"""Result of a task's `reset`: positions (n, nq), velocities (n, nv), and optionally goals, name to (n,) or (n, k)."""

_MOST_PROPOSALS = 1000
_MOST_ROLLED = 1024
"""Envs simulated by one call of `mujoco.rollout`, which returns every step."""
_RESTING = 0.01
"""Gap to the ground below which a free body rests on it [m]; one higher up is dropped."""
_AXES = {mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE}


class StateView:
    """All envs of a simulator as batched tensors, float64, env axis first.

    The tensors are live: clone a value that must outlast the control step. An unknown name raises a `TaskError` with
    the nearest known name, and so does a field that is first read in the middle of an episode.
    """

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self._ids: Tensor | None = None
        self.device, self.control_step_s = simulator.device, simulator.control_step_s
        self._goals: dict[str, Tensor] = {}
        self._starts: dict[str, Tensor] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # `copy` asks for some at each reset: the nearest name takes longer than a step
            raise AttributeError(name)
        raise UnknownName(f"`sim` has no `{name}`", self._hint(name))

    def _hint(self, name: str) -> str:
        return did_you_mean(name, [member for member in (*self.__dict__, *dir(type(self))) if member[0] != "_"])

    def of_envs(self, ids: Tensor) -> Self:
        """Return a view of some envs, (n,) int64."""
        part = copy.copy(self)
        part._ids = ids
        return part

    def field(self, name: str) -> Tensor:
        """Return a field of the simulator, (N, ...), for example `xpos` (N, nbody, 3)."""
        return self._own(self._simulator.field(name))

    def before(self, name: str) -> Tensor:
        """Return a field before the control step, (N, ...); the current value right after a reset."""
        return self._own(self._simulator.before(name))

    def start(self, name: str) -> Tensor:
        """Return a field at the start of the episode, (N, ...)."""
        if name not in self._starts:
            self._simulator.before(name)  # refuses a field that is first read too late
            self._starts[name] = self._simulator.field(name).clone()
        return self._own(self._starts[name])

    def goal(self, name: str) -> Tensor:
        """Return a goal of the episode, as `reset` drew it, (N,) or (N, k)."""
        if name not in self._goals:
            hint = "return it from `reset` after positions and velocities: {" + f'"{name}": tensor' + "}"
            raise TaskError(f"there is no goal `{name}`", did_you_mean(name, self._goals) if self._goals else hint)
        return self._own(self._goals[name])

    @property
    def goals(self) -> tuple[str, ...]:
        """Names of the goals that `reset` draws for each episode."""
        return tuple(self._goals)

    def constant(self, values: Numbers) -> Tensor:
        """Return numbers, such as `[1, 3]`, as a tensor on the simulator's device: float64, int64 if all are whole by
        type, or bool.

        On a GPU, `torch.tensor` and lists as indices, such as `qpos[:, [1, 3]]`, make the host wait at each call.
        """
        return constant(values, self.device)

    def begin(self, which: Tensor, state: Start) -> None:
        """Begin episodes in some envs, (n,) int64 or (N,) bool, from the result of a task's `reset`, n rows or N."""
        goals = {name: value.double() for name, value in (state[2] if len(state) == 3 else {}).items()}
        if self._goals and goals.keys() != self._goals.keys():
            here, before = (", ".join(names) or "none" for names in (goals, self._goals))
            raise TaskError(f"`reset` returns the goals {here}, and before {before}", "return the same ones each time")
        self._simulator.reset(which, state[0], state[1], self._mocap(len(which), goals))
        for name, value in goals.items():
            if name not in self._goals:
                self._goals[name] = value.new_zeros((self._simulator.num_envs, *value.shape[1:]))
            put_rows(self._goals[name], which, value)
        self.keep_start(which)

    def keep_start(self, which: Tensor) -> None:
        """Store the present state of some envs, (n,) int64 or (N,) bool, as the start of their episodes."""
        for name, values in self._starts.items():
            put_rows(values, which, rows_of(self._simulator.field(name), which))

    def _mocap(self, count: int, goals: Mapping[str, Tensor]) -> Tensor | None:
        """Return the poses of bodies that goals move, (n, nmocap, 7); None if the simulator has no such bodies."""
        return None

    def _own(self, values: Tensor) -> Tensor:
        return values if self._ids is None else values[self._ids]


def floats_alone(model: mujoco.MjModel) -> bool:
    """True if the first joint of a model is the robot's free joint, and the only free joint."""
    free = model.jnt_type == mujoco.mjtJoint.mjJNT_FREE
    alone = free.sum() == 1 and bool(free[0])
    return alone and body_roles(model)[model.jnt_bodyid[0]] == "robot"


class SimView(StateView):
    """All envs of a MuJoCo simulation as batched tensors, float64, env axis first.

    The tensors are live, as in `StateView`. As after `mj_step`, derived fields such as `xpos` describe the last physics
    substep; `qpos` and `qvel` are current. A part that the model lacks raises a `TaskError` with the nearest name.
    """

    def __init__(self, simulator: MujocoSimulator) -> None:
        super().__init__(simulator)
        self.model = simulator.model
        self.qpos0 = constant(simulator.model.qpos0, simulator.device)
        self._numbers: dict[str, dict[str, int]] = {}
        self._addresses: dict[tuple[str, mujoco.mjtJoint, str], int] = {}
        self._readings: dict[str, slice] = {}
        self._rotated: dict[str, Tensor] = {}

    def _hint(self, name: str) -> str:
        import mujoco.batch  # not in the releases that mjlab needs

        if name in mujoco.batch.DATA_FIELDS:
            return f'read it as `sim.field("{name}")`, envs first'
        return super()._hint(name)

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

    def _mocap(self, count: int, goals: Mapping[str, Tensor]) -> Tensor | None:
        """Return the poses of the mocap bodies, (n, nmocap, 7); a goal with the name of a mocap body moves the body."""
        model, moved = self.model, self._mocap_ids
        for name, value in goals.items():
            if moved.get(name, 0) < 0 and value.shape[1:] in ((3,), (7,)):
                what = f"goal `{name}` is called like a body of the model, which no goal moves"
                raise TaskError(what, 'give the body `mocap="true"` in the model, or the goal another name')
        if not model.nmocap:
            return None
        bodies = [int((model.body_mocapid == number).argmax()) for number in range(model.nmocap)]
        places = torch.cat([self.constant(values[bodies]) for values in (model.body_pos, model.body_quat)], 1)
        places = places.repeat(count, 1, 1)
        for name, goal in goals.items():
            if moved.get(name, -1) >= 0:
                places[:, moved[name], : goal.shape[1]] = goal
        return places

    @cached_property
    def _mocap_ids(self) -> dict[str, int]:
        """Index of each body among the mocap bodies, -1 for other bodies."""
        return dict(zip(self._simulator.names("body"), self.model.body_mocapid.tolist(), strict=True))

    @cached_property
    def floats_alone(self) -> bool:
        """True if only the robot floats freely; see `floats_alone`."""
        return floats_alone(self.model)

    def keyframe(self, name: str) -> tuple[Tensor, Tensor]:
        """Return positions (nq,) and velocities (nv,) of a keyframe."""
        index = self._find("key", name)
        return self.constant(self.model.key_qpos[index]), self.constant(self.model.key_qvel[index])

    def sensor(self, name: str) -> Tensor:
        """Return the reading of a sensor of the model, (N, dimension)."""
        if name not in self._readings:
            index = self._find("sensor", name)
            start = int(self.model.sensor_adr[index])
            self._readings[name] = slice(start, start + int(self.model.sensor_dim[index]))
        return self.field("sensordata")[:, self._readings[name]]

    def body(self, name: str) -> int:
        """Return the index of a body in fields such as `xpos` (N, nbody, 3)."""
        return self._find("body", name)

    def geom(self, name: str) -> int:
        """Return the index of a geom in fields such as `geom_xpos` (N, ngeom, 3)."""
        return self._find("geom", name)

    def joint(self, name: str, kind: mujoco.mjtJoint, address: str) -> int:
        """Return the index of a joint of a kind into positions (`jnt_qposadr`) or velocities (`jnt_dofadr`)."""
        if (name, kind, address) not in self._addresses:
            index = self._find("joint", name)
            actual = mujoco.mjtJoint(self.model.jnt_type[index])
            if actual != kind:
                here, expected = (joint.name.removeprefix("mjJNT_").lower() for joint in (actual, kind))
                raise TaskError(f"joint `{name}` is no {expected} joint", f"it is a {here} joint")
            self._addresses[name, kind, address] = int(getattr(self.model, address)[index])
        return self._addresses[name, kind, address]

    def placed(self, name: str) -> slice:
        """Return the slice of the positions of a hinge or slide joint (1), or of a body with a free joint (3)."""
        bodies = self._simulator.names("body")
        joint = int(self.model.body_jntadr[bodies.index(name)]) if name in bodies else -1
        if joint >= 0 and self.model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
            first = int(self.model.jnt_qposadr[joint])
            return slice(first, first + 3)
        joint = self._find("joint", name)
        if mujoco.mjtJoint(self.model.jnt_type[joint]) not in _AXES:
            raise TaskError(f"joint `{name}` is no hinge and no slide", "name the body if it moves freely")
        first = int(self.model.jnt_qposadr[joint])
        return slice(first, first + 1)

    def rotated(self, body: str) -> Tensor:
        """Return the rotation of a body about its own axes since the episode began, (N, 3) [rad].

        Raises a TaskError if no declared quantity is `Body(body).turns(...)`.
        """
        if body not in self._rotated:
            hint = f'declare `Body("{body}").turns("y")` in the task'
            raise TaskError(f"the turns of `{body}` are not counted", hint)
        return self._own(self._rotated[body])

    def count_turns(self, sums: dict[str, Tensor]) -> None:
        """Set the sums that `rotated` reads, (N, 3) by body; a `TurnCounter` changes the sums in place."""
        self._rotated = sums

    def clearance(self, *geoms: str | int) -> Tensor:
        """Return the height of the lowest point of geoms, by name or index, above the plane z = 0, (N,) [m]."""
        places, turns = self.field("geom_xpos"), self.field("geom_xmat")
        numbers = [self.geom(geom) if isinstance(geom, str) else geom for geom in geoms]
        heights = [lowest_point(self.model, geom, places[:, geom], turns[:, geom]) for geom in numbers]
        return torch.stack(heights).amin(0)

    def without_contact(self, propose: Callable[[], Tensor]) -> Tensor:
        """Return the first proposed positions of each env without any contact.

        `propose` draws one proposal for each of the n envs, (n, nq or more): positions, then further numbers. Mocap
        bodies are in their place in the model. Draw nothing afterwards, because the number of proposals varies. Raises
        a TaskError if all of 1000 proposals have contacts.
        """
        data, positions = mujoco.MjData(self.model), propose()
        touching = torch.ones(len(positions), dtype=torch.bool)
        for _ in range(_MOST_PROPOSALS):
            places = positions[:, : self.model.nq].cpu().numpy()
            for env in touching.nonzero()[:, 0].tolist():
                data.qpos[:] = places[env]
                mujoco.mj_kinematics(self.model, data)
                mujoco.mj_collision(self.model, data)
                touching[env] = data.ncon > 0
            if not touching.any():
                return positions
            positions = torch.where(touching[:, None].to(positions.device), propose(), positions)
        hint = "propose positions further apart, or check that nothing touches in all of them"
        raise TaskError(f"something touches in all of {_MOST_PROPOSALS} proposed positions", hint)

    def raised(self, positions: Tensor, pose: np.ndarray) -> Tensor:
        """Return positions (n, nq) with free bodies raised that are deeper in static geoms than in a pose (nq,).

        Only if one rests on them in the pose: then MuJoCo looks at each env on the CPU. Mocap bodies are in their place
        in the model.
        """
        model = self.model
        free = (model.jnt_type == mujoco.mjtJoint.mjJNT_FREE).nonzero()[0]
        if not len(free):
            return positions
        data, heights, lowered = mujoco.MjData(model), model.jnt_qposadr[free] + 2, pose.copy()
        lowered[heights] -= _RESTING
        usual = self._depths(data, pose)[free]
        if (self._depths(data, lowered)[free] <= usual).all():
            return positions
        places = positions.cpu().numpy()
        depths = np.stack([self._depths(data, place)[free] for place in places])
        places[:, heights] += (depths - usual).clip(min=0.0)
        return torch.from_numpy(places).to(positions.device)

    def _depths(self, data: mujoco.MjData, place: np.ndarray) -> np.ndarray:
        """Return how deep the body of each joint, with all that hangs on it, lies in static geoms, (njnt,) [m]."""
        model = self.model
        data.qpos[:] = place
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        bodies = model.geom_bodyid[data.contact.geom]
        static = model.body_weldid[bodies] == 0
        grounded = static.any(1)
        depths = np.zeros(model.nbody)
        np.maximum.at(depths, model.body_rootid[bodies[~static & grounded[:, None]]], -data.contact.dist[grounded])
        return depths[model.jnt_bodyid]

    def settled(self, qpos: Tensor, seconds: float) -> tuple[Tensor, Tensor]:
        """Return positions (n, nq) and velocities (n, nv) after some time without control, from positions at rest.

        Mocap bodies are in their place in the model. MuJoCo runs on the CPU, on all cores if the envs are on a GPU.
        """
        model, nq = self.model, self.model.nq
        places = qpos.cpu().numpy()
        states = np.zeros((len(places), mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
        states[:, 1 : 1 + nq] = places
        threads = usable_cores() if self.device.type == "cuda" else 1
        steps, data = round(seconds / model.opt.timestep), [mujoco.MjData(model) for _ in range(threads)]
        parts = np.array_split(states, -(-len(states) // _MOST_ROLLED))
        rolled = [np.asarray(rollout.rollout(model, data, part, nstep=steps)[0]) for part in parts]
        ends = torch.from_numpy(np.concatenate([part[:, -1] for part in rolled])).to(self.device)
        return ends[:, 1 : 1 + nq], ends[:, 1 + nq : 1 + nq + model.nv]

    def _find(self, kind: str, name: str) -> int:
        if kind not in self._numbers:
            self._numbers[kind] = {part: index for index, part in enumerate(self._simulator.names(kind))}
        numbers = self._numbers[kind]
        if name not in numbers:
            named = [part for part in numbers if part and not part.startswith(OWN_SENSORS)]
            unnamed = f'it has no {kind} with a name: give one `name="{name}"` in the model'
            raise TaskError(f"the model has no {kind} `{name}`", did_you_mean(name, named) if named else unnamed)
        return numbers[name]
