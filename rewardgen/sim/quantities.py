"""Typed variables that are read off a model by the names of its parts: `height = Body("torso").height`.

Each is a `Var` that brings its unit, its meaning and the way it is read, so that a task file declares it in one line.
What MuJoCo can sense is read from a sensor that is added to the model when it is compiled; the rest from the joints'
state. As all derived quantities do, sensors describe the last physics substep.
"""

# MuJoCo's compiled modules carry no type stubs.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import mujoco
import torch
from torch import Tensor

from rewardgen.core.errors import TaskError, did_you_mean
from rewardgen.core.text import quoted
from rewardgen.sim.geometry import geoms_of
from rewardgen.sim.protocol import OWN_SENSORS
from rewardgen.sim.rows import put_rows, rows_of
from rewardgen.sim.sim_view import SimView
from rewardgen.sim.variables import Var

XYZ = ("x", "y", "z")
_FOUND, _FORCE = 1, 2
"""Data of a contact sensor: the number of contacts, and their force."""
_NET_FORCE = 3


def upright(quaternion: Tensor) -> Tensor:
    """Cosine of the angle between a body's own z axis and the world's, (N,): 1 upright, -1 upside down.

    Args:
        quaternion: (w, x, y, z), (N, 4), of any length but zero.
    """
    squares = quaternion.square()
    return 1.0 - 2.0 * (squares[:, 1] + squares[:, 2]) / squares.sum(1)


def heading(quaternion: Tensor) -> Tensor:
    """Angle of a body's own x axis about the world's z axis, (N,) [rad]: 0 along +x, positive to the left.

    Args:
        quaternion: (w, x, y, z), (N, 4), of any length but zero.
    """
    w, x, y, z = quaternion.unbind(1)
    return torch.atan2(2.0 * (w * z + x * y), w * w + x * x - y * y - z * z)


_Kind = Literal["xbody", "body", "geom", "site", "camera", "joint", "tendon", "actuator", "thing", "contact"]
_KINDS = {
    "xbody": mujoco.mjtObj.mjOBJ_XBODY,
    "body": mujoco.mjtObj.mjOBJ_BODY,
    "geom": mujoco.mjtObj.mjOBJ_GEOM,
    "site": mujoco.mjtObj.mjOBJ_SITE,
    "camera": mujoco.mjtObj.mjOBJ_CAMERA,
    "joint": mujoco.mjtObj.mjOBJ_JOINT,
    "tendon": mujoco.mjtObj.mjOBJ_TENDON,
    "actuator": mujoco.mjtObj.mjOBJ_ACTUATOR,
}
_LISTED = {"xbody": "bodies", "body": "bodies"}
"""Attribute of `MjSpec` that lists the parts of a kind, where it is not the kind with an s."""


class Part(NamedTuple):
    """A part of a model. `thing` is the first body, geom, site or camera of a name; `contact` the first body or geom.

    `geom:foot` is the geom, where a body is called `foot` too.
    """

    kind: _Kind
    name: str


class Sensed(NamedTuple):
    """A sensor to be added to the model.

    Attributes:
        kind: Its type, as MuJoCo's `mjSENS_` constants name it.
        of: The part it is on; None for the whole model.
        to: The part in whose frame it measures, or the second of two parts.
    """

    kind: str
    of: Part | None = None
    to: Part | None = None

    @property
    def name(self) -> str:
        """Name in the model."""
        return OWN_SENSORS + ":".join([self.kind, *(f"{each.kind}/{each.name}" for each in (self.of, self.to) if each)])


@dataclass(frozen=True, kw_only=True)
class Quantity(Var):
    """A variable that is read off the model.

    Args:
        read: From the simulation to the value, (N,) or (N, k).
        code: The expression that declares the quantity.
        sensed: The sensors that `read` needs.
        turning: The body whose turns are counted, if any.
    """

    read: Callable[[SimView], Tensor] = field(compare=False)
    code: str
    sensed: tuple[Sensed, ...] = ()
    turning: str = ""

    def told(self, meaning: str) -> Quantity:
        """The same quantity with other words for the designer: its meaning, frame and sign convention."""
        return replace(self, meaning=meaning, code=f"{self.code}.{call('told', meaning)}")


def call(function: str, *arguments: str | tuple[str, ...]) -> str:
    """The source of a call. Names of a model's parts may hold any character, so they are quoted as Python does."""
    return f"{function}({', '.join(map(quoted, arguments))})"


