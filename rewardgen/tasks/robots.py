"""Robots: find the model that a person names, read its catalogue, write a first task file. Loads no torch or MuJoCo."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from rewardgen.core.errors import TaskError, did_you_mean
from rewardgen.core.resources import PACKAGES, SHIPPED, model_asset, package_models
from rewardgen.core.schema import Frozen
from rewardgen.core.text import plain, quoted
from rewardgen.sandbox.grants import included_reads
from rewardgen.sandbox.jobs import register
from rewardgen.tasks.loading import shipped_tasks
from rewardgen.tasks.measure import measure

CATALOGUE = register(
    "catalogue", "rewardgen.tasks.catalogue:catalogue_job", inputs="rewardgen.tasks.robots:robot_files"
)

_SUFFIXES = (".xml", ".mjcf", ".urdf")
_CONTROL_S, _EPISODE_S = 0.02, 10.0
_LINE = 118


class Entry(Frozen):
    """A variable of a robot's model."""

    name: str
    """Suggested name."""
    code: str
    """Declaration: `Body("torso").height`."""
    about: Literal["robot", "object", "world"]
    unit: str
    meaning: str
    parts: tuple[str, ...] = ()
    start: tuple[float, ...]
    """Value of each part in the reference pose."""
    minimum: tuple[float, ...]
    """Lowest value of each part under random actions, over a second or 1000 physics steps."""
    maximum: tuple[float, ...]

    @property
    def range_text(self) -> str:
        """The range over all parts; their values if none ever changes."""
        low, high = min(self.minimum), max(self.maximum)
        if self.minimum == self.maximum:
            return "always " + ", ".join(f"{value:g}" for value in (self.minimum if low < high else (low,)))
        return f"{low:g} to {high:g}"


class Catalogue(Frozen):
    """Contents of a robot's model."""

    entries: tuple[Entry, ...]
    robot: tuple[str, ...]
    """Bodies of the robot: those with an actuator, and all that are connected with them."""
    objects: tuple[str, ...]
    """Bodies that move by themselves."""
    geoms: tuple[str, ...]
    sizes: tuple[str, ...]
    """Each named geom with its shape, size and colour, in words."""
    sites: tuple[str, ...]
    """Each named site, likewise."""
    keyframes: tuple[str, ...]
    actuators: tuple[str, ...]
    unlimited_actuators: tuple[str, ...]
    """Actuators without a control range, which a task's model must not have."""
    actuator_hint: str = ""
    """Lines to add to a model without an actuator."""
    timestep_s: float
    """Physics step of the model [s]."""


def catalogue_of(robot: str) -> Catalogue:
    """Read the catalogue of a robot (see `find_robot`) in a confined worker.

    Raises:
        TaskError: The robot is unknown, or its model does not compile.
    """
    return Catalogue.model_validate(measure(CATALOGUE, {"model": str(find_robot(robot))}))


def find_robot(reference: str) -> Path:
    """Return the model file of a robot.

    Args:
        reference: An MJCF or URDF file; the folder of a MuJoCo Menagerie robot; the name of a shipped task;
            `gymnasium:hopper.xml` or `dm_control:cheetah.xml`; or a name of `robot_descriptions`, such as
            `go2_mj_description`.

    Raises:
        TaskError: The robot is unknown.
    """
    if asset := model_asset(_shipped_model(reference) or reference):
        return asset
    path = Path(reference).expanduser()
    if path.is_dir():
        return _model_in(path)
    if path.suffix.lower() in _SUFFIXES:
        if path.is_file():
            return path.resolve()
        raise TaskError(f"there is no model file {reference}", "give the path of an existing MJCF or URDF file")
    return _described(reference)


def known_robots() -> dict[str, str]:
    """Return the name of each robot on this machine with its origin."""
    robots = {name: "a shipped task's model" for name in shipped_tasks() if _shipped_model(name)}
    for prefix, package in PACKAGES.items():
        robots |= {f"{prefix}{name}": package.owner for name in package_models(prefix)}
    return robots | dict.fromkeys(sorted(_descriptions()), "robot_descriptions, downloaded when it is first used")


def robot_files(payload: dict[str, Any]) -> list[Path]:
    """Return the files that a worker reads for the model at `payload["model"]`: its folder, and included files.

    Raises:
        TaskError: The model includes a file that may hold secrets.
    """
    path = Path(payload["model"])
    # Import MuJoCo late: most commands do without it.
    return [path.parent, *included_reads(path, importlib.import_module("rewardgen.sim.model").included_files(path))]


def model_named(robot: str, task: Path) -> str:
    """Return the model of a robot as the task file at `task` names it."""
    name = _shipped_model(robot) or robot
    if model_asset(name):
        return name
    path, folder = find_robot(robot), task.resolve().parent
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)


def _shipped_model(task: str) -> str:
    """Return the `model` of a shipped task as any task file may name it; empty without one. Does not run the file."""
    path = shipped_tasks().get(task)
    classes = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)] if path else []
    for node in (node for owner in classes for node in owner.body if isinstance(node, ast.Assign)):
        if ast.unparse(node.targets[0]) == "model":
            name: str = ast.literal_eval(node.value)
            return name if name.startswith(tuple(PACKAGES)) else SHIPPED + name
    # A task may build on another one: `class Slower(shipped_task("hopper"))`.
    bases = [base.args[0] for owner in classes for base in owner.bases if isinstance(base, ast.Call)]
    return next(filter(None, (_shipped_model(ast.literal_eval(base)) for base in bases)), "")


