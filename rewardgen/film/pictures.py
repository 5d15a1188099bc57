"""Films of recorded positions: rendering, layout and encoding, without task code or generated code.

MuJoCo renders by OpenGL without a display. Imported in a worker only.
"""

# MuJoCo's compiled modules and its contexts carry no type stubs.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import mujoco
import numpy as np
from PIL import Image, ImageDraw, ImageOps

from rewardgen.core.errors import UsageError
from rewardgen.core.schema import Frozen
from rewardgen.film.film_index import SCENE, motion_name
from rewardgen.film.layout import HEIGHT, PAPER, WIDTH, Panel, Side
from rewardgen.film.scene import Camera, choose_cameras, set_state
from rewardgen.store.names import FileName

_MOST_VIDEO_BYTES = 400_000
_QUALITIES = (25, 29, 33, 38)
"""Quality levels of H.264, best first; the first that makes a video small enough is used."""
_PICTURE_FRAMES = 160
"""Most frames of an animated picture."""
_PICTURE_WIDTH = 720
"""Largest width of an animated picture [pixels]."""
_STILL = 320, 180
"""Size of a small picture [pixels]."""
_COLOURS = 128
"""Colours of a small picture, which halve its file."""
_HELD_S = 1.2
"""Time for which the last frame stands [s]."""
_RENDERED = round(1.5 * WIDTH), round(1.5 * HEIGHT)
"""Size in which OpenGL renders before scaling down, for smooth edges [pixels]."""
_EXTENT, _FAR = 1.25, 10.0
"""Reach of light and haze, in distances of the camera."""


class _Film(Frozen):
    name: FileName
    frame_s: float
    """Time of the simulation between two frames [s]."""
    speed: float
    """1 in real time."""
    motions: tuple[FileName, ...]
    """Names of the policies whose motions it shows."""
    sides: tuple[Side, ...] = ()
    """Text and numbers of each policy; without any, each policy gets a video of its own, which shows no text."""
    stills: tuple[tuple[int, ...], ...] = ()
    """Frames of each policy that are also left as small pictures, for films without text."""
    moves: bool = True
    """False to leave the small pictures alone, which saves most of the time."""


def make_pictures(payload: dict[str, Any]) -> dict[str, Any]:
    """Make a film of one policy or of two side by side, as MP4, animated WebP and PNG in the working folder.

    Args:
        payload: `how`: `egl`, `osmesa`, `cgl`, or `keep` for pictures that exist already; `folder` with the model and
            the motions; a `film` with the fields of `_Film`, without which only the driver is named.

    Returns:
        `renderer`: the OpenGL driver.

    Raises:
        UsageError: Nothing here renders in that way.
    """
    how, folder, driver = payload["how"], Path(payload["folder"]), payload["how"]
    context = None if how == "keep" else _context(how)
    if context is not None:
        driver = importlib.import_module("OpenGL.GL").glGetString(0x1F01).decode(errors="replace")
    if payload["film"] is None:
        return {"renderer": driver}
    film = _Film.model_validate(payload["film"])
    motions = [np.load(folder / motion_name(name), allow_pickle=False) for name in film.motions]
    frames = [slice(None) if film.moves else [*stills] for stills in film.stills or [()] * len(motions)]
    if context is None:
        shots = [[Image.fromarray(each) for each in motion[part]] for motion, part in zip(motions, frames, strict=True)]
    else:
        model = mujoco.MjModel.from_binary_path(str(folder / SCENE))
        cameras = choose_cameras(model, motions, film.frame_s, WIDTH / HEIGHT)
        shots = [
            list(_rendered(model, motion[part], camera._replace(target=camera.target[part])))
            for motion, camera, part in zip(motions, cameras, frames, strict=True)
        ]
    (_write if film.sides else _write_apart)(film, shots)
    return {"renderer": driver}


def fitted(picture: np.ndarray) -> np.ndarray:
    """A picture of any size, scaled to the film's, (H, W, 3) uint8."""
    image = Image.fromarray(picture)
    larger = image.width < WIDTH and image.height < HEIGHT  # few pixels are meant to be seen as such
    method = Image.Resampling.NEAREST if larger else Image.Resampling.LANCZOS
    return np.asarray(ImageOps.pad(image, (WIDTH, HEIGHT), method, PAPER))