def _quantity(
    code: str,
    unit: str,
    meaning: str,
    sensed: Sensed,
    parts: tuple[str, ...] = (),
    change: Callable[[Tensor], Tensor] | None = None,
) -> Quantity:
    """A quantity of a single sensor; the first number if it has no parts."""
    change = change or ((lambda values: values) if parts else (lambda values: values[:, 0]))
    sensor = sensed.name
    read = lambda sim: change(sim.sensor(sensor))  # noqa: E731
    return Quantity(unit, meaning, parts, read=read, code=code, sensed=(sensed,))


class _Placed:
    """A part with a place in the world."""

    def __init__(self, name: str, kind: _Kind, code: str) -> None:
        self.name, self._part, self._code = name, Part(kind, name), code

    @property
    def position(self) -> Quantity:
        """Position of its frame's origin in the world, (N, 3) [m]: for a limb mostly its joint, not its middle."""
        return self._of("position", "m", f"position of {self.name} in the world", "FRAMEPOS", XYZ)

    @property
    def height(self) -> Quantity:
        """Height of its frame's origin above z = 0, (N,) [m]."""
        meaning = f"height of the frame origin of {self.name} above z = 0"
        return self._of("height", "m", meaning, "FRAMEPOS", change=lambda values: values[:, 2])

    @property
    def velocity(self) -> Quantity:
        """Linear velocity in the world's frame, (N, 3) [m/s]."""
        return self._of("velocity", "m/s", f"velocity of {self.name} along the world's axes", "FRAMELINVEL", XYZ)

    def _of(
        self,
        name: str,
        unit: str,
        meaning: str,
        sensor: str,
        parts: tuple[str, ...] = (),
        change: Callable[[Tensor], Tensor] | None = None,
    ) -> Quantity:
        return _quantity(f"{self._code}.{name}", unit, meaning, Sensed(sensor, self._part), parts, change)


class Body(_Placed):
    """A body of the model, by name."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "xbody", call("Body", name))

    @property
    def local_velocity(self) -> Quantity:
        """Linear velocity in its own frame, (N, 3) [m/s]."""
        return self._along_own_axes("local_velocity", "m/s", "velocity", "FRAMELINVEL")

    @property
    def angular_velocity(self) -> Quantity:
        """Angular velocity about its own axes, (N, 3) [rad/s]."""
        return self._along_own_axes("angular_velocity", "rad/s", "angular velocity", "FRAMEANGVEL")

    def _along_own_axes(self, name: str, unit: str, what: str, sensor: str) -> Quantity:
        sensed = (Sensed(sensor, self._part), Sensed("FRAMEQUAT", self._part))
        sensors = [each.name for each in sensed]
        read = lambda sim: _rotated_back(*map(sim.sensor, sensors))  # noqa: E731
        meaning = f"{what} of {self.name}, along its own axes"
        return Quantity(unit, meaning, XYZ, read=read, code=f"{self._code}.{name}", sensed=sensed)

    @property
    def upright(self) -> Quantity:
        """Cosine of the angle between its own z axis and the world's, (N,)."""
        meaning = f"cosine of the tilt of {self.name}: 1 as it stands in the model, 0 on its side, -1 upside down"
        return self._of("upright", "1", meaning, "FRAMEQUAT", change=upright)

    @property
    def heading(self) -> Quantity:
        """Angle of its own x axis about the world's z axis, (N,) [rad] in (-pi, pi]."""
        meaning = f"direction of the x axis of {self.name} about the vertical: 0 along +x, positive to the left"
        return self._of("heading", "rad", meaning, "FRAMEQUAT", change=heading)

    @property
    def clearance(self) -> Quantity:
        """Height of the lowest point of all its geoms above z = 0, (N,) [m]; not of bodies that hang on it."""

        def read(sim: SimView) -> Tensor:
            geoms = geoms_of(sim.model, mujoco.mjtObj.mjOBJ_BODY, sim.body(self.name))
            if not geoms:
                raise TaskError(f"body `{self.name}` has no geoms, and so no clearance", "name one that has a shape")
            return sim.clearance(*geoms)

        meaning = f"height of the lowest point of {self.name} above the ground, about 0 in contact"
        return Quantity("m", meaning, read=read, code=f"{self._code}.clearance")

    def turns(self, axis: Literal["x", "y", "z"]) -> Quantity:
        """Full turns about one of its own axes since the episode began, (N,): the signed sum of all rotations."""
        number = XYZ.index(axis)
        turned = {"x": "from y to z", "y": "from z to x", "z": "from x to y"}[axis]
        meaning = f"full turns of {self.name} about its own {axis} axis since the episode began, positive {turned}"
        return Quantity(
            "1",
            meaning,
            read=lambda sim: sim.rotated(self.name)[:, number] / (2.0 * torch.pi),
            code=f"{self._code}.{call('turns', axis)}",
            sensed=(Sensed("FRAMEQUAT", self._part),),
            turning=self.name,
        )