def _model_in(folder: Path) -> Path:
    """Return `scene.xml`, as in Menagerie, the model named like the folder, or the only model."""
    models = sorted(path for path in folder.iterdir() if path.suffix in _SUFFIXES)
    for name in ("scene.xml", f"{folder.resolve().name}.xml"):
        if (folder / name) in models:
            return (folder / name).resolve()
    if len(models) == 1:
        return models[0].resolve()
    names = ", ".join(map(str, models[:8]))
    hint = f"name one of them: {names}" if models else "give the path of an MJCF or URDF file"
    raise TaskError(f"{folder} holds {len(models)} models", hint)


def _descriptions() -> Sequence[str]:
    if importlib.util.find_spec("robot_descriptions") is None:
        return ()
    return [*importlib.import_module("robot_descriptions._descriptions").DESCRIPTIONS]


def _described(name: str) -> Path:
    robots = [*filter(_shipped_model, shipped_tasks()), *_descriptions()]
    if name not in robots:
        hint = did_you_mean(name, robots)
        more = "" if _descriptions() else "; or give a model file, or `pip install robot_descriptions`"
        raise TaskError(f"unknown robot `{name}`", hint + more)
    try:
        module = importlib.import_module(f"robot_descriptions.{name}")
    except Exception as error:
        raise TaskError(f"robot_descriptions cannot get {name}: {error}", "it downloads what it describes") from error
    return Path(getattr(module, "MJCF_PATH", None) or module.URDF_PATH)


def control_of(catalogue: Catalogue) -> tuple[int, float]:
    """Return the physics steps of a control step, and its duration [s]."""
    frame_skip = max(1, round(_CONTROL_S / catalogue.timestep_s))
    return frame_skip, frame_skip * catalogue.timestep_s


def require_actuators(robot: str, catalogue: Catalogue) -> None:
    """Reject a robot that no policy can move.

    Raises:
        TaskError: The model has no actuator, or one without a control range.
    """
    if not catalogue.actuators:
        raise TaskError(f"{robot} has no actuator", catalogue.actuator_hint)
    if catalogue.unlimited_actuators:
        names = ", ".join(catalogue.unlimited_actuators[:8])
        hint = 'give each a range in the model: `ctrllimited="true" ctrlrange="-1 1"`'
        raise TaskError(f"{robot} has actuators without a control range: {names}", hint)


_SCAFFOLD = '''"""{title}

Written by `rewardgen new`. Still to do: `fitness` and `success`; then delete the variables that the task does not need.
"""

from rewardgen import {imports}


class {name}(MujocoTask):
    """{words}"""

    model = {model}
    frame_skip = {frame_skip}
    episode_steps = {episode_steps}

{variables}

    # Start and end of an episode; by default the reference pose, and no early end.
    # {keyframes}
    {keyframe}
    # start_noise = 0.005
    # ends = {{"fell": Outside("{scalar}", low=0.0)}}

    def fitness(self, episode):
        """TODO: say what it measures, in which unit. Higher is better; the designer reads this, never the code."""
        # episode["{scalar}"] is (steps, N). See also episode.mean, .share, .last, .total, .lengths, .terminated.
        raise NotImplementedError("the metric is yours to write")

    def success(self, episode):
        """TODO: say when an episode counts as a success."""
        raise NotImplementedError("the metric is yours to write")
'''


def scaffold(robot: str, model: str, catalogue: Catalogue, words: str = "") -> str:
    """Return the text of a first task file: every variable of the robot is declared, the metric is missing."""
    require_actuators(robot, catalogue)
    frame_skip, step_s = control_of(catalogue)
    used = {re.match(r"\w+", entry.code).group() for entry in catalogue.entries}  # type: ignore[union-attr]
    name = "".join(part.capitalize() for part in re.findall(r"[A-Za-z0-9]+", robot)) + "Task"
    return _SCAFFOLD.format(
        title=plain(f"A task for {robot}."),
        imports=", ".join(sorted({*used, "MujocoTask", "Outside"})),
        name=f"Robot{name}" if name[0].isdigit() else name,
        words=plain(words) or "TODO: say what the robot is, and what it should do.",
        model=quoted(model),
        frame_skip=frame_skip,
        episode_steps=round(_EPISODE_S / step_s),
        variables="\n".join(line for entry in catalogue.entries for line in _declared(entry)),
        keyframes=plain(f"The model's keyframes: {', '.join(catalogue.keyframes[:8]) or 'none'}."),
        keyframe='keyframe = "home"' if "home" in catalogue.keyframes else '# keyframe = "name"',
        scalar=next(entry.name for entry in catalogue.entries if not entry.parts),
    )


def _declared(entry: Entry) -> list[str]:
    line, note = f"    {entry.name} = {entry.code}", f"# {entry.unit}, {entry.range_text}"
    return [f"{line}  {note}"] if len(line) + len(note) + 2 <= _LINE else [f"    {note}", line]
