"""Catalogue of a robot: every variable of its model, with its range under random actions."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import mujoco
import torch

from rewardgen.core.errors import TaskError
from rewardgen.core.text import distinct
from rewardgen.sim.geometry import can_touch, geoms_of
from rewardgen.sim.model import Role, action_parts, actuator_hint, body_roles, compile_model
from rewardgen.sim.model_words import geom_words, site_words
from rewardgen.sim.mujoco_cpu import CpuSimulator
from rewardgen.sim.protocol import OWN_SENSORS
from rewardgen.sim.quantities import (
    Body,
    CentreOfMass,
    ContactForce,
    Direction,
    Distance,
    Effort,
    Energy,
    Hinge,
    Quantity,
    Sensor,
    Site,
    Slide,
    Tendon,
    Touching,
    TurnCounter,
    with_sensors,
)
from rewardgen.sim.sim_view import SimView
from rewardgen.tasks.card import rounded
from rewardgen.tasks.draft.language import NOT_VARIABLES
from rewardgen.tasks.robots import Catalogue, Entry

_NUM_ENVS, _STEPS = 4, 50
_CONTROL_S = 0.02
"""Control step of the measurement, as near as the model's physics step allows [s]."""
_MOST_PHYSICS_STEPS, _SOLVER_ITERATIONS = 1000, 15
"""Limits of the measurement: a large robot under random actions takes minutes otherwise."""
_MOST_PAIRS = 24
"""Listed pairs of a part of the robot and an object, or the ground; any others can be declared too."""
_SENSORS = {
    "ACCELEROMETER": ("m/s^2", "acceleration"),
    "VELOCIMETER": ("m/s", "velocity"),
    "GYRO": ("rad/s", "angular velocity"),
    "FORCE": ("N", "force"),
    "TORQUE": ("N m", "torque"),
    "TOUCH": ("N", "sum of contact forces"),
    "RANGEFINDER": ("m", "distance to what is in front; -1 for nothing"),
    "JOINTPOS": ("rad", "position"),
    "JOINTVEL": ("rad/s", "velocity"),
    "JOINTACTFRC": ("N m", "force or torque of its actuators"),
    "ACTUATORFRC": ("N or N m", "force or torque before its gear"),
    "FRAMEPOS": ("m", "position"),
    "FRAMEQUAT": ("1", "orientation (w, x, y, z)"),
    "FRAMELINVEL": ("m/s", "velocity"),
    "FRAMEANGVEL": ("rad/s", "angular velocity"),
    "SUBTREECOM": ("m", "centre of mass"),
    "SUBTREELINVEL": ("m/s", "velocity of the centre of mass"),
    "SUBTREEANGMOM": ("kg m^2/s", "angular momentum"),
}
_TELLING = ("_position", "_velocity", "_upright", "_distance")
_LOOSE = (int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_SLIDE))
_XYZW = {3: ("x", "y", "z"), 4: ("w", "x", "y", "z")}