def _write(film: _Film, shots: Sequence[Sequence[Image.Image]]) -> None:
    panels = [Panel(side, film.frame_s, film.sides, film.speed) for side in film.sides]
    shown_s = film.frame_s / film.speed
    held = round(_HELD_S / shown_s)
    frames = []
    for index in range(max(map(len, shots)) + held):
        parts = [(panel, shot, min(index, len(shot) - 1)) for panel, shot in zip(panels, shots, strict=True)]
        frames.append(_beside([panel.frame(shot[at], at) for panel, shot, at in parts]))
    _write_video(frames, shown_s, Path(f"{film.name}.mp4"))
    _write_picture(frames, shown_s, Path(f"{film.name}.webp"))
    frames[(len(frames) - held) * 3 // 5].save(f"{film.name}.png", optimize=True)


def _write_apart(film: _Film, shots: Sequence[list[Image.Image]]) -> None:
    """Write small pictures of each policy, and a video if it `moves`, without text."""
    for name, shot, stills in zip(film.motions, shots, film.stills, strict=True):
        if film.moves:
            _write_video(shot, film.frame_s / film.speed, Path(f"{name}.mp4"))
        for number, index in enumerate(stills if film.moves else range(len(stills))):
            small = shot[index].resize(_STILL, Image.Resampling.LANCZOS).quantize(_COLOURS, dither=Image.Dither.NONE)
            small.save(f"{name}-{number}.png", optimize=True)


def _beside(parts: list[Image.Image]) -> Image.Image:
    width, height = WIDTH * len(parts), parts[0].height
    image = Image.new("RGB", (width, height))
    for index, part in enumerate(parts):
        image.paste(part, (WIDTH * index, 0))
    if len(parts) > 1:
        ImageDraw.Draw(image).line((width // 2, 0, width // 2, height), "#ffffff", 2)
    return image


def _context(how: str) -> Any:
    try:
        context = importlib.import_module(f"mujoco.{how}").GLContext(*_RENDERED)
        context.make_current()
        return context
    except Exception as error:  # drivers raise nearly anything
        raise UsageError(f"nothing renders by {how}: {type(error).__name__}") from error


def _rendered(model: mujoco.MjModel, motion: np.ndarray, camera: Camera) -> Iterator[Image.Image]:
    """Pictures of a model at each of F positions."""
    model.stat.extent, model.vis.map.zfar, model.vis.map.znear = _EXTENT * camera.distance, _FAR, 0.01
    data, scene, options = mujoco.MjData(model), mujoco.MjvScene(model, 10_000), mujoco.MjvOption()
    context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
    mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, context)
    scene.flags[mujoco.mjtRndFlag.mjRND_HAZE] = 1
    view, place = mujoco.MjvCamera(), mujoco.MjrRect(0, 0, *_RENDERED)
    view.distance, view.azimuth, view.elevation = camera.distance, camera.azimuth, camera.elevation
    pixels = np.zeros((*_RENDERED[::-1], 3), np.uint8)
    for state, target in zip(motion, camera.target, strict=True):
        set_state(data, state)
        for prepare in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_camlight, mujoco.mj_tendon):
            prepare(model, data)
        view.lookat[:] = target
        # The shadow is as far as this light's surroundings: it goes along.
        data.light_xpos[-1:] = target - 2.0 * camera.distance * data.light_xdir[-1:]
        mujoco.mjv_updateScene(model, data, options, None, view, mujoco.mjtCatBit.mjCAT_ALL, scene)
        mujoco.mjr_render(place, scene, context)
        mujoco.mjr_readPixels(pixels, None, place, context)
        yield Image.fromarray(pixels[::-1]).resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC)
    context.free()


def _write_video(frames: list[Image.Image], frame_s: float, path: Path) -> None:
    """Write an MP4 of bounded size, the same for the same frames."""
    for quality in _QUALITIES:
        with av.open(str(path), "w", format="mp4", options={"movflags": "+faststart", "fflags": "+bitexact"}) as out:
            settings = {"crf": str(quality), "preset": "medium", "threads": "1"}
            stream = out.add_stream("libx264", rate=Fraction(frame_s).limit_denominator(1000) ** -1, options=settings)
            stream.width, stream.height, stream.pix_fmt = *frames[0].size, "yuv420p"
            stream.thread_count = 1
            for each in frames:
                out.mux(stream.encode(av.VideoFrame.from_image(each)))
            out.mux(stream.encode(None))
        if path.stat().st_size <= _MOST_VIDEO_BYTES:
            return


def _write_picture(frames: list[Image.Image], frame_s: float, path: Path) -> None:
    """Write an animated WebP, with fewer frames than the video if that is long."""
    every = -(-len(frames) // _PICTURE_FRAMES)
    few = [*frames[::every], frames[-1]]
    if (width := few[0].width) > _PICTURE_WIDTH:
        few = [each.resize((_PICTURE_WIDTH, round(each.height * _PICTURE_WIDTH / width))) for each in few]
    duration = round(1000 * frame_s * every)
    few[0].save(path, save_all=True, append_images=few[1:], duration=duration, loop=0, quality=40, method=2)
