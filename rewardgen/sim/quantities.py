"""Typed variables that name parts of a model: `height = Body("torso").height`.

A `Quantity` is a `Var` with a unit, a meaning and a function that reads its value. Most quantities read a MuJoCo
sensor, which is added when the model is compiled; the rest read joint positions and velocities. Sensors describe the
last physics substep.
"""

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
from rewardgen.sim.sim_view import SimView
from rewardgen.sim.tensors import heading, put_rows, rows_of, upright
from rewardgen.sim.variables import Var

XYZ = ("x", "y", "z")
_FOUND, _FORCE = 1, 2
"""Data of a contact sensor: number of contacts, and force."""
_NET_FORCE = 3

_Kind = Literal["xbody", "body", "geom", "site", "joint", "tendon", "actuator", "thing", "contact"]
_LISTED = {"xbody": "bodies", "body": "bodies"}
"""Attribute of `MjSpec` that lists the parts of a kind, unless it is the kind with an s."""


class Part(NamedTuple):
    """A part of a model. The kind `thing` is the first body, geom or site of a name, `contact` the first body or geom.

    The name `geom:foot` means the geom even if a body is called `foot`.
    """

    kind: _Kind
    name: str


class Sensed(NamedTuple):
    """A sensor that a quantity adds to the model, of a part or of all: a type as in MuJoCo's `mjSENS_` constants.

    `to` is the part in whose frame the sensor measures, or the second of two parts.
    """

    kind: str
    of: Part | None = None
    to: Part | None = None

    @property
    def name(self) -> str:
        """Name in the model."""
        return OWN_SENSORS + ":".join([self.kind, *(f"{part.kind}/{part.name}" for part in (self.of, self.to) if part)])


@dataclass(frozen=True, kw_only=True)
class Quantity(Var):
    """A variable that is read from the model.

    Args:
        read: Function from the simulation to the value, (N,) or (N, k).
        code: Expression that declares the quantity.
        sensed: Sensors that `read` needs.
        turning: Body whose turns are counted, if any.
    """

    read: Callable[[SimView], Tensor] = field(compare=False)
    code: str
    sensed: tuple[Sensed, ...] = ()
    turning: str = ""

    def told(self, meaning: str) -> Quantity:
        """Return the quantity with another meaning for the designer, with frame and sign convention."""
        return replace(self, meaning=meaning, code=f"{self.code}.{call('told', meaning)}")


def call(function: str, *arguments: str | tuple[str, ...]) -> str:
    """Return the source of a call with quoted arguments."""
    return f"{function}({', '.join(map(quoted, arguments))})"


def _quantity(
    code: str,
    unit: str,
    meaning: str,
    sensed: Sensed,
    parts: tuple[str, ...] = (),
    change: Callable[[Tensor], Tensor] | None = None,
) -> Quantity:
    """Build a quantity of a single sensor; without parts it is the sensor's first number."""
    change = change or ((lambda values: values) if parts else (lambda values: values[:, 0]))
    sensor = sensed.name
    read = lambda sim: change(sim.sensor(sensor))  # noqa: E731
    return Quantity(unit, meaning, parts, read=read, code=code, sensed=(sensed,))


class _Sensed:
    """A part of the model with quantities that are one sensor each."""

    _kind: _Kind

    def __init__(self, name: str) -> None:
        self.name, self._part, self._code = name, Part(self._kind, name), call(type(self).__name__, name)

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


class _Placed(_Sensed):
    """A part with a place in the world."""

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


class Body(_Placed):
    """A body of the model, by name."""

    _kind = "xbody"

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
        sensors = [sensor.name for sensor in sensed]
        read = lambda sim: _rotated_back(*map(sim.sensor, sensors))  # noqa: E731
        meaning = f"{what} of {self.name}, along its own axes"
        return Quantity(unit, meaning, XYZ, read=read, code=f"{self._code}.{name}", sensed=sensed)

    @property
    def upright(self) -> Quantity:
        """Cosine of the angle between its own z axis and the world's, (N,)."""
        meaning = f"cosine of the tilt of {self.name}: 1 with its z axis up, 0 on its side, -1 upside down"
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

    _kind = "site"