def catalogue_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Run the worker job `catalogue`: {"model": path} to a `Catalogue`."""
    return catalogue(Path(payload["model"])).model_dump(mode="json")


def catalogue(path: Path) -> Catalogue:
    """Return the catalogue of an MJCF or URDF file.

    Raises:
        TaskError: The model does not compile, or nothing in it moves.
    """
    # Read meshes only once: they take most of the time of a large model.
    model = compile_model(path, _without_meshes)
    if not model.nv:
        raise TaskError(f"nothing in {path.name} moves", "give the model of a robot: bodies with joints")
    roles = body_roles(model)
    listed = list(_listed(model, roles))
    quantities = [quantity for _, _, quantity in listed]
    model = compile_model(path, lambda spec: with_sensors(spec, quantities))
    measured = zip(listed, _measured(model, quantities), strict=True)
    # A planar robot turns about one axis only.
    kept = [(item, values) for item, values in measured if not (item[2].turning and values[1] == values[2])]
    names = _unique([name for (name, _, _), _ in kept])
    bodies = [model.body(body).name for body in range(model.nbody)]
    start_pose = mujoco.MjData(model)
    mujoco.mj_kinematics(model, start_pose)
    return Catalogue(
        entries=tuple(
            Entry(
                name=name,
                code=quantity.code,
                about=cast("Role", about),
                unit=quantity.unit,
                meaning=quantity.meaning + _axis_words(start_pose, quantity),
                parts=quantity.parts,
                start=start,
                minimum=low,
                maximum=high,
            )
            for name, ((_, about, quantity), (start, low, high)) in zip(names, kept, strict=True)
        ),
        robot=tuple(name for name, role in zip(bodies, roles, strict=True) if role == "robot"),
        objects=tuple(name for name, role in zip(bodies, roles, strict=True) if role == "object"),
        geoms=tuple(model.geom(geom).name for geom in range(model.ngeom)),
        sizes=tuple(f"{model.geom(geom).name} ({geom_words(model, geom)})" for geom in range(model.ngeom)),
        sites=tuple(f"{model.site(site).name} ({site_words(model, site)})" for site in range(model.nsite)),
        keyframes=tuple(filter(None, (model.key(key).name for key in range(model.nkey)))),
        actuators=action_parts(model),
        unlimited_actuators=tuple(
            name for name, limited in zip(action_parts(model), model.actuator_ctrllimited, strict=True) if not limited
        ),
        actuator_hint="" if model.nu else actuator_hint(model, path),
        timestep_s=float(model.opt.timestep),
    )


def _without_meshes(spec: mujoco.MjSpec) -> None:
    """Replace meshes by balls; bodies, joints and names stay."""
    for geom in spec.geoms:
        if geom.meshname:
            geom.type, geom.meshname, geom.size = mujoco.mjtGeom.mjGEOM_SPHERE, "", (1.0, 1.0, 1.0)
    for mesh in spec.meshes:
        spec.delete(mesh)


def outline(model: mujoco.MjModel) -> dict[str, Quantity]:
    """Return a few quantities of a model: places of moving parts, and distances between parts."""
    roles = body_roles(model)
    moving = {int(model.body_rootid[body]) for body in model.jnt_bodyid}
    loose = {model.body(root).name for root in moving if model.jnt_type[model.body_jntadr[root]] in _LOOSE}
    listed = [item for item in _listed(model, roles) if item[0].endswith(_TELLING)]
    names = _unique([name for name, _, _ in listed])
    return {
        name: quantity
        for name, (suggested, _, quantity) in zip(names, listed, strict=True)
        if suggested.endswith("_distance") or suggested.rpartition("_")[0] in loose
    }


def _listed(model: mujoco.MjModel, roles: list[Role]) -> Iterator[tuple[str, str, Quantity]]:
    """Yield a suggested name, the owner, and the quantity, the most useful ones first."""
    named = [model.body(index).name for index in range(model.nbody)]
    roots = [body for body in range(1, model.nbody) if model.body_rootid[body] == body and roles[body] != "world"]
    for body in roots:
        yield from _body(named[body], roles[body])
        yield from (
            (f"{named[body]}_turns_{axis}", roles[body], Body(named[body]).turns(axis)) for axis in ("x", "y", "z")
        )
        centre = CentreOfMass(named[body])
        yield f"{named[body]}_com", roles[body], centre.position
        yield f"{named[body]}_com_velocity", roles[body], centre.velocity
    for joint in range(model.njnt):
        yield from _joint(model, joint, roles[model.jnt_bodyid[joint]])
    turning = set(model.jnt_bodyid[model.jnt_type == mujoco.mjtJoint.mjJNT_BALL].tolist())
    for body in range(1, model.nbody):
        if model.body_mocapid[body] >= 0:
            yield f"{named[body]}_position", roles[body], Body(named[body]).position
        elif body in turning and body not in roots:  # the body describes a joint of several axes
            yield from _body(named[body], roles[body])
        elif body not in roots and roles[body] != "world":
            place = Body(named[body])
            yield f"{named[body]}_position", roles[body], place.position
            yield f"{named[body]}_velocity", roles[body], place.velocity
    for one, other in _pairs(model, roles, roots, named):
        yield f"{one}_to_{other}", "object", Direction(one, other)
        yield f"{one}_{other}_distance", "object", Distance(one, other)
    for one, other in _contacts(model, roles, named):
        yield f"{one}_touches_{other}", "robot", Touching(one, other)
        yield f"{one}_{other}_force", "robot", ContactForce(one, other)
    for site in range(model.nsite):
        name = model.site(site).name
        yield f"{name}_position", roles[model.site_bodyid[site]], Site(name).position
    for index in range(model.ntendon):
        if name := model.tendon(index).name:
            yield f"{name}_length", "robot", Tendon(name).length
            yield f"{name}_velocity", "robot", Tendon(name).velocity
    for name in action_parts(model):
        yield f"{name}_effort", "robot", Effort(name)
    for index in range(model.nsensor):
        yield from _sensor(model, index)
    yield "kinetic_energy", "world", Energy("kinetic")
    yield "potential_energy", "world", Energy("potential")


def _body(name: str, about: Role) -> Iterator[tuple[str, str, Quantity]]:
    body = Body(name)
    for quantity in (
        body.position,
        body.height,
        body.velocity,
        body.local_velocity,
        body.angular_velocity,
        body.upright,
        body.heading,
    ):
        yield f"{name}_{quantity.code.rpartition('.')[2]}", about, quantity


def _joint(model: mujoco.MjModel, joint: int, about: Role) -> Iterator[tuple[str, str, Quantity]]:
    name, kind = model.joint(joint).name, model.jnt_type[joint]
    driven = joint in model.actuator_trnid[model.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT, 0]
    if kind == mujoco.mjtJoint.mjJNT_HINGE:
        hinge = Hinge(name)
        quantities = [hinge.angle, hinge.velocity, *([hinge.torque] if driven else [])]
    elif kind == mujoco.mjtJoint.mjJNT_SLIDE:
        slide = Slide(name)
        quantities = [slide.position, slide.velocity, *([slide.force] if driven else [])]
    else:  # the body describes a ball or a free joint
        return
    yield from ((f"{name}_{quantity.code.rpartition('.')[2]}", about, quantity) for quantity in quantities)


def _axis_words(data: mujoco.MjData, quantity: Quantity) -> str:
    """Return the positive direction of a joint in the reference pose; empty for other quantities."""
    match = re.fullmatch(r"(Hinge|Slide)\((.*)\)\.(angle|position|velocity)", quantity.code)
    if match is None:
        return ""
    name = ast.literal_eval(match[2])
    axis = ", ".join(f"{round(number, 2) + 0.0:g}" for number in data.joint(name).xaxis)
    way = f", positive {'about' if match[1] == 'Hinge' else 'along'} ({axis}) of the world at the start"
    joint = data.model.joint(name)
    limited = joint.limited[0] and match[3] != "velocity"
    return way + (f", limits {joint.range[0]:.3g} to {joint.range[1]:.3g}" if limited else "")


def _pairs(model: mujoco.MjModel, roles: list[Role], roots: list[int], named: list[str]) -> Iterator[tuple[str, str]]:
    """Yield tips of the robot with objects, and pairs of objects; mocap bodies and sites of the world are objects.

    The sites of a tip stand for it: they mark the point that acts, where a body's own point is at its joint.
    """
    parents = {int(parent) for parent in model.body_parentid}
    sites: dict[int, list[str]] = {}
    for site, body in enumerate(map(int, model.site_bodyid)):
        if model.site(site).name not in named:
            sites.setdefault(body, []).append(model.site(site).name)
    ends = [body for body in range(1, model.nbody) if roles[body] == "robot" and body not in parents]
    tips = [name for body in ends for name in sites.get(body, [named[body]])]
    objects = [named[body] for body in roots if roles[body] == "object"]
    objects += [named[body] for body in range(model.nbody) if model.body_mocapid[body] >= 0]
    objects += sites.get(0, [])
    pairs = [(tip, thing) for thing in objects for tip in tips]
    pairs += [(one, other) for number, one in enumerate(objects) for other in objects[number + 1 :]]
    yield from pairs[:_MOST_PAIRS]


def _contacts(model: mujoco.MjModel, roles: list[Role], named: list[str]) -> Iterator[tuple[str, str]]:
    """Yield tips of the robot with the ground and the objects, and objects with the ground."""
    touching = [geom for geom in range(model.ngeom) if model.geom_contype[geom] or model.geom_conaffinity[geom]]
    ground = [geom for geom in touching if int(model.geom_type[geom]) in _GROUND and not model.geom_bodyid[geom]]
    parents = {int(parent) for parent in model.body_parentid}
    bodies = {int(model.geom_bodyid[geom]) for geom in touching}
    tips = [body for body in sorted(bodies) if roles[body] == "robot" and (body not in parents or len(bodies) < 8)]
    objects = [body for body in sorted(bodies) if roles[body] == "object"]
    parts = {body: geoms_of(model, mujoco.mjtObj.mjOBJ_BODY, body) for body in bodies}
    pairs = [(body, geom) for geom in ground for body in (*tips, *objects) if can_touch(model, parts[body], [geom])]
    names = [(named[body], _geom_name(model, geom, named)) for body, geom in pairs]
    meeting = [(tip, thing) for thing in objects for tip in tips if can_touch(model, parts[tip], parts[thing])]
    yield from [*names, *((named[tip], named[thing]) for tip, thing in meeting)][:_MOST_PAIRS]


def _geom_name(model: mujoco.MjModel, geom: int, bodies: list[str]) -> str:
    name = model.geom(geom).name
    return f"geom:{name}" if name in bodies else name


_GROUND = {int(mujoco.mjtGeom.mjGEOM_PLANE), int(mujoco.mjtGeom.mjGEOM_HFIELD)}


def _sensor(model: mujoco.MjModel, index: int) -> Iterator[tuple[str, str, Quantity]]:
    name, kind = model.sensor(index).name, mujoco.mjtSensor(model.sensor_type[index]).name.removeprefix("mjSENS_")
    size = int(model.sensor_dim[index])
    if name and not name.startswith(OWN_SENSORS):
        unit, message = _SENSORS.get(kind, ("1", kind.lower()))
        if _is_slide(model, index):
            unit = unit.replace("rad", "m").replace("N m", "N")
        parts = () if size == 1 else _XYZW.get(size, tuple(f"value_{number}" for number in range(size)))
        yield name, "robot", Sensor(name, unit, f"{message}, as the model's sensor {name} tells it", parts)


def _is_slide(model: mujoco.MjModel, sensor: int) -> bool:
    slide, of_joint = int(mujoco.mjtJoint.mjJNT_SLIDE), int(mujoco.mjtObj.mjOBJ_JOINT)
    return model.sensor_objtype[sensor] == of_joint and model.jnt_type[model.sensor_objid[sensor]] == slide


def _measured(model: mujoco.MjModel, quantities: list[Quantity]) -> list[tuple[tuple[float, ...], ...]]:
    """Return each part in the reference pose, and its lowest and highest value over a second of random actions."""
    frame_skip = max(1, round(_CONTROL_S / float(model.opt.timestep)))
    model.opt.iterations = min(model.opt.iterations, _SOLVER_ITERATIONS)
    simulator = CpuSimulator(model, _NUM_ENVS, frame_skip)
    view = SimView(simulator)
    turns = TurnCounter(view, quantities)
    low, high = (torch.tensor(model.actuator_ctrlrange)[:, side].clone() for side in (0, 1))
    free = torch.tensor(model.actuator_ctrllimited == 0)
    low[free], high[free] = -1.0, 1.0
    random = torch.Generator().manual_seed(0)
    readings = [[quantity.read(view).clone() for quantity in quantities]]
    for _ in range(min(_STEPS, max(1, _MOST_PHYSICS_STEPS // frame_skip))):
        simulator.step(low + (high - low) * torch.rand(_NUM_ENVS, model.nu, dtype=torch.float64, generator=random))
        simulator.restore_diverged()
        turns.advance()
        readings.append([quantity.read(view).clone() for quantity in quantities])
    ranges = []
    for values in zip(*readings, strict=True):
        rows = torch.cat([value.reshape(_NUM_ENVS, -1) for value in values])
        ranges.append(tuple(map(rounded, (rows[0], rows.amin(0), rows.amax(0)))))
    return ranges


def _unique(names: list[str]) -> list[str]:
    words = [re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").lower() or "part" for name in names]
    wrong = [word[0].isdigit() or keyword.iskeyword(word) or word in NOT_VARIABLES for word in words]
    return distinct([f"part_{word}" if bad else word for word, bad in zip(words, wrong, strict=True)])
