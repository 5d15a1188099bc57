"""What the geoms and sites of a model look like, in words: form, size, colour, and where those are that stay."""

# MuJoCo's compiled modules carry no type stubs.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import colorsys
from collections.abc import Sequence

import mujoco
import numpy as np

from rewardgen.sim.model import body_roles

_PALE = 0.25
"""Saturation and brightness below which a colour has no name that people would say."""
_HUES = (
    *((0.04, "red"), (0.11, "orange"), (0.19, "yellow"), (0.45, "green")),
    *((0.70, "blue"), (0.90, "purple"), (1.0, "red")),
)
"""Where each hue ends, of a circle."""
_MOST = 10
"""Shapes told to a designer."""


def geom_words(model: mujoco.MjModel, index: int) -> str:
    """A geom: its form and size, its colour if it has one, its place if it never moves, and that nothing touches it."""
    material = int(model.geom_matid[index])
    colour = colour_name(model.geom_rgba[index] if material < 0 else model.mat_rgba[material])
    told = [form(int(model.geom_type[index]), model.geom_size[index]), colour]
    body = int(model.geom_bodyid[index])
    stays = not model.body_weldid[body] and model.body_mocapid[model.body_rootid[body]] < 0
    if stays and model.geom_type[index] != mujoco.mjtGeom.mjGEOM_PLANE:
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        told.append(f"at ({', '.join(f'{round(each, 3) + 0.0:g}' for each in data.geom_xpos[index])})")
    told.append("" if model.geom_contype[index] or model.geom_conaffinity[index] else "touches nothing")
    return ", ".join(filter(None, told))


def site_words(model: mujoco.MjModel, index: int) -> str:
    """A site: its form and size, and its colour if it has one."""
    told = (form(int(model.site_type[index]), model.site_size[index]), colour_name(model.site_rgba[index]))
    return ", ".join(filter(None, told))


def things_words(model: mujoco.MjModel) -> str:
    """One line on the shapes that matter where a robot handles things: theirs, those of its ends, and marks.

    Empty where there are no things, or too many shapes.
    """
    roles, parents = body_roles(model), {int(parent) for parent in model.body_parentid}
    if "object" not in roles:
        return ""
    owners = [body for body, role in enumerate(roles) if role == "object" or (role == "robot" and body not in parents)]
    told = [
        f"{model.geom(index).name or 'one of ' + model.body(int(body)).name} ({geom_words(model, index)})"
        for index, body in enumerate(model.geom_bodyid)
        if body in owners
    ]
    told += [f"site {model.site(index).name} ({site_words(model, index)})" for index in range(model.nsite)]
    return f"Shapes: {', '.join(told)}." if len(told) <= _MOST else ""


def form(kind: int, size: Sequence[float] | np.ndarray) -> str:
    """The form of a geom or site, with its size [m].

    Args:
        kind: Of `mjtGeom`.
        size: As the model has it, (3,).
    """
    name = str(mujoco.mjtGeom(kind).name).removeprefix("mjGEOM_").lower()
    words = {
        "sphere": f"sphere of radius {size[0]:.3g} m",
        "capsule": f"capsule of radius {size[0]:.3g} and length {2 * (size[1] + size[0]):.3g} m",
        "cylinder": f"cylinder of radius {size[0]:.3g} and height {2 * size[1]:.3g} m",
        "box": f"box of {2 * size[0]:.3g} x {2 * size[1]:.3g} x {2 * size[2]:.3g} m",
    }
    return words.get(name, name)


def colour_name(rgba: Sequence[float] | np.ndarray) -> str:
    """What people would call a colour; empty for grey, black, white, brown and what is hardly seen."""
    hue, saturation, value = colorsys.rgb_to_hsv(*(float(each) for each in rgba[:3]))
    if min(saturation, value, float(rgba[3])) < _PALE or (hue < _HUES[1][0] and saturation * value < 0.6):
        return ""
    return next(name for end, name in _HUES if hue <= end)
