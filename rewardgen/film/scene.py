"""A model as it is filmed: light, sky and floor that many models lack, and a camera that keeps the robot in view."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from rewardgen.sim.model import name_parts

Array = NDArray[np.float64]

_SKY_TOP, _SKY_LOW = (0.74, 0.82, 0.90), (0.97, 0.98, 0.99)
_FLOOR_LIGHT, _FLOOR_DARK = (0.93, 0.945, 0.955), (0.855, 0.88, 0.90)
_TILE_M = 0.5
"""Edge of a tile of the floor, where a robot is a metre or two large [m]."""
_FIELD_OF_VIEW = 35.0
"""Vertical [degrees]."""
_SHADOW = 1024
"""Texels along an edge of the shadow: few enough for a processor without a graphics card."""
_FILLED = 0.84
"""Share of the picture that the robot fills."""
_PARALLEL = 0.99
_NEAR = 1.0
"""Margin around what moves in which standing shapes are shown too, in sizes of what moves."""
_WHOLE = 8.0
"""Extent up to which a scene with marked places is shown whole, in sizes of what moves."""
_SMOOTHED_S = 0.6
"""Time over which the camera's movement is smoothed [s]."""


_CORNERS = np.array(np.meshgrid((-1, 1), (-1, 1), (-1, 1))).reshape(3, 8).T


class Camera(NamedTuple):
    """Place of the camera for each of F frames; angles as in MuJoCo."""

    target: Array
    """Point in the centre of the picture, (F, 3)."""
    distance: float
    azimuth: float
    elevation: float

    @property
    def axes(self) -> tuple[Array, Array, Array]:
        """Directions ahead, to the right and up, (3,) each."""
        turn, tilt = np.deg2rad(self.azimuth), np.deg2rad(self.elevation)
        ahead = np.array((np.cos(turn) * np.cos(tilt), np.sin(turn) * np.cos(tilt), np.sin(tilt)))
        right = np.array((np.sin(turn), -np.cos(turn), 0.0))
        return ahead, right, np.cross(right, ahead)


def dressed(
    path: Path, floor: float | None, size: float = 1.4, edit: Callable[[mujoco.MjSpec], None] | None = None
) -> mujoco.MjModel:
    """A model with the light, sky and floor of a film, its joints and bodies unchanged.

    Args:
        path: The model's file.
        floor: Height at which a model without a floor gets one [m].
        size: Size of what moves [m].
        edit: The task's own changes: see `MujocoTask.edit_model`.

    Raises:
        ValueError: The model does not compile.
    """
    spec = mujoco.MjSpec.from_file(str(path))
    if edit is not None:
        name_parts(spec)
        edit(spec)
    for light in list(spec.lights):
        spec.delete(light)
    for texture in [each for each in spec.textures if each.type == mujoco.mjtTexture.mjTEXTURE_SKYBOX]:
        spec.delete(texture)
    sky, tiles = spec.add_texture(name="film sky"), spec.add_texture(name="film floor")
    sky.type, sky.builtin = mujoco.mjtTexture.mjTEXTURE_SKYBOX, mujoco.mjtBuiltin.mjBUILTIN_GRADIENT
    sky.rgb1, sky.rgb2, sky.width, sky.height = _SKY_TOP, _SKY_LOW, 128, 768
    tiles.type, tiles.builtin = mujoco.mjtTexture.mjTEXTURE_2D, mujoco.mjtBuiltin.mjBUILTIN_CHECKER
    tiles.rgb1, tiles.rgb2, tiles.width, tiles.height = _FLOOR_LIGHT, _FLOOR_DARK, 256, 256
    material = spec.add_material(name="film floor", specular=0.0, shininess=0.0, texuniform=True)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "film floor"
    material.texrepeat = (0.5 / _TILE_M / 2.0 ** round(np.log2(size / 1.4)),) * 2
    planes = [each for each in spec.geoms if each.type == mujoco.mjtGeom.mjGEOM_PLANE]
    if not planes and floor is not None:
        plane = spec.worldbody.add_geom(name="film floor", type=mujoco.mjtGeom.mjGEOM_PLANE)
        plane.pos, plane.contype, plane.conaffinity = (0.0, 0.0, floor), 0, 0
        planes = [plane]
    for plane in planes:
        plane.material, plane.rgba, plane.size = "film floor", (1.0, 1.0, 1.0, 1.0), (0.0, 0.0, 0.1)
    sun = spec.worldbody.add_light(name="film sun", castshadow=True)
    sun.type, sun.dir = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL, (0.35, 0.45, -0.82)
    sun.diffuse, sun.specular, sun.ambient = (0.55,) * 3, (0.2,) * 3, (0.0,) * 3
    view = spec.visual
    view.headlight.ambient, view.headlight.diffuse, view.headlight.specular = (0.42,) * 3, (0.28,) * 3, (0.05,) * 3
    view.quality.shadowsize, view.quality.offsamples = _SHADOW, 0  # larger pictures cost less than more samples
    view.rgba.haze = view.rgba.fog = (*_SKY_LOW, 1.0)
    view.global_.fovy = _FIELD_OF_VIEW
    view.global_.offwidth, view.global_.offheight = 1280, 960
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        return spec.compile()