class Geom(_Placed):
    """A geom of the model, by name."""

    _kind = "geom"

    @property
    def clearance(self) -> Quantity:
        """Height of its lowest point above z = 0, (N,) [m]."""
        meaning = f"height of the lowest point of {self.name} above the ground, about 0 in contact"
        return Quantity("m", meaning, read=lambda sim: sim.clearance(self.name), code=f"{self._code}.clearance")


class CentreOfMass(_Sensed):
    """The centre of mass of a body, by name, with all bodies that hang on it."""

    _kind = "body"

    def __init__(self, body: str) -> None:
        super().__init__(body)

    @property
    def position(self) -> Quantity:
        """Position in the world, (N, 3) [m]."""
        meaning = f"centre of mass of {self.name} and all that hangs on it, in the world"
        return self._of("position", "m", meaning, "SUBTREECOM", XYZ)

    @property
    def velocity(self) -> Quantity:
        """Velocity along the world's axes, (N, 3) [m/s]."""
        meaning = f"velocity of the centre of mass of {self.name} and all that hangs on it, along the world's axes"
        return self._of("velocity", "m/s", meaning, "SUBTREELINVEL", XYZ)


class _Joint(_Sensed):
    """A joint with one degree of freedom."""

    _kind = "joint"
    _type = mujoco.mjtJoint.mjJNT_HINGE

    def _state(self, name: str, unit: str, meaning: str, values: str, address: str) -> Quantity:
        read = lambda sim: sim.field(values)[:, sim.joint(self.name, self._type, address)]  # noqa: E731
        return Quantity(unit, meaning, read=read, code=f"{self._code}.{name}")

    def _effort(self, name: str, unit: str) -> Quantity:
        return self._of(name, unit, f"what the actuators exert on the joint {self.name}", "JOINTACTFRC")


class Hinge(_Joint):
    """A hinge joint of the model, by name."""

    @property
    def angle(self) -> Quantity:
        """Angle, not wrapped, (N,) [rad]."""
        return self._state("angle", "rad", f"angle of the joint {self.name}", "qpos", "jnt_qposadr")

    @property
    def velocity(self) -> Quantity:
        """Angular velocity, (N,) [rad/s]."""
        return self._state("velocity", "rad/s", f"angular velocity of the joint {self.name}", "qvel", "jnt_dofadr")

    @property
    def torque(self) -> Quantity:
        """Torque of the actuators on the joint, (N,) [N m]."""
        return self._effort("torque", "N m")


class Slide(_Joint):
    """A slide joint of the model, by name."""

    _type = mujoco.mjtJoint.mjJNT_SLIDE

    @property
    def position(self) -> Quantity:
        """Position, (N,) [m]."""
        return self._state("position", "m", f"position of the joint {self.name}", "qpos", "jnt_qposadr")

    @property
    def velocity(self) -> Quantity:
        """Velocity, (N,) [m/s]."""
        return self._state("velocity", "m/s", f"velocity of the joint {self.name}", "qvel", "jnt_dofadr")

    @property
    def force(self) -> Quantity:
        """Force of the actuators on the joint, (N,) [N]."""
        return self._effort("force", "N")


class Tendon(_Sensed):
    """A tendon of the model, by name."""

    _kind = "tendon"

    @property
    def length(self) -> Quantity:
        """Length, (N,) [m; for a fixed tendon, the unit of its joints]."""
        return self._of("length", "m", f"length of the tendon {self.name}", "TENDONPOS")

    @property
    def velocity(self) -> Quantity:
        """Rate of lengthening, (N,) [m/s]."""
        return self._of("velocity", "m/s", f"speed at which the tendon {self.name} lengthens", "TENDONVEL")


