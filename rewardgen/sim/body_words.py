"""How heavy a robot is and how strong its motors are, in words: what a designer needs to guess reachable speeds."""

# MuJoCo's compiled modules carry no type stubs.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import mujoco
import numpy as np

from rewardgen.sim.model import action_parts

_MOST = 6
"""Things that move, and motors, that are told one by one."""
_UNITS = {int(mujoco.mjtJoint.mjJNT_HINGE): "N m", int(mujoco.mjtJoint.mjJNT_SLIDE): "N"}
_MOTOR = tuple(
    map(
        int,
        (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_NONE, mujoco.mjtDyn.mjDYN_NONE),
    )
)
"""Kinds of transmission, gain, bias and dynamics of a plain motor: its force is the clipped action times a constant."""
_WEIGHTLESS = 1e-6
"""Mass below which a thing is a mark only [kg]."""


def body_words(model: mujoco.MjModel) -> str:
    """One line: the mass of each thing that moves [kg], and what each motor exerts at most [N, N m]; empty if unknown.

    Args:
        model: The model. Actuators that are no plain motors on a joint are not told of.
    """
    return " ".join(filter(None, (_masses(model), _motors(model))))


def _masses(model: mujoco.MjModel) -> str:
    trees = sorted({int(tree) for tree in model.body_treeid if tree >= 0})
    found = {}
    for tree in trees:
        own = np.nonzero(model.body_treeid == tree)[0]
        found[model.body(int(own[0])).name or "unnamed"] = float(model.body_mass[own].sum())
    found = {name: f"{mass:.3g} kg" for name, mass in found.items() if mass > _WEIGHTLESS}
    if len(found) == 1:
        return f"All that moves weighs {next(iter(found.values()))} together."
    if not 0 < len(found) <= _MOST:
        return ""
    told = (f"{name} {mass}" for name, mass in found.items())
    return f"Mass, with all that hangs on it: {', '.join(told)}."


def _motors(model: mujoco.MjModel) -> str:
    found = [_most(model, each) for each in range(model.nu)]
    if not found or not all(found):
        return ""
    if len({*found}) == 1:
        return f"{'Each motor' if model.nu > 1 else 'Its motor'} exerts at most {found[0]}."
    if len(found) > 2 * _MOST:
        return ""
    told = (f"{name} {limit}" for name, limit in zip(action_parts(model), found, strict=True))
    return f"Motors exert at most: {', '.join(told)}."


def _most(model: mujoco.MjModel, actuator: int) -> str:
    """The largest force or torque of a motor, with its unit; empty for other actuators."""
    kinds = (model.actuator_trntype, model.actuator_gaintype, model.actuator_biastype, model.actuator_dyntype)
    plain = tuple(int(kind[actuator]) for kind in kinds) == _MOTOR and model.actuator_ctrllimited[actuator]
    unit = _UNITS.get(int(model.jnt_type[model.actuator_trnid[actuator, 0]])) if plain else None
    if unit is None:
        return ""
    force = float(model.actuator_gainprm[actuator, 0]) * np.abs(model.actuator_ctrlrange[actuator]).max()
    if model.actuator_forcelimited[actuator]:
        force = min(force, float(np.abs(model.actuator_forcerange[actuator]).max()))
    return f"{abs(force * float(model.actuator_gear[actuator, 0])):.3g} {unit}"
