"""A model in words, for designers: masses, motors, and the form, size, colour and place of its shapes."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence

import mujoco
import numpy as np

from rewardgen.sim.live_fields import action_parts
from rewardgen.sim.model import body_roles

_MOST_LISTED = 6
"""Largest number of listed masses, and half that of motors and joints."""
_MOST_SHAPES = 10
_UNITS = {int(mujoco.mjtJoint.mjJNT_HINGE): "N m", int(mujoco.mjtJoint.mjJNT_SLIDE): "N"}
_DAMPING = {int(mujoco.mjtJoint.mjJNT_HINGE): "N m s", int(mujoco.mjtJoint.mjJNT_SLIDE): "N s/m"}
REACH = {int(mujoco.mjtJoint.mjJNT_HINGE): "rad", int(mujoco.mjtJoint.mjJNT_SLIDE): "m"}
_MOTOR = mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_NONE, mujoco.mjtDyn.mjDYN_NONE
"""Kinds of transmission, gain, bias and dynamics of a plain motor: its force is the clipped action times a constant."""
_WEIGHTLESS = 1e-6
"""Largest mass of a mark [kg]."""
_PALE = 0.25
"""Saturation and brightness below which a colour has no common name."""
_HUES = (
    *((0.04, "red"), (0.11, "orange"), (0.19, "yellow"), (0.45, "green")),
    *((0.70, "blue"), (0.90, "purple"), (1.0, "red")),
)
"""End of each hue on the colour circle."""


def body_words(model: mujoco.MjModel) -> str:
    """Describe masses [kg], joint limits and damping in one line, and motor limits [N, N m] if all motors are plain."""
    return " ".join(filter(None, (_masses(model), _motors(model), _limits(model), _damping(model))))


def _masses(model: mujoco.MjModel) -> str:
    masses = {}
    for tree in sorted({int(tree) for tree in model.body_treeid if tree >= 0}):
        bodies = np.nonzero(model.body_treeid == tree)[0]
        masses[model.body(int(bodies[0])).name or "unnamed"] = float(model.body_mass[bodies].sum())
    masses = {name: f"{mass:.3g} kg" for name, mass in masses.items() if mass > _WEIGHTLESS}
    if len(masses) == 1:
        return f"All that moves weighs {next(iter(masses.values()))} together."
    if not 0 < len(masses) <= _MOST_LISTED:
        return ""
    return f"Mass, with all that hangs on it: {', '.join(f'{name} {mass}' for name, mass in masses.items())}."


def _motors(model: mujoco.MjModel) -> str:
    limits = [_motor_limit(model, index) for index in range(model.nu)]
    if not limits or not all(limits):
        return ""
    if len({*limits}) == 1:
        return f"{'Each motor' if model.nu > 1 else 'Its motor'} exerts at most {limits[0]}."
    if len(limits) > 2 * _MOST_LISTED:
        return ""
    parts = (f"{name} {limit}" for name, limit in zip(action_parts(model), limits, strict=True))
    return f"Motors exert at most: {', '.join(parts)}."


def _motor_limit(model: mujoco.MjModel, actuator: int) -> str:
    """Return the largest force or torque of a plain motor with its unit; empty for other actuators."""
    kinds = (model.actuator_trntype, model.actuator_gaintype, model.actuator_biastype, model.actuator_dyntype)
    plain = tuple(int(kind[actuator]) for kind in kinds) == _MOTOR and model.actuator_ctrllimited[actuator]
    unit = _UNITS.get(int(model.jnt_type[model.actuator_trnid[actuator, 0]])) if plain else None
    if unit is None:
        return ""
    force = float(model.actuator_gainprm[actuator, 0]) * np.abs(model.actuator_ctrlrange[actuator]).max()
    if model.actuator_forcelimited[actuator]:
        force = min(force, float(np.abs(model.actuator_forcerange[actuator]).max()))
    return f"{abs(force * float(model.actuator_gear[actuator, 0])):.3g} {unit}"


def _limits(model: mujoco.MjModel) -> str:
    """Describe how far limited joints turn [rad] or slide [m], by the model's own signs."""
    limited = [joint for joint in range(model.njnt) if model.jnt_limited[joint] and int(model.jnt_type[joint]) in REACH]
    if not 0 < len(limited) <= 2 * _MOST_LISTED:
        return ""
    reach = (
        "{} {:.3g} to {:.3g} {}".format(
            model.joint(joint).name or "unnamed", *model.jnt_range[joint], REACH[int(model.jnt_type[joint])]
        )
        for joint in limited
    )
    return f"Joint limits: {', '.join(reach)}."


