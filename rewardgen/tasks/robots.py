"""Robots: finding the model that a person names, and what its catalogue says. Loads no torch and no MuJoCo."""

from __future__ import annotations

import ast
import importlib
import importlib.util
from pathlib import Path
from typing import Any, Literal

from rewardgen.core.errors import TaskError, did_you_mean
from rewardgen.core.resources import PACKAGES, SHIPPED, model_asset, package_models
from rewardgen.core.schema import Frozen
from rewardgen.sandbox.grants import included_reads
from rewardgen.sandbox.jobs import register
from rewardgen.tasks.loading import shipped_tasks
from rewardgen.tasks.measure import measure

CATALOGUE = register(
    "catalogue", "rewardgen.tasks.catalogue:catalogue_job", inputs="rewardgen.tasks.robots:robot_files"
)

_SUFFIXES = (".xml", ".mjcf", ".urdf")


class Entry(Frozen):
    """A variable that can be read off a robot's model."""

    name: str
    """What a task might call it."""
    code: str
    """What declares it: `Body("torso").height`."""
    about: Literal["robot", "object", "world"]
    unit: str
    meaning: str
    parts: tuple[str, ...] = ()
    start: tuple[float, ...]
    """Value of each part in the reference pose."""
    minimum: tuple[float, ...]
    """Lowest value of each part that random actions reached within a second, or 1000 physics steps."""
    maximum: tuple[float, ...]


class Catalogue(Frozen):
    """What a robot's model offers."""

    entries: tuple[Entry, ...]
    robot: tuple[str, ...]
    """Bodies of the robot: what has an actuator, and all that hangs together with it."""
    objects: tuple[str, ...]
    """Bodies that move by themselves."""
    geoms: tuple[str, ...]
    sizes: tuple[str, ...]
    """Each named geom with its form, size and colour, in words."""
    sites: tuple[str, ...]
    """Each named site, likewise."""
    keyframes: tuple[str, ...]
    actuators: tuple[str, ...]
    unlimited_actuators: tuple[str, ...]
    """Those without a control range, which a task's model must not have."""
    actuator_hint: str = ""
    """What to write into a model that has no actuator."""
    timestep_s: float
    """Physics step of the model [s]."""


def catalogue_of(robot: str) -> Catalogue:
    """What a robot offers, as a confined worker finds out.

    Args:
        robot: See `find_robot`.

    Raises:
        TaskError: There is no such robot, or its model does not compile.
    """
    return Catalogue.model_validate(measure(CATALOGUE, {"model": str(find_robot(robot))}))


def find_robot(reference: str) -> Path:
    """The model file behind the name of a robot.

    Args:
        reference: An MJCF or URDF file; the folder of a MuJoCo Menagerie robot; the name of a shipped task;
            `gymnasium:hopper.xml` or `dm_control:cheetah.xml`; or a name of `robot_descriptions`, such as
            `go2_mj_description`.

    Raises:
        TaskError: There is no such robot.
    """
    if asset := model_asset(_model_in(shipped_tasks().get(reference)) or reference):
        return asset
    path = Path(reference).expanduser()
    if path.is_dir():
        return _of_folder(path)
    if path.suffix.lower() in _SUFFIXES:
        if path.is_file():
            return path.resolve()
        raise TaskError(f"there is no model file {reference}", "give the path of an existing MJCF or URDF file")
    return _described(reference)


def known_robots() -> dict[str, str]:
    """Name of each robot that is here to where it comes from."""
    found = {name: "a shipped task's model" for name, path in shipped_tasks().items() if _model_in(path)}
    for prefix, package in PACKAGES.items():
        found |= {f"{prefix}{name}": package.owner for name in package_models(prefix)}
    if importlib.util.find_spec("robot_descriptions"):
        described = importlib.import_module("robot_descriptions._descriptions").DESCRIPTIONS
        found |= dict.fromkeys(sorted(described), "robot_descriptions, downloaded when it is first used")
    return found


def robot_files(payload: dict[str, Any]) -> list[Path]:
    """What a worker reads for a model: its folder, and what it includes.

    Args:
        payload: Of a job, with `model`, the path of the model.

    Raises:
        TaskError: It includes what may hold secrets.
    """
    path = Path(payload["model"])
    # MuJoCo takes a while to import, and most commands need none of it.
    return [path.parent, *included_reads(path, importlib.import_module("rewardgen.sim.model").included_files(path))]


def model_named(robot: str, task: Path) -> str:
    """What a task file calls the model of a robot.

    Args:
        robot: See `find_robot`.
        task: The task file.
    """
    name = _model_in(shipped_tasks().get(robot)) or robot
    if model_asset(name):
        return name
    path, folder = find_robot(robot), task.resolve().parent
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)


def _model_in(path: Path | None) -> str:
    """The `model` of a shipped task as any task file may name it, read without running the file; empty without one."""
    kinds = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)] if path else []
    for node in (node for kind in kinds for node in kind.body if isinstance(node, ast.Assign)):
        if ast.unparse(node.targets[0]) == "model":
            name: str = ast.literal_eval(node.value)
            return name if name.startswith(tuple(PACKAGES)) else SHIPPED + name
    return ""


def _of_folder(folder: Path) -> Path:
    """`scene.xml`, as Menagerie has it, the model named like the folder, or the only one."""
    models = sorted(each for each in folder.iterdir() if each.suffix in _SUFFIXES)
    for name in ("scene.xml", f"{folder.resolve().name}.xml"):
        if (folder / name) in models:
            return (folder / name).resolve()
    if len(models) == 1:
        return models[0].resolve()
    names = ", ".join(each.name for each in models[:8])
    hint = f"name one of them: {names}" if models else "give the path of an MJCF or URDF file"
    raise TaskError(f"{folder} holds {len(models)} models", hint)


def _described(name: str) -> Path:
    if importlib.util.find_spec("robot_descriptions") is None:
        shipped = did_you_mean(name, shipped_tasks())
        raise TaskError(
            f"unknown robot `{name}`", f"{shipped}; or give a model file, or `pip install robot_descriptions`"
        )
    try:
        module = importlib.import_module(f"robot_descriptions.{name}")
    except ModuleNotFoundError as error:
        known = importlib.import_module("robot_descriptions._descriptions").DESCRIPTIONS
        raise TaskError(f"unknown robot `{name}`", did_you_mean(name, [*shipped_tasks(), *known])) from error
    except Exception as error:
        raise TaskError(f"robot_descriptions cannot get {name}: {error}", "it downloads what it describes") from error
    return Path(getattr(module, "MJCF_PATH", None) or module.URDF_PATH)