class Site(_Placed):
    """A site of the model, by name."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "site", call("Site", name))


class Geom(_Placed):
    """A geom of the model, by name."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "geom", call("Geom", name))

    @property
    def clearance(self) -> Quantity:
        """Height of its lowest point above z = 0, (N,) [m]."""
        meaning = f"height of the lowest point of {self.name} above the ground, about 0 in contact"
        return Quantity("m", meaning, read=lambda sim: sim.clearance(self.name), code=f"{self._code}.clearance")


class CentreOfMass:
    """The centre of mass of a body, by name, with all that hangs on it."""

    def __init__(self, body: str) -> None:
        self._body, self._part = body, Part("body", body)

    @property
    def position(self) -> Quantity:
        """Its position in the world, (N, 3) [m]."""
        meaning = f"centre of mass of {self._body} and all that hangs on it, in the world"
        code = f"{call('CentreOfMass', self._body)}.position"
        return _quantity(code, "m", meaning, Sensed("SUBTREECOM", self._part), XYZ)

    @property
    def velocity(self) -> Quantity:
        """Its velocity along the world's axes, (N, 3) [m/s]."""
        meaning = f"velocity of the centre of mass of {self._body} and all that hangs on it, along the world's axes"
        code = f"{call('CentreOfMass', self._body)}.velocity"
        return _quantity(code, "m/s", meaning, Sensed("SUBTREELINVEL", self._part), XYZ)


class _Joint:
    """A joint with one degree of freedom."""

    _class, _type = "", mujoco.mjtJoint.mjJNT_HINGE

    def __init__(self, name: str) -> None:
        self.name = name

    def _of(self, name: str, unit: str, meaning: str, values: str, address: str) -> Quantity:
        read = lambda sim: sim.field(values)[:, sim.joint(self.name, self._type, address)]  # noqa: E731
        return Quantity(unit, meaning, read=read, code=f"{call(self._class, self.name)}.{name}")

    def _effort(self, name: str, unit: str) -> Quantity:
        meaning = f"what the actuators exert on the joint {self.name}"
        sensed = Sensed("JOINTACTFRC", Part("joint", self.name))
        return _quantity(f"{call(self._class, self.name)}.{name}", unit, meaning, sensed)


class Hinge(_Joint):
    """A hinge joint of the model, by name."""

    _class = "Hinge"

    @property
    def angle(self) -> Quantity:
        """Its angle, not wrapped, (N,) [rad]."""
        return self._of("angle", "rad", f"angle of the joint {self.name}", "qpos", "jnt_qposadr")

    @property
    def velocity(self) -> Quantity:
        """Its angular velocity, (N,) [rad/s]."""
        return self._of("velocity", "rad/s", f"angular velocity of the joint {self.name}", "qvel", "jnt_dofadr")

    @property
    def torque(self) -> Quantity:
        """Torque of the actuators on the joint, (N,) [N m]."""
        return self._effort("torque", "N m")


class Slide(_Joint):
    """A slide joint of the model, by name."""

    _class, _type = "Slide", mujoco.mjtJoint.mjJNT_SLIDE

    @property
    def position(self) -> Quantity:
        """Its position, (N,) [m]."""
        return self._of("position", "m", f"position of the joint {self.name}", "qpos", "jnt_qposadr")

    @property
    def velocity(self) -> Quantity:
        """Its velocity, (N,) [m/s]."""
        return self._of("velocity", "m/s", f"velocity of the joint {self.name}", "qvel", "jnt_dofadr")

    @property
    def force(self) -> Quantity:
        """Force of the actuators on the joint, (N,) [N]."""
        return self._effort("force", "N")


