"""View of a MuJoCo simulation for task code: state, and parts of the model by name."""

# MuJoCo's compiled modules carry no type stubs.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import mujoco
import numpy as np
import torch
from mujoco import rollout
from torch import Tensor

from rewardgen.core.errors import TaskError, did_you_mean
from rewardgen.core.provenance import usable_cores
from rewardgen.sim.geometry import lowest_point
from rewardgen.sim.model import body_roles
from rewardgen.sim.protocol import OWN_SENSORS, MujocoSimulator
from rewardgen.sim.state_view import StateView
from rewardgen.sim.tensors import constant

_MOST_PROPOSALS = 1000
_MOST_ROLLED = 1024
"""Envs simulated by one call of `mujoco.rollout`, which returns every step."""
_AXES = {mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE}


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
            if moved.get(name, -1) < 0:
                continue
            if goal.ndim != 2 or goal.shape[1] not in (3, 7):
                what = f"goal `{name}` moves the mocap body of that name, and has shape {tuple(goal.shape)}"
                raise TaskError(what, "return its position (n, 3), or with its quaternion (n, 7)")
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

        Raises:
            TaskError: No declared quantity is `Body(body).turns(...)`.
        """
        if body not in self._rotated:
            hint = f'declare `Body("{body}").turns("y")` in the task'
            raise TaskError(f"the turns of `{body}` are not counted", hint)
        return self._own(self._rotated[body])

    def count_turns(self, sums: dict[str, Tensor]) -> None:
        """Set the sums that `rotated` reads, (N, 3) by body; a `TurnCounter` changes the sums in place."""
        self._rotated = sums

    def clearance(self, *geoms: str | int) -> Tensor:
        """Return the height of the lowest point of geoms, by name or index, above the plane z = 0, (N,) [m].

        Raises:
            TaskError: A geom is unknown or has no lowest point, such as a plane, or no geom is given.
        """
        if not geoms:
            raise TaskError("`sim.clearance()` needs a geom", 'name some: `sim.clearance("left_foot", "right_foot")`')
        places, turns = self.field("geom_xpos"), self.field("geom_xmat")
        numbers = [self.geom(geom) if isinstance(geom, str) else geom for geom in geoms]
        heights = [lowest_point(self.model, geom, places[:, geom], turns[:, geom]) for geom in numbers]
        return torch.stack(heights).amin(0)

    def without_contact(self, propose: Callable[[], Tensor]) -> Tensor:
        """Return the first proposed positions of each env without any contact.

        Mocap bodies are in their place in the model. Draw nothing afterwards, because the number of proposals varies.

        Args:
            propose: Draws one proposal for each of the n envs, (n, nq or more): positions, then further numbers.

        Raises:
            TaskError: All of 1000 proposals have contacts.
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

    def settled(self, qpos: Tensor, seconds: float) -> tuple[Tensor, Tensor]:
        """Return positions (n, nq) and velocities (n, nv) after some time without control.

        Mocap bodies are in their place in the model. MuJoCo runs on the CPU, on all cores if the envs are on a GPU.

        Args:
            qpos: Initial positions, at rest, (n, nq).
            seconds: Simulated time [s].
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
