"""A model drawn without OpenGL: its shapes projected, shaded and painted from the farthest to the nearest."""

# MuJoCo's compiled modules carry no type stubs.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Iterator

import mujoco
import numpy as np
from PIL import Image, ImageDraw

from rewardgen.film.layout import HEIGHT, WIDTH
from rewardgen.film.scene import (
    FIELD_OF_VIEW,
    FLOOR_DARK,
    FLOOR_LIGHT,
    SKY_LOW,
    SKY_TOP,
    TILE_M,
    Array,
    Camera,
    set_state,
)

_FINER = 2
"""Pixels that are drawn for each one that is kept, along an edge."""
_SUN = np.array((0.35, 0.45, -0.82))
_TILES, _FEWEST = 14, 3
"""Tiles of the floor to each side, and points that make an area."""
_MOST_VERTICES = 200
"""Of a mesh."""
_SHADE = 0.72
"""Brightness of the floor in the shadow."""


def drawn(model: mujoco.MjModel, motion: Array, camera: Camera) -> Iterator[Image.Image]:
    """Pictures of a model at each of F positions.

    Args:
        model: The model.
        motion: States of `set_state`, (F, nq + 7 nmocap).
        camera: Where it is seen from.
    """
    data, shapes = mujoco.MjData(model), _shapes(model)
    floors = np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE)
    sky = _sky(_View(camera, camera.target[0]).horizon())
    for state, target in zip(motion, camera.target, strict=True):
        set_state(data, state)
        mujoco.mj_kinematics(model, data)
        view = _View(camera, target)
        image = sky.copy()
        draw = ImageDraw.Draw(image)
        level = float(data.geom_xpos[floors[0], 2]) if len(floors) else None
        placed = [
            (data.geom_xpos[geom] + local @ data.geom_xmat[geom].reshape(3, 3).T, colour)
            for geom, local, colour in shapes
        ]
        if level is not None:
            _draw_floor(draw, view, target, level, camera.distance)
            for points, _ in placed:
                along = (level - points[:, 2:]) / _SUN[2]
                if bool((along > 0).any()):
                    shadow = points + along.clip(min=0.0) * _SUN
                    _fill(draw, view.pixels(shadow), _rgb(np.array(FLOOR_DARK) * _SHADE))
        for points, colour in sorted(placed, key=lambda each: -float(view.depths(each[0]).mean())):
            _draw_shape(draw, view, points, colour)
        yield image.resize((WIDTH, HEIGHT), Image.Resampling.BOX)


class _View:
    """From places to pixels, from where the camera is now."""

    def __init__(self, camera: Camera, target: Array) -> None:
        self._ahead, self._right, self._up = camera.axes
        self._eye = target - camera.distance * self._ahead
        self._near = 0.05 * camera.distance
        self._scale = _FINER * HEIGHT / 2.0 / np.tan(np.deg2rad(FIELD_OF_VIEW) / 2.0)

    def depths(self, points: Array) -> Array:
        return (points - self._eye) @ self._ahead

    def horizon(self) -> float:
        """Row of the picture at which a level floor ends."""
        level = np.array((*self._ahead[:2], 0.0))
        return _FINER * HEIGHT / 2.0 - self._scale * float(level @ self._up) / float(level @ self._ahead)

    def pixels(self, points: Array) -> Array:
        """Where points (P, 3) are on the picture, (P', 2); those behind the camera are left out."""
        depth = self.depths(points)
        points, depth = points[depth > self._near], depth[depth > self._near]
        offset = points - self._eye
        x = _FINER * WIDTH / 2.0 + self._scale * (offset @ self._right) / depth
        y = _FINER * HEIGHT / 2.0 - self._scale * (offset @ self._up) / depth
        return np.stack((x, y), 1)


def _sky(horizon: float) -> Image.Image:
    """The sky above the horizon, and below it what the floor fades to."""
    share = (np.arange(_FINER * HEIGHT) / max(horizon, 1.0)).clip(0.0, 1.0)[:, None] ** 2
    column = np.array(SKY_TOP) * (1.0 - share) + np.array(SKY_LOW) * share
    rows = (255 * column).round().astype(np.uint8)[:, None]
    return Image.fromarray(rows.repeat(_FINER * WIDTH, 1))


def _draw_floor(draw: ImageDraw.ImageDraw, view: _View, target: Array, level: float, distance: float) -> None:
    tile = TILE_M * 2.0 ** round(np.log2(distance / 4.0))
    first = np.floor(target[:2] / tile).astype(int)
    corners = tile * np.array(((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)), float)
    for i in range(-_TILES, _TILES):
        for j in range(-_TILES, _TILES):
            column, row = first + np.array((i, j))
            if i * i + j * j > _TILES * _TILES:
                continue
            points = corners + np.array((column * tile, row * tile, level))
            share = min(1.0, float(np.hypot(i, j)) / _TILES) ** 2
            colour = np.array(FLOOR_LIGHT if (column + row) % 2 else FLOOR_DARK)
            if bool((view.depths(points) > view._near).all()):
                draw.polygon(
                    [tuple(each) for each in view.pixels(points)],
                    _rgb(colour * (1.0 - share) + np.array(SKY_LOW) * share),
                )