def _damping(model: mujoco.MjModel) -> str:
    """Describe the damping of joints, which says how soon a part stops by itself."""
    damped: list[tuple[str, str]] = []
    for joint in range(model.njnt):
        strength, unit = model.dof_damping[model.jnt_dofadr[joint]], _DAMPING.get(int(model.jnt_type[joint]))
        if unit and strength > 0:
            damped.append((model.joint(joint).name or "unnamed", f"{strength:.3g} {unit}"))
    if len({strength for _, strength in damped}) == 1:
        return f"Damping of each damped joint: {damped[0][1]}."
    if not 0 < len(damped) <= 2 * _MOST_LISTED:
        return ""
    return f"Damping of joints: {', '.join(f'{name} {strength}' for name, strength in damped)}."


def shapes_words(model: mujoco.MjModel) -> str:
    """Describe shapes in one line: things, the robot's ends and sites, or else its solid parts; and what never moves.

    The robot's parts have their places in the reference pose. Empty if they are many.
    """
    roles, parents = body_roles(model), {int(parent) for parent in model.body_parentid}
    handles = "object" in roles
    shapes: list[str] = []
    for index, body in enumerate(map(int, model.geom_bodyid)):
        solid = model.geom_contype[index] or model.geom_conaffinity[index]
        is_wall = roles[body] == "world" and solid and model.geom_type[index] != mujoco.mjtGeom.mjGEOM_PLANE
        is_part = roles[body] == "robot" and (body not in parents if handles else solid)
        if is_wall or is_part or roles[body] == "object":
            words = geom_words(model, index, placed=roles[body] == "robot")
            shapes.append(f"{model.geom(index).name or 'one of ' + model.body(body).name} ({words})")
    if handles:
        shapes += [f"site {model.site(index).name} ({site_words(model, index)})" for index in range(model.nsite)]
    return f"Shapes, in the reference pose: {', '.join(shapes)}." if 0 < len(shapes) <= _MOST_SHAPES else ""


def geom_words(model: mujoco.MjModel, index: int, *, placed: bool = False) -> str:
    """Describe a geom: form, size, colour, place if it never moves or with `placed`, and `touches nothing` if so."""
    material = int(model.geom_matid[index])
    colour = colour_name(model.geom_rgba[index] if material < 0 else model.mat_rgba[material])
    words = [_form(int(model.geom_type[index]), model.geom_size[index]), colour]
    body = int(model.geom_bodyid[index])
    stays = not model.body_weldid[body] and model.body_mocapid[model.body_rootid[body]] < 0
    if (stays or placed) and model.geom_type[index] != mujoco.mjtGeom.mjGEOM_PLANE:
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        words.append(f"at ({', '.join(f'{round(value, 3) + 0.0:g}' for value in data.geom_xpos[index])})")
    words.append("" if model.geom_contype[index] or model.geom_conaffinity[index] else "touches nothing")
    return ", ".join(filter(None, words))


def site_words(model: mujoco.MjModel, index: int) -> str:
    """Describe a site: form, size and colour."""
    words = (_form(int(model.site_type[index]), model.site_size[index]), colour_name(model.site_rgba[index]))
    return ", ".join(filter(None, words))


def _form(kind: int, size: Sequence[float] | np.ndarray) -> str:
    """Describe the form and size [m] of a geom or site of a `mjtGeom` kind."""
    name = str(mujoco.mjtGeom(kind).name).removeprefix("mjGEOM_").lower()
    words = {
        "sphere": f"sphere of radius {size[0]:.3g} m",
        "capsule": f"capsule of radius {size[0]:.3g} and length {2 * (size[1] + size[0]):.3g} m",
        "cylinder": f"cylinder of radius {size[0]:.3g} and height {2 * size[1]:.3g} m",
        "box": f"box of {2 * size[0]:.3g} x {2 * size[1]:.3g} x {2 * size[2]:.3g} m",
    }
    return words.get(name, name)


def colour_name(rgba: Sequence[float] | np.ndarray) -> str:
    """Return the common name of a colour; empty for grey, black, white, brown and nearly transparent."""
    hue, saturation, value = colorsys.rgb_to_hsv(*(float(part) for part in rgba[:3]))
    if min(saturation, value, float(rgba[3])) < _PALE or (hue < _HUES[1][0] and saturation * value < 0.6):
        return ""
    return next(name for end, name in _HUES if hue <= end)