def set_state(data: mujoco.MjData, state: Array) -> None:
    """Set positions, then position and quaternion of each mocap body, from one row, (nq + 7 nmocap,)."""
    count = len(data.qpos)
    data.qpos[:] = state[:count]
    places = state[count:].reshape(-1, 7)
    data.mocap_pos[:], data.mocap_quat[:] = places[:, :3], places[:, 3:]


def visible_geoms(model: mujoco.MjModel, *, moving: bool) -> NDArray[np.intp]:
    """Visible geoms that can move, or those that cannot."""
    solid = model.geom_type != mujoco.mjtGeom.mjGEOM_PLANE
    visible = (model.geom_group <= 2) & (model.geom_rgba[:, 3] > 0.0) & solid
    return np.flatnonzero(visible & ((model.body_weldid[model.geom_bodyid] != 0) == moving))


def outlines(model: mujoco.MjModel, motion: Array, geoms: NDArray[np.intp]) -> Array:
    """Corners of the boxes around geoms at each of F states of `set_state`, (F, 8 * geoms, 3)."""
    data = mujoco.MjData(model)
    boxes = model.geom_aabb[geoms]
    local = boxes[:, None, :3] + _CORNERS * boxes[:, None, 3:]
    corners = []
    for state in motion:
        set_state(data, state)
        mujoco.mj_kinematics(model, data)
        turned = np.einsum("gij,gkj->gki", data.geom_xmat[geoms].reshape(-1, 3, 3), local)
        corners.append((turned + data.geom_xpos[geoms, None]).reshape(-1, 3))
    return np.array(corners)


