"""MuJoCo models: finding and compiling files, naming parts, and roles of bodies."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, Literal
from xml.sax.saxutils import quoteattr

import mujoco

from rewardgen.core.errors import TaskError
from rewardgen.core.resources import model_asset
from rewardgen.sim.geometry import check_contacts
from rewardgen.sim.live_fields import action_parts

Role = Literal["robot", "object", "world"]


def load_model(path: Path, prepare: Callable[[mujoco.MjSpec], None] | None = None) -> mujoco.MjModel:
    """Compile an MJCF file that a policy can act in; see `compile_model`.

    Raises a TaskError, too, if an actuator has no control range, or a variable's parts never touch.
    """
    model = compile_model(path, prepare)
    _check_actuators(model, path)
    check_contacts(model)
    return model


def compile_model(path: Path, prepare: Callable[[mujoco.MjSpec], None] | None = None) -> mujoco.MjModel:
    """Compile an MJCF or URDF file, without MuJoCo's automatic reset, which would hide a divergence.

    `prepare` changes the model before compilation; all parts have names by then. Raises a TaskError if it fails.
    """
    # Without this, MuJoCo logs warnings to a file in the working folder; `restore_diverged` reports divergences.
    mujoco.set_mju_user_warning(lambda message: None)
    try:
        if prepare is None:
            model = mujoco.MjModel.from_xml_path(str(path))
        else:
            spec = mujoco.MjSpec.from_file(str(path))
            name_parts(spec)
            prepare(spec)
            with warnings.catch_warnings(action="ignore", category=UserWarning):
                model = spec.compile()
    except ValueError as error:
        raise TaskError(f"{path.name} does not compile: {' '.join(str(error).split())}", f"fix {path}") from error
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
    return model


def name_parts(spec: mujoco.MjSpec) -> None:
    """Name unnamed parts after their body: `torso_2` is the second body in `torso`, `foot_geom` a geom of `foot`.

    A plane is the `floor`. Parts inserted later do not rename parts before them.
    """
    sorts = {"body": spec.bodies, "geom": spec.geoms, "joint": spec.joints, "site": spec.sites}
    sorts["actuator"] = spec.actuators
    used = {sort: {part.name for part in parts} for sort, parts in sorts.items()}

    def give(part: Any, sort: str, stem: str) -> None:
        if not part.name:
            names = (stem if number == 1 else f"{stem}_{number}" for number in count(1))
            part.name = next(name for name in names if name not in used[sort])
            used[sort].add(part.name)

    for body in spec.bodies:
        if not body.name:
            siblings = list(body.parent.bodies)
            give(body, "body", f"{body.parent.name}_{siblings.index(body) + 1}")
        for sort, owned in (("joint", body.joints), ("geom", body.geoms), ("site", body.sites)):
            for part in owned:
                plane = sort == "geom" and part.type == mujoco.mjtGeom.mjGEOM_PLANE
                give(part, sort, "floor" if plane else f"{body.name}_{sort}")
    for number, actuator in enumerate(spec.actuators):
        driven = actuator.trntype in (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT) and actuator.target
        give(actuator, "actuator", driven or f"actuator_{number}")


def find_model(name: object, task_file: Path) -> Path:
    """Return the model file that a task file names: a path relative to the task file, or a name of `model_asset`.

    Raises a TaskError if the task file names no model, or the file is missing.
    """
    if not isinstance(name, str):
        raise TaskError(f"{task_file.name} names no model", 'set `model = "robot.xml"`, a file beside it, in the class')
    if asset := model_asset(name):
        return asset
    path = task_file.parent / name
    if not path.is_file():
        hint = f"`model` in {task_file.name} is relative to the task file's folder"
        raise TaskError(f"there is no model file {path}", hint)
    return path


def included_files(path: Path) -> tuple[Path, ...]:
    """Return a model's file and the files that it includes; empty for an unreadable model."""
    try:
        return tuple(dict.fromkeys((path, *map(Path, mujoco.mju_getXMLDependencies(str(path))))))
    except mujoco.FatalError:
        return ()


def _check_actuators(model: mujoco.MjModel, path: Path) -> None:
    if model.nu == 0:
        raise TaskError(f"{path.name} has no actuator", actuator_hint(model, path))
    free = [name for name, limited in zip(action_parts(model), model.actuator_ctrllimited, strict=True) if not limited]
    if free:
        hint = 'give each a range: `ctrllimited="true" ctrlrange="-1 1"`'
        raise TaskError(f"{path.name} has actuators without a control range: {', '.join(free)}", hint)


def actuator_hint(model: mujoco.MjModel, path: Path) -> str:
    """Return the edit that adds an actuator for each of a model's joints."""
    motors = []
    for index in range(model.njnt):
        name, kind = model.joint(index).name, mujoco.mjtJoint(model.jnt_type[index])
        if name and kind in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE):
            low, high = model.jnt_actfrcrange[index] if model.jnt_actfrclimited[index] else (-1.0, 1.0)
            motors.append(f'<motor joint={quoteattr(name)} ctrlrange="{low:g} {high:g}" ctrllimited="true"/>')
    section = f"<actuator>{''.join(motors)}</actuator>"
    if path.suffix != ".urdf":
        return f"a policy acts through actuators: add them to the model, such as {section}"
    whole = f'<asset><model name="robot" file={quoteattr(path.name)}/></asset>'
    whole += '<worldbody><attach model="robot" prefix=""/></worldbody>'
    floor = '<geom type="plane" size="5 5 0.1"/>'
    return (
        f"a URDF has none: write an MJCF file beside it and name that, such as <mujoco>{whole}{section}</mujoco>;"
        f' that bolts the robot to the world: for one that moves about, write {floor}<body pos="0 0 0.1"><freejoint/>'
        " before <attach> and </body> after it"
    )


def body_roles(model: mujoco.MjModel) -> list[Role]:
    """Return the role of each body: robot if its tree has an actuator, object if it can move, else world.

    Without actuators, the largest tree is the robot.
    """
    driven = {int(model.body_rootid[body]) for body in _driven_bodies(model)}
    if not driven:
        sizes = Counter(model.body_rootid[1:].tolist())
        driven = {max(sizes, key=sizes.__getitem__)} if model.njnt else set()
    moving = {int(model.body_rootid[body]) for body in model.jnt_bodyid}
    roles: list[Role] = ["world"]
    for body in range(1, model.nbody):
        root = int(model.body_rootid[body])
        roles.append("robot" if root in driven else "object" if root in moving else "world")
    return roles


def _driven_bodies(model: mujoco.MjModel) -> Iterator[int]:
    for number, target in enumerate(model.actuator_trnid[:, 0]):
        kind = mujoco.mjtTrn(model.actuator_trntype[number])
        if kind in (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT):
            yield int(model.jnt_bodyid[target])
        elif kind in (mujoco.mjtTrn.mjTRN_SITE, mujoco.mjtTrn.mjTRN_SLIDERCRANK):
            yield int(model.site_bodyid[target])
        elif kind == mujoco.mjtTrn.mjTRN_BODY:
            yield int(target)
        elif kind == mujoco.mjtTrn.mjTRN_TENDON:
            start = int(model.tendon_adr[target])
            for wrap in range(start, start + int(model.tendon_num[target])):
                index, sort = int(model.wrap_objid[wrap]), model.wrap_type[wrap]
                if sort == mujoco.mjtWrap.mjWRAP_JOINT:
                    yield int(model.jnt_bodyid[index])
                elif sort == mujoco.mjtWrap.mjWRAP_SITE:
                    yield int(model.site_bodyid[index])
