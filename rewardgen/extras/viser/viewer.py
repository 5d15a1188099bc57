"""The viewer `web`: recorded episodes in the browser by viser, on this machine's own address only.

No task, reward or policy runs here: the geoms of a model are moved to recorded positions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from rewardgen.core.errors import UsageError
from rewardgen.core.extras import install_hint
from rewardgen.core.formatting import number
from rewardgen.film.viewers import VIEWERS, Recorded
from rewardgen.ui.console import results

_HOST, _PORT = "127.0.0.1", 8080
_TICK_S = 0.02
_SPEEDS = {"1/4": 0.25, "1/2": 0.5, "1": 1.0, "2": 2.0, "4": 4.0}
_ASPECT = 1.6
_NO_COLOR = (0.5, 0.5, 0.5, 1.0)
"""Colour of geoms that have none of their own: MuJoCo then takes their material's."""
_GRID = {"infinite_grid": True, "plane_opacity": 1.0, "cell_size": 0.5, "cell_color": (222, 228, 232)}
_GRID |= {"plane_color": (243, 246, 248), "section_color": (205, 213, 219)}


def require_viser() -> Any:
    """Import viser; raise a UsageError if it is not installed."""
    try:
        import viser
    except ImportError as error:
        # It needs an older rich and websockets than the pinned ones, and rewardgen works with these.
        hint = install_hint("viser", pinned=False)
        raise UsageError("`play --web` needs the package viser", hint) from error
    return viser


class WebViewer:
    """Shows episodes on a page with a slider over their steps, a choice of policies and bars of components."""

    detailed = True

    def __init__(self, film: str) -> None:
        self._viser = require_viser()

    def show(
        self, title: str, model: Path, episodes: Sequence[Recorded], stopped: Callable[[], bool] = lambda: False
    ) -> None:
        """See `Viewer.show`; ends with Ctrl-C, or once `stopped` says so."""
        server = self._viser.ViserServer(host=_HOST, port=_PORT, label="rewardgen", verbose=False)
        try:
            page = _Page(server, title, _Scene(server, model), episodes)
            results().print(f"http://{_HOST}:{server.get_port()}   Ctrl-C ends it", soft_wrap=True)
            while not stopped():
                page.tick()
                time.sleep(_TICK_S)
        except KeyboardInterrupt:
            pass
        finally:
            server.stop()


class _Poses(NamedTuple):
    """Places of G geoms at F frames, relative to the point that the camera follows."""

    positions: Any  # (F, G, 3)
    turns: Any  # quaternions (F, G, 4)
    camera: Any  # (3,)


class _Scene:
    """The visible geoms of a model."""

    def __init__(self, server: Any, model: Path) -> None:
        import mujoco

        self._server, self._model = server, mujoco.MjModel.from_binary_path(str(model))
        self._handles = {geom: handle for geom in range(self._model.ngeom) if (handle := self._added(geom))}
        server.scene.set_up_direction("+z")

    def poses(self, motion: Path, frame_s: float) -> _Poses:
        import mujoco
        import numpy as np

        from rewardgen.film.scene import choose_cameras, set_state

        model, states = self._model, np.load(motion, allow_pickle=False)
        data, count = mujoco.MjData(model), model.ngeom
        camera = choose_cameras(model, [states], frame_s, _ASPECT)[0]
        positions, turns = np.empty((len(states), count, 3)), np.empty((len(states), count, 4))
        for frame, state in enumerate(states):
            set_state(data, state)
            mujoco.mj_kinematics(model, data)
            positions[frame] = data.geom_xpos - camera.target[frame]
            for geom in range(count):
                mujoco.mju_mat2Quat(turns[frame, geom], data.geom_xmat[geom])
        return _Poses(positions, turns, -camera.axes[0] * camera.distance)

    def look_from(self, poses: _Poses) -> None:
        """Place the camera of each visitor that comes."""
        self._server.initial_camera.look_at = (0.0, 0.0, 0.0)
        self._server.initial_camera.position = poses.camera
        self._server.initial_camera.fov = 0.61  # as in films [rad]

    def move(self, poses: _Poses, frame: int) -> None:
        with self._server.atomic():
            for geom, handle in self._handles.items():
                handle.position, handle.wxyz = poses.positions[frame, geom], poses.turns[frame, geom]

    def _added(self, geom: int) -> Any:
        """Add a geom to the page; None for one that is not shown."""
        import mujoco
        import numpy as np
        import trimesh  # pyright: ignore[reportMissingImports] (viser brings it)

        model, kinds = self._model, mujoco.mjtGeom
        material, kind, size = model.geom_matid[geom], kinds(int(model.geom_type[geom])), model.geom_size[geom]
        rgba = model.geom_rgba[geom]
        if material >= 0 and bool((rgba == _NO_COLOR).all()):
            rgba = model.mat_rgba[material]
        if model.geom_group[geom] > 2 or rgba[3] == 0.0:
            return None
        name, creation = f"/geoms/{geom}", trimesh.creation
        if kind == kinds.mjGEOM_PLANE:
            return self._server.scene.add_grid(name, **_GRID)
        if kind == kinds.mjGEOM_MESH:
            mesh = model.geom_dataid[geom]
            points, faces = model.mesh_vertadr[mesh], model.mesh_faceadr[mesh]
            shape = trimesh.Trimesh(
                model.mesh_vert[points : points + model.mesh_vertnum[mesh]],
                model.mesh_face[faces : faces + model.mesh_facenum[mesh]],
            )
        elif kind in (kinds.mjGEOM_SPHERE, kinds.mjGEOM_ELLIPSOID):
            radii = size if kind == kinds.mjGEOM_ELLIPSOID else np.repeat(size[:1], 3)
            shape = creation.icosphere(3).apply_scale(radii)
        elif kind == kinds.mjGEOM_CAPSULE:
            shape = creation.capsule(2 * size[1], size[0])
            shape.apply_translation(-shape.bounds.mean(0))  # versions differ in its origin
        elif kind == kinds.mjGEOM_CYLINDER:
            shape = creation.cylinder(size[0], 2 * size[1])
        elif kind == kinds.mjGEOM_BOX:
            shape = creation.box(2 * size)
        else:  # a height field, or a shape of an engine plugin
            return None
        color = tuple(round(255 * part) for part in rgba[:3].tolist())
        opacity = float(rgba[3]) if rgba[3] < 1.0 else None
        flat = kind == kinds.mjGEOM_BOX
        return self._server.scene.add_mesh_simple(
            name, np.array(shape.vertices), np.array(shape.faces), color=color, opacity=opacity, flat_shading=flat
        )