def Sensor(name: str, unit: str, meaning: str, parts: tuple[str, ...] = ()) -> Quantity:  # noqa: N802
    """A sensor of the model, by name, with its unit, its meaning and the names of its numbers if it has several."""
    read = (lambda sim: sim.sensor(name)) if parts else (lambda sim: sim.sensor(name)[:, 0])
    code = call("Sensor", name, unit, meaning, *([parts] if parts else []))
    return Quantity(unit, meaning, parts, read=read, code=code)


def Distance(one: str, other: str) -> Quantity:  # noqa: N802
    """Distance between the frame origins of two bodies, geoms or sites, (N,) [m].

    A shared name means the body; `geom:foot` and `site:foot` mean the geom and the site.
    """
    meaning = f"distance between the frame origins of {_phrase(one)} and {_phrase(other)}"
    return _between("Distance", one, other, meaning)


def Direction(one: str, other: str) -> Quantity:  # noqa: N802
    """The way from one body, geom or site to another along the world's axes, (N, 3) [m]."""
    meaning = f"the way from {_phrase(one)} to {_phrase(other)} along the world's axes"
    return _between("Direction", one, other, meaning, XYZ)


def _between(code: str, one: str, other: str, meaning: str, parts: tuple[str, ...] = ()) -> Quantity:
    ends = tuple(Sensed("FRAMEPOS", Part("thing", name)) for name in (one, other))
    start, end = (sensor.name for sensor in ends)

    def read(sim: SimView) -> Tensor:
        way = sim.sensor(end) - sim.sensor(start)
        return way if parts else way.norm(dim=1)

    return Quantity("m", meaning, parts, read=read, code=call(code, one, other), sensed=ends)


def Touching(one: str, other: str) -> Quantity:  # noqa: N802
    """1 while two bodies or geoms are in contact, else 0, (N,).

    A body touches with its own geoms, not with those of bodies that hang on it. The unnamed geoms of a body `foot` are
    called `foot_geom`, `foot_geom_2` and so on. Where a body has the same name, `geom:foot` means the geom.
    """
    meaning = f"1 while {_phrase(one)} touches {_phrase(other)}, else 0"
    return _contact("Touching", one, other, "1", meaning, lambda contact: (contact[:, 0] > 0.0).to(contact.dtype))


def ContactForce(one: str, other: str) -> Quantity:  # noqa: N802
    """Size of the net contact force between two bodies or geoms, (N,) [N]. For names, see `Touching`."""
    meaning = f"size of the net contact force between {_phrase(one)} and {_phrase(other)}, 0 without contact"
    return _contact("ContactForce", one, other, "N", meaning, lambda contact: contact[:, 1:4].norm(dim=1))


def _contact(code: str, one: str, other: str, unit: str, meaning: str, change: Callable[[Tensor], Tensor]) -> Quantity:
    sensed = Sensed("CONTACT", Part("contact", one), Part("contact", other))
    return _quantity(call(code, one, other), unit, meaning, sensed, change=change)


def Energy(kind: Literal["kinetic", "potential"]) -> Quantity:  # noqa: N802
    """Kinetic or potential energy of the whole model, (N,) [J]."""
    return _quantity(call("Energy", kind), "J", f"{kind} energy of the whole model", Sensed(f"E_{kind.upper()}"))


def Effort(actuator: str) -> Quantity:  # noqa: N802
    """Force or torque of an actuator, by name, before its gear, (N,) [N or N m]."""
    sensed = Sensed("ACTUATORFRC", Part("actuator", actuator))
    meaning = f"force or torque of the actuator {actuator}, before its gear"
    return _quantity(call("Effort", actuator), "N or N m", meaning, sensed)


