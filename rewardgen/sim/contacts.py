"""Which parts of a model may come into contact, as MuJoCo decides it before it looks where they are."""

# MuJoCo's compiled modules carry no type stubs.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import itertools
from collections.abc import Iterable

import mujoco

from rewardgen.core.errors import TaskError
from rewardgen.sim.protocol import OWN_SENSORS


def geoms_of(model: mujoco.MjModel, kind: int, index: int) -> list[int]:
    """The geoms of a body, or the geom itself.

    Args:
        model: The model.
        kind: `mjOBJ_BODY` or `mjOBJ_GEOM`.
        index: Number of the body or the geom.
    """
    if kind == mujoco.mjtObj.mjOBJ_GEOM:
        return [index]
    start = int(model.body_geomadr[index])
    return list(range(start, start + int(model.body_geomnum[index]))) if start >= 0 else []


def can_touch(model: mujoco.MjModel, some: Iterable[int], others: Iterable[int]) -> bool:
    """Whether any of some geoms may come into contact with any of others.

    Args:
        model: The model.
        some: Numbers of geoms.
        others: Numbers of geoms.
    """
    return any(_collide(model, one, other) for one, other in itertools.product(some, others))


def check_contacts(model: mujoco.MjModel) -> None:
    """Refuse contact sensors that can never tell of a contact.

    Args:
        model: The compiled model.

    Raises:
        TaskError: What one of `Touching` and `ContactForce` names can never touch.
    """
    for index in range(model.nsensor):
        sensor = model.sensor(index)
        if model.sensor_type[index] == mujoco.mjtSensor.mjSENS_CONTACT and sensor.name.startswith(OWN_SENSORS):
            ends = ((model.sensor_objtype, model.sensor_objid), (model.sensor_reftype, model.sensor_refid))
            parts = [(int(kinds[index]), int(ids[index])) for kinds, ids in ends]
            if not can_touch(model, *(geoms_of(model, *part) for part in parts)):
                raise TaskError(f"{' and '.join(_named(model, *part) for part in parts)} can never touch", _HINT)


_HINT = (
    "nothing touches in MuJoCo within a body, between one that hangs on another and that one, where `contype` and "
    "`conaffinity` or an <exclude> keep them apart, or without geoms: name other parts, such as the next body's"
)


def _named(model: mujoco.MjModel, kind: int, index: int) -> str:
    return f"the geom {model.geom(index).name}" if kind == mujoco.mjtObj.mjOBJ_GEOM else model.body(index).name


def _collide(model: mujoco.MjModel, one: int, other: int) -> bool:
    if any({one, other} == {int(a), int(b)} for a, b in zip(model.pair_geom1, model.pair_geom2, strict=True)):
        return True
    types, affinities = model.geom_contype, model.geom_conaffinity
    bodies = [int(model.geom_bodyid[each]) for each in (one, other)]
    welded = [int(model.body_weldid[each]) for each in bodies]
    above = [int(model.body_weldid[model.body_parentid[each]]) for each in welded]
    hanging = all(welded) and (welded[0] == above[1] or welded[1] == above[0])
    filtered = not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_FILTERPARENT
    excluded = (min(bodies) << 16) + max(bodies) in model.exclude_signature
    masked = not (types[one] & affinities[other] or types[other] & affinities[one])
    return not (welded[0] == welded[1] or (hanging and filtered) or excluded or masked)