class _Page:
    """The controls. They are polled: viser calls back in threads of its own."""

    def __init__(self, server: Any, title: str, scene: _Scene, episodes: Sequence[Recorded]) -> None:
        self._scene = scene
        self._episodes = {episode.label: episode for episode in episodes}
        self._poses: dict[str, _Poses] = {}
        pay = [abs(value) for one in episodes for values in one.components.values() for value in values]
        self._most = max(pay, default=0.0) or 1.0
        gui = server.gui
        gui.add_markdown(title)
        self._policy = gui.add_dropdown("policy", tuple(self._episodes))
        self._step = gui.add_slider("frame", 0, 1, 1, 0)
        self._plays = gui.add_checkbox("play", True)
        self._speed = gui.add_dropdown("speed", tuple(_SPEEDS), initial_value="1")
        self._bars = gui.add_html("")
        self._shown: tuple[str, int] | None = None
        self._due = time.monotonic()

    def tick(self) -> None:
        """Show what the controls ask for, and the next frame once it is due."""
        policy = self._policy.value
        episode = self._episodes[policy]
        if policy not in self._poses:
            self._poses[policy] = self._scene.poses(episode.motion, episode.frame_s)
        frames = len(self._poses[policy].positions)
        if self._shown is None or self._shown[0] != policy:
            self._scene.look_from(self._poses[policy])
            self._step.value, self._step.max = 0, max(1, frames - 1)
        elif self._plays.value and time.monotonic() >= self._due:
            self._step.value = (self._step.value + 1) % frames
            self._due = time.monotonic() + episode.frame_s / _SPEEDS[self._speed.value]
        frame = min(int(self._step.value), frames - 1)
        if self._shown != (policy, frame):
            self._shown = policy, frame
            self._scene.move(self._poses[policy], frame)
            self._bars.content = _bars(episode, frame, self._most)


def _bars(episode: Recorded, frame: int, most: float) -> str:
    """Return a step's time, and a bar for each component, to the right of the middle if it pays."""
    step = episode.steps[frame]
    lines = [f"<p>step {step}, {step * episode.step_s:.2f} s</p>"]
    pays = {name: values[frame] for name, values in episode.components.items()}
    for name, pay in pays.items():
        width = 50 * min(1.0, abs(pay) / most)
        left, color = (50.0, "#2b8a3e") if pay >= 0 else (50 - width, "#c92a2a")
        bar = f"position:absolute;height:100%;left:{left:.1f}%;width:{width:.1f}%;background:{color}"
        row, groove = "display:flex;justify-content:space-between", "position:relative;height:8px;background:#8884"
        lines.append(f"<div style='{row}'><span>{escape(name)}</span><span>{number(pay)}</span></div>")
        lines.append(f"<div style='{groove};margin-bottom:6px'><div class='pay' style='{bar}'></div></div>")
    total = f"reward {number(sum(pays.values()))}" if pays else "no components: the reward fails here"
    return f"<div style='padding:0 1em;font-size:0.85em'>{''.join(lines)}<p>{total}</p></div>"


VIEWERS.register("web", WebViewer)