def with_sensors(spec: mujoco.MjSpec, quantities: Iterable[Quantity]) -> None:
    """Add the sensors of quantities to a model, all of whose parts must have names.

    Raises:
        TaskError: The model lacks some parts; the message lists all of them.
    """
    missing: dict[str, str] = {}
    for sensed in dict.fromkeys(sensed for quantity in quantities for sensed in quantity.sensed):
        options: dict[str, object] = {"name": sensed.name, "type": getattr(mujoco.mjtSensor, f"mjSENS_{sensed.kind}")}
        try:
            if sensed.of:
                options["objtype"], options["objname"] = _resolve(spec, sensed.of)
            if sensed.to:
                options["reftype"], options["refname"] = _resolve(spec, sensed.to)
        except TaskError as error:
            missing[error.message] = error.hint
            continue
        if sensed.kind == "CONTACT":
            options["intprm"] = [_FOUND | _FORCE, _NET_FORCE, 1]
        spec.add_sensor(**options)
    if missing:
        raise TaskError("; ".join(missing), "; ".join(dict.fromkeys(missing.values())))


def _resolve(spec: mujoco.MjSpec, part: Part) -> tuple[mujoco.mjtObj, str]:
    kinds: Mapping[str, tuple[_Kind, ...]] = {"thing": ("xbody", "geom", "site"), "contact": ("body", "geom")}
    choices = [(kind, part.name) for kind in kinds.get(part.kind, (part.kind,))]
    prefix, _, name = part.name.partition(":")
    choices += [(kind, name) for kind in kinds.get(part.kind, ()) if kind.removeprefix("x") == prefix]
    for kind, name in choices:
        if getattr(spec, "body" if kind == "xbody" else kind)(name) is not None:
            return getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}"), name
    sort = {"thing": "body, geom or site", "contact": "body or geom", "xbody": "body"}.get(part.kind, part.kind)
    names = {item.name for kind, _ in choices for item in getattr(spec, _LISTED.get(kind, f"{kind}s")) if item.name}
    hint = did_you_mean(part.name, names) if names else "`rewardgen robots show` lists the parts of a model"
    raise TaskError(f"the model has no {sort} `{part.name}`", hint)


def _phrase(name: str) -> str:
    """Describe a part; `geom:foot` becomes `the geom foot`."""
    kind, _, rest = name.partition(":")
    return f"the {kind} {rest}" if rest and kind in ("body", "geom", "site") else name


def _rotated_back(vector: Tensor, quaternion: Tensor) -> Tensor:
    """Rotate a vector of the world into the frame of a body, (N, 3)."""
    w, axis = quaternion[:, :1], -quaternion[:, 1:]
    twice = 2.0 * torch.linalg.cross(axis, vector)
    return vector + w * twice + torch.linalg.cross(axis, twice)


class TurnCounter:
    """Sums the rotations of bodies, of which variables count the turns, about their own axes into `view.rotated`.

    A body must rotate by less than half a turn in a control step.
    """

    def __init__(self, view: SimView, declared: Iterable[Var]) -> None:
        self._view = view
        bodies = dict.fromkeys(var.turning for var in declared if isinstance(var, Quantity) and var.turning)
        self._sensors = {name: Sensed("FRAMEQUAT", Part("xbody", name)).name for name in bodies}
        self._last = {name: self._now(name) for name in self._sensors}
        view.count_turns({name: torch.zeros_like(last[:, :3]) for name, last in self._last.items()})

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
    """Return the rotation between two orientations as a vector in the frame of the first, (N, 3) [rad]."""
    w1, v1, w2, v2 = before[:, :1], -before[:, 1:], after[:, :1], after[:, 1:]
    w = w1 * w2 - (v1 * v2).sum(1, keepdim=True)
    v = w1 * v2 + w2 * v1 + torch.linalg.cross(v1, v2)
    sine = v.norm(dim=1, keepdim=True)
    angle = 2.0 * torch.atan2(sine, w.abs())
    return v * torch.where(sine > 1e-12, angle / sine.clamp_min(1e-12), 2.0) * torch.where(w < 0.0, -1.0, 1.0)