def choose_cameras(model: mujoco.MjModel, motions: Sequence[Array], frame_s: float, aspect: float) -> list[Camera]:
    """Cameras, alike for all motions, that show everything that moves, large; they follow what travels, or stand still.

    Visible sites of the world mark places, such as a goal: where they are near, the camera stands and shows them too.
    Planar motion is seen from the side.

    Args:
        model: The model.
        motions: States of `set_state`, (F, nq + 7 nmocap) each.
        frame_s: Time between two frames [s].
        aspect: Width of the picture divided by its height.
    """
    geoms = visible_geoms(model, moving=True)
    if not len(geoms):
        geoms = np.flatnonzero(model.geom_type != mujoco.mjtGeom.mjGEOM_PLANE)
    motion, cuts = np.concatenate(motions), np.cumsum([len(each) for each in motions])[:-1]
    corners = outlines(model, motion, geoms)
    middles = (corners.min(1) + corners.max(1)) / 2.0
    size = float(np.median(np.linalg.norm(corners - middles[:, None], axis=2).max(1)))
    travels = np.ptp(middles, axis=0) > np.array((1.5, 1.5, 3.0)) * size
    travels[:2] = travels[:2].any()
    places = np.concatenate((corners, _marks(model)[None].repeat(len(corners), 0)), axis=1)
    near = places.shape[1] > corners.shape[1] and np.ptp(places, axis=(0, 1)).max() <= _WHOLE * size
    if near or not (_roams(model) and travels.any()):
        travels[:] = False
        low, high = corners.min((0, 1)) - _NEAR * size, corners.max((0, 1)) + _NEAR * size
        standing = outlines(model, motion[:1], visible_geoms(model, moving=False)).clip(low, high)
        corners = np.concatenate((places if near else corners, standing.repeat(len(corners), 0)), axis=1)
    low, high = corners.min((0, 1)), corners.max((0, 1))
    followed = [_smooth(part, round(_SMOOTHED_S / frame_s)) for part in np.split(middles, cuts)]
    target = np.where(travels, np.concatenate(followed), (low + high) / 2.0)
    camera = Camera(target, 1.0, *_direction(model, motion[0]))
    ahead, right, up = camera.axes
    offset = corners - target[:, None]
    tangent = np.tan(np.deg2rad(_FIELD_OF_VIEW) / 2.0) * _FILLED
    needed = [np.abs(offset @ up) / tangent, np.abs(offset @ right) / (tangent * aspect)]
    distance = float(np.quantile((np.maximum(*needed) - offset @ ahead).max(1), 0.98))
    return [camera._replace(target=part, distance=max(distance, 0.1)) for part in np.split(target, cuts)]


def _marks(model: mujoco.MjModel) -> Array:
    """Corners of the boxes around visible sites of the world, (8 M, 3)."""
    visible = (model.site_group <= 2) & (model.site_rgba[:, 3] > 0.0) & (model.body_weldid[model.site_bodyid] == 0)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    reach = model.site_size[visible].max(1, initial=0.0)
    return (data.site_xpos[visible, None] + reach[:, None, None] * _CORNERS).reshape(-1, 3)


def _roams(model: mujoco.MjModel) -> bool:
    """True if something can travel, not only move between stops."""
    slides = (model.jnt_type == mujoco.mjtJoint.mjJNT_SLIDE) & (model.jnt_limited == 0)
    return bool((slides | (model.jnt_type == mujoco.mjtJoint.mjJNT_FREE)).any())


def _direction(model: mujoco.MjModel, state: Array) -> tuple[float, float]:
    """Azimuth and elevation of the camera [degrees]."""
    data = mujoco.MjData(model)
    set_state(data, state)
    mujoco.mj_kinematics(model, data)
    hinges = data.xaxis[model.jnt_type == mujoco.mjtJoint.mjJNT_HINGE]
    slides = data.xaxis[model.jnt_type == mujoco.mjtJoint.mjJNT_SLIDE]
    for axis, azimuth in ((np.array((0.0, 1.0, 0.0)), 90.0), (np.array((1.0, 0.0, 0.0)), 180.0)):
        in_plane = len(hinges) + len(slides) == model.njnt and model.njnt > 0
        in_plane = in_plane and bool((np.abs(hinges @ axis) > _PARALLEL).all())
        if in_plane and bool((np.abs(slides @ axis) < 1.0 - _PARALLEL).all()):
            return azimuth, -9.0
    return 125.0, -18.0


def _smooth(values: Array, window: int) -> Array:
    """Moving average of (F, 3) over a number of frames."""
    half = min(window // 2, (len(values) - 1) // 2)
    # Reflected at its ends, so that the average does not lag behind what moves steadily there.
    padded = np.pad(values, ((half, half), (0, 0)), mode="reflect", reflect_type="odd")
    return np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1, axis=0).mean(2)