def _shapes(model: mujoco.MjModel) -> list[tuple[int, Array, Array]]:
    """Number of each shape that is seen, points of its surface in its own frame, and its colour."""
    found = []
    for geom in range(model.ngeom):
        points = _surface(model, geom)
        if points is not None and model.geom_group[geom] <= 2 and model.geom_rgba[geom, 3] > 0.0:
            material = model.geom_matid[geom]
            own = model.geom_rgba[geom]
            plain = material >= 0 and np.allclose(own[:3], 0.5)
            found.append((geom, points, (model.mat_rgba[material] if plain else own)[:3].astype(float)))
    return found


def _surface(model: mujoco.MjModel, geom: int) -> Array | None:
    """Points around which a skin would be the shape, (P, 3); None for what is no solid."""
    kind, size = mujoco.mjtGeom(model.geom_type[geom]), model.geom_size[geom]
    sort = mujoco.mjtGeom
    if kind == sort.mjGEOM_MESH:
        mesh = model.geom_dataid[geom]
        first, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
        return model.mesh_vert[first : first + count][:: -(-count // _MOST_VERTICES)].astype(float)
    if kind == sort.mjGEOM_BOX:
        return size * (np.array(np.meshgrid((-1, 1), (-1, 1), (-1, 1))).reshape(3, 8).T)
    turn, tilt = np.linspace(0, 2 * np.pi, 16, endpoint=False), np.linspace(-np.pi / 2, np.pi / 2, 7)
    around = np.stack((np.cos(turn), np.sin(turn)), 1)
    ball = np.concatenate([np.column_stack((np.cos(t) * around, np.full(16, np.sin(t)))) for t in tilt])
    if kind == sort.mjGEOM_CYLINDER:
        return np.concatenate([np.column_stack((size[0] * around, np.full(16, end * size[1]))) for end in (-1, 1)])
    if kind == sort.mjGEOM_CAPSULE:
        return size[0] * ball + np.sign(ball[:, 2:]) * (0.0, 0.0, size[1])
    if kind in (sort.mjGEOM_SPHERE, sort.mjGEOM_ELLIPSOID):
        return ball * (size if kind == sort.mjGEOM_ELLIPSOID else size[0])
    return None


def _draw_shape(draw: ImageDraw.ImageDraw, view: _View, points: Array, colour: Array) -> None:
    """A shape with a darker edge, and lighter towards the light."""
    pixels = view.pixels(points)
    if len(pixels) < _FEWEST:
        return
    hull = _hull(pixels)
    middle = (hull.max(0) + hull.min(0)) / 2.0
    along = np.linalg.eigh(np.cov(hull.T) + 1e-9 * np.eye(2))[1]
    turned = (hull - middle) @ along
    reach = np.maximum(np.abs(turned).max(0), 1e-6)  # half of its length and of its width
    draw.polygon([tuple(each) for each in hull], _rgb(colour * 0.55))
    for share, bright in ((0.93, 0.85), (0.6, 0.97), (0.3, 1.07)):
        inset = (1.0 - share) * reach.min()
        inner = middle + (turned * (1.0 - inset / reach)) @ along.T - np.array((0.2, 0.3)) * inset
        draw.polygon([tuple(each) for each in inner], _rgb(colour * bright))


def _fill(draw: ImageDraw.ImageDraw, pixels: Array, colour: tuple[int, ...]) -> None:
    if len(pixels) >= _FEWEST:
        draw.polygon([tuple(each) for each in _hull(pixels)], colour)


def _hull(points: Array) -> Array:
    """The convex outline of points (P, 2), by Andrew's monotone chain."""
    ordered = sorted({(float(x), float(y)) for x, y in points})
    halves = []
    for line in (ordered, ordered[::-1]):
        kept: list[tuple[float, float]] = []
        for x, y in line:
            while len(kept) > 1 and (kept[-1][0] - kept[-2][0]) * (y - kept[-2][1]) <= (kept[-1][1] - kept[-2][1]) * (
                x - kept[-2][0]
            ):
                kept.pop()
            kept.append((x, y))
        halves += kept[:-1]
    return np.array(halves or ordered)


def _rgb(colour: Array) -> tuple[int, ...]:
    return tuple(int(each) for each in (255 * colour).round().clip(0, 255))
