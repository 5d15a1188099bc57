"""Geometry of models: possible contacts, and the lowest point of a geom."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import mujoco
from torch import Tensor

from rewardgen.core.errors import TaskError
from rewardgen.sim.protocol import OWN_SENSORS
from rewardgen.sim.tensors import constant

_SHAPE = mujoco.mjtGeom
_HINT = (
    "nothing touches in MuJoCo within a body, between one that hangs on another and that one, where `contype` and "
    "`conaffinity` or an <exclude> keep them apart, or without geoms: name other parts, such as the next body's"
)


def geoms_of(model: mujoco.MjModel, kind: int, index: int) -> list[int]:
    """Return the geoms of a body (`mjOBJ_BODY`), or the geom itself (`mjOBJ_GEOM`)."""
    if kind == mujoco.mjtObj.mjOBJ_GEOM:
        return [index]
    start = int(model.body_geomadr[index])
    return list(range(start, start + int(model.body_geomnum[index]))) if start >= 0 else []


def can_touch(model: mujoco.MjModel, some: Iterable[int], others: Iterable[int]) -> bool:
    """True if MuJoCo's contact filters allow a contact between any of some geoms and any of others."""
    return any(_collide(model, one, other) for one, other in itertools.product(some, others))


def check_contacts(model: mujoco.MjModel) -> None:
    """Raise a TaskError if two parts that `Touching` or `ContactForce` names can never touch."""
    for index in range(model.nsensor):
        sensor = model.sensor(index)
        if model.sensor_type[index] == mujoco.mjtSensor.mjSENS_CONTACT and sensor.name.startswith(OWN_SENSORS):
            ends = ((model.sensor_objtype, model.sensor_objid), (model.sensor_reftype, model.sensor_refid))
            parts = [(int(kinds[index]), int(ids[index])) for kinds, ids in ends]
            if not can_touch(model, *(geoms_of(model, *part) for part in parts)):
                raise TaskError(f"{' and '.join(_name(model, *part) for part in parts)} can never touch", _HINT)


def _name(model: mujoco.MjModel, kind: int, index: int) -> str:
    return f"the geom {model.geom(index).name}" if kind == mujoco.mjtObj.mjOBJ_GEOM else model.body(index).name


def _collide(model: mujoco.MjModel, one: int, other: int) -> bool:
    if any({one, other} == {int(a), int(b)} for a, b in zip(model.pair_geom1, model.pair_geom2, strict=True)):
        return True
    types, affinities = model.geom_contype, model.geom_conaffinity
    bodies = [int(model.geom_bodyid[geom]) for geom in (one, other)]
    welded = [int(model.body_weldid[body]) for body in bodies]
    above = [int(model.body_weldid[model.body_parentid[body]]) for body in welded]
    hanging = all(welded) and (welded[0] == above[1] or welded[1] == above[0])
    filtered = not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_FILTERPARENT
    excluded = (min(bodies) << 16) + max(bodies) in model.exclude_signature
    masked = not (types[one] & affinities[other] or types[other] & affinities[one])
    return not (welded[0] == welded[1] or (hanging and filtered) or excluded or masked)


def lowest_point(model: mujoco.MjModel, geom: int, position: Tensor, rotation: Tensor) -> Tensor:
    """Return the height of a geom's lowest point, (N,) [m], from its centre (N, 3) and rotation matrix by rows (N, 9).

    Raises a TaskError if the geom is a plane, a height field or another shape without a lowest point.
    """
    size = model.geom_size[geom].tolist()
    down = rotation[:, 6:]  # components of the world's z along the geom's axes
    match _SHAPE(model.geom_type[geom]):
        case _SHAPE.mjGEOM_SPHERE:
            reach = size[0]
        case _SHAPE.mjGEOM_CAPSULE:
            reach = size[0] + size[1] * down[:, 2].abs()
        case _SHAPE.mjGEOM_CYLINDER:
            reach = size[0] * (1.0 - down[:, 2].square()).clamp_min(0.0).sqrt() + size[1] * down[:, 2].abs()
        case _SHAPE.mjGEOM_ELLIPSOID:
            reach = (constant(size, down.device) * down).norm(dim=1)
        case _SHAPE.mjGEOM_BOX:
            reach = (constant(size, down.device) * down.abs()).sum(1)
        case _SHAPE.mjGEOM_MESH:
            mesh = int(model.geom_dataid[geom])
            first = int(model.mesh_vertadr[mesh])
            corners = constant(model.mesh_vert[first : first + int(model.mesh_vertnum[mesh])], down.device)
            reach = -(down @ corners.T).amin(1)
        case other:
            name, shape = model.geom(geom).name, other.name.removeprefix("mjGEOM_").lower()
            raise TaskError(f"geom `{name}` has no lowest point: it is a {shape}", "name a solid geom of the robot")
    return position[:, 2] - reach
