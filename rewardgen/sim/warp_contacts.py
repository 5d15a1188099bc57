"""Fix of MuJoCo Warp's contacts between a capsule and a plane, which differ from MuJoCo's.

The friction of a capsule on a plane lies along the capsule: a pyramid has corners, so it matters how it is turned.
MuJoCo Warp 4.0 turns it along the world's axes where a capsule is steeper than 60 degrees, as the legs of robots are.
"""

# pyright: reportArgumentType=false, reportCallIssue=false, reportMissingImports=false

from __future__ import annotations

import warp as wp
from mujoco_warp._src import collision_primitive

_CAPSULE_ON_PLANE = collision_primitive.plane_capsule


@wp.func
def _capsule_on_plane(  # noqa: ANN202
    normal: wp.vec3, point: wp.vec3, position: wp.vec3, axis: wp.vec3, radius: float, half_length: float
):
    distances, points, frame = _CAPSULE_ON_PLANE(normal, point, position, axis, radius, half_length)
    along = axis - normal * wp.dot(normal, axis)
    if wp.length(along) > 1e-6:
        along = wp.normalize(along)
        across = wp.cross(normal, along)
        frame = wp.matrix_from_rows(normal, along, across)
    return distances, points, frame


collision_primitive.plane_capsule = _capsule_on_plane
