"""How high the lowest point of a geom is, whatever its shape."""

# MuJoCo's compiled modules carry no type stubs.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import mujoco
from torch import Tensor

from rewardgen.core.errors import TaskError
from rewardgen.sim.constants import constant

_SHAPE = mujoco.mjtGeom


def lowest_point(model: mujoco.MjModel, geom: int, position: Tensor, rotation: Tensor) -> Tensor:
    """Height of a geom's lowest point, (N,) [m].

    Args:
        model: The model.
        geom: Number of the geom.
        position: Of its centre, (N, 3).
        rotation: Its rotation matrix, row by row, (N, 9).

    Raises:
        TaskError: It is a plane, a height field or another shape without a lowest point that is known.
    """
    size = model.geom_size[geom].tolist()
    down = rotation[:, 6:]  # what its own axes have of the world's z
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