class Tendon:
    """A tendon of the model, by name."""

    def __init__(self, name: str) -> None:
        self._name, self._part = name, Part("tendon", name)

    @property
    def length(self) -> Quantity:
        """Its length, (N,) [m; for a fixed tendon, in the unit of its joints]."""
        code = f"{call('Tendon', self._name)}.length"
        return _quantity(code, "m", f"length of the tendon {self._name}", Sensed("TENDONPOS", self._part))

    @property
    def velocity(self) -> Quantity:
        """The speed at which it grows longer, (N,) [m/s]."""
        code = f"{call('Tendon', self._name)}.velocity"
        meaning = f"speed at which the tendon {self._name} lengthens"
        return _quantity(code, "m/s", meaning, Sensed("TENDONVEL", self._part))


def Sensor(name: str, unit: str, meaning: str, parts: tuple[str, ...] = ()) -> Quantity:  # noqa: N802
    """A sensor of the model, by name, with its unit and meaning, and names of its numbers if it has several."""
    read = (lambda sim: sim.sensor(name)) if parts else (lambda sim: sim.sensor(name)[:, 0])
    code = call("Sensor", name, unit, meaning, *([parts] if parts else []))
    return Quantity(unit, meaning, parts, read=read, code=code)


def Distance(one: str, other: str) -> Quantity:  # noqa: N802
    """Distance between the frame origins of two bodies, geoms or sites, (N,) [m].

    A shared name means the body; `geom:foot` and `site:foot` are the others.
    """
    return _between(
        "Distance", one, other, "m", f"distance between the frame origins of {_phrase(one)} and {_phrase(other)}"
    )


def Direction(one: str, other: str) -> Quantity:  # noqa: N802
    """The way from one body, geom or site to another along the world's axes, (N, 3) [m]."""
    return _between(
        "Direction", one, other, "m", f"the way from {_phrase(one)} to {_phrase(other)} along the world's axes", XYZ
    )


def _between(code: str, one: str, other: str, unit: str, meaning: str, parts: tuple[str, ...] = ()) -> Quantity:
    ends = tuple(Sensed("FRAMEPOS", Part("thing", name)) for name in (one, other))
    start, end = (each.name for each in ends)

    def read(sim: SimView) -> Tensor:
        way = sim.sensor(end) - sim.sensor(start)
        return way if parts else way.norm(dim=1)

    return Quantity(unit, meaning, parts, read=read, code=call(code, one, other), sensed=ends)


def Touching(one: str, other: str) -> Quantity:  # noqa: N802
    """1 while two bodies or geoms are in contact, else 0, (N,).

    A body touches with its own geoms, not with those of bodies that hang on it. A geom without a name is called after
    its body, `foot_geom`, the next one `foot_geom_2`. Where a body has the same name, `geom:foot` is the geom.
    """
    sensed = Sensed("CONTACT", Part("contact", one), Part("contact", other))
    meaning = f"1 while {_phrase(one)} touches {_phrase(other)}, else 0"
    return _quantity(
        call("Touching", one, other), "1", meaning, sensed, change=lambda told: (told[:, 0] > 0.0).to(told.dtype)
    )


def ContactForce(one: str, other: str) -> Quantity:  # noqa: N802
    """Size of the net contact force between two bodies or geoms, (N,) [N]. For names, see `Touching`."""
    sensed = Sensed("CONTACT", Part("contact", one), Part("contact", other))
    meaning = f"size of the net contact force between {_phrase(one)} and {_phrase(other)}, 0 without contact"
    return _quantity(
        call("ContactForce", one, other), "N", meaning, sensed, change=lambda told: told[:, 1:4].norm(dim=1)
    )


def Energy(kind: Literal["kinetic", "potential"]) -> Quantity:  # noqa: N802
    """Kinetic or potential energy of the whole model, (N,) [J]."""
    return _quantity(call("Energy", kind), "J", f"{kind} energy of the whole model", Sensed(f"E_{kind.upper()}"))


def Effort(actuator: str) -> Quantity:  # noqa: N802
    """Force or torque of an actuator, by name, (N,) [N or N m]."""
    sensed = Sensed("ACTUATORFRC", Part("actuator", actuator))
    return _quantity(call("Effort", actuator), "N", f"force (or torque, in N m) of the actuator {actuator}", sensed)


def with_sensors(spec: mujoco.MjSpec, quantities: Iterable[Quantity]) -> None:
    """Add to a model, all of whose parts have names, the sensors that quantities read.

    Raises:
        TaskError: The model lacks parts of some names; the message lists them all.
    """
    missing: dict[str, str] = {}
    for each in dict.fromkeys(sensed for quantity in quantities for sensed in quantity.sensed):
        asked: dict[str, object] = {"name": each.name, "type": getattr(mujoco.mjtSensor, f"mjSENS_{each.kind}")}
        try:
            if each.of:
                asked["objtype"], asked["objname"] = _found(spec, each.of)
            if each.to:
                asked["reftype"], asked["refname"] = _found(spec, each.to)
        except TaskError as error:
            missing[error.message] = error.hint
            continue
        if each.kind == "CONTACT":
            asked["intprm"] = [_FOUND | _FORCE, _NET_FORCE, 1]
        spec.add_sensor(**asked)
    if missing:
        raise TaskError("; ".join(missing), "; ".join(dict.fromkeys(missing.values())))


def _found(spec: mujoco.MjSpec, part: Part) -> tuple[mujoco.mjtObj, str]:
    kinds: Mapping[str, tuple[_Kind, ...]] = {
        "thing": ("xbody", "geom", "site", "camera"),
        "contact": ("body", "geom"),
    }
    choices = [(kind, part.name) for kind in kinds.get(part.kind, (part.kind,))]
    asked, _, name = part.name.partition(":")
    choices += [(kind, name) for kind in kinds.get(part.kind, ()) if kind.removeprefix("x") == asked]
    for kind, name in choices:
        if getattr(spec, "body" if kind == "xbody" else kind)(name) is not None:
            return _KINDS[kind], name
    sort = {"thing": "body, geom or site", "contact": "body or geom", "xbody": "body"}.get(part.kind, part.kind)
    there = {each.name for kind, _ in choices for each in getattr(spec, _LISTED.get(kind, f"{kind}s")) if each.name}
    hint = did_you_mean(part.name, there) if there else "see `rewardgen robots show` for what it has"
    raise TaskError(f"the model has no {sort} `{part.name}`", hint)


def _phrase(name: str) -> str:
    """A part in words; `geom:foot` is the geom of that name."""
    kind, _, rest = name.partition(":")
    return f"the {kind} {rest}" if rest and kind in _KINDS else name


def _rotated_back(vector: Tensor, quaternion: Tensor) -> Tensor:
    """Rotate a vector of the world into the frame of a body, (N, 3)."""
    w, axis = quaternion[:, :1], -quaternion[:, 1:]
    twice = 2.0 * torch.linalg.cross(axis, vector)
    return vector + w * twice + torch.linalg.cross(axis, twice)


class TurnCounter:
    """Sums the rotations of bodies about their own axes into `view.rotated`; a step must turn less than a half turn."""

    def __init__(self, view: SimView, bodies: Iterable[str]) -> None:
        self._view = view
        self._sensors = {name: Sensed("FRAMEQUAT", Part("xbody", name)).name for name in dict.fromkeys(bodies)}
        self._last = {name: self._now(name) for name in self._sensors}
        view.count_turns({name: torch.zeros_like(last[:, :3]) for name, last in self._last.items()})

    @classmethod
    def of(cls, view: SimView, declared: Iterable[Var]) -> TurnCounter:
        """A counter for the variables that count turns."""
        return cls(view, (each.turning for each in declared if isinstance(each, Quantity) and each.turning))

    def begin(self, which: Tensor) -> None:
        """Count from zero in some envs, (n,) int64 or (N,) bool."""
        for name, last in self._last.items():
            put_rows(last, which, rows_of(self._now(name), which))
            put_rows(self._view.rotated(name), which, 0.0)

    def advance(self) -> None:
        """Add the rotation of a control step."""
        for name, last in self._last.items():
            now = self._now(name)
            self._view.rotated(name).add_(_rotation(last, now))
            self._last[name] = now

    def _now(self, name: str) -> Tensor:
        return self._view.sensor(self._sensors[name]).clone()


def _rotation(before: Tensor, after: Tensor) -> Tensor:
    """The rotation from one orientation to another as a vector in the first one's frame, (N, 3) [rad]."""
    w1, v1, w2, v2 = before[:, :1], -before[:, 1:], after[:, :1], after[:, 1:]
    w = w1 * w2 - (v1 * v2).sum(1, keepdim=True)
    v = w1 * v2 + w2 * v1 + torch.linalg.cross(v1, v2)
    sine = v.norm(dim=1, keepdim=True)
    angle = 2.0 * torch.atan2(sine, w.abs())
    return v * torch.where(sine > 1e-12, angle / sine.clamp_min(1e-12), 2.0) * torch.where(w < 0.0, -1.0, 1.0)
