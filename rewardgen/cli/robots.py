"""`rewardgen robots` and `rewardgen new`: what a robot's model offers, and a task file to begin with."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.text import Text

from rewardgen.cli.output import Json, next_steps, print_json
from rewardgen.core.errors import UsageError
from rewardgen.core.files import write_atomic
from rewardgen.tasks.robots import catalogue_of, find_robot, known_robots, model_named
from rewardgen.tasks.scaffold import range_text, scaffold
from rewardgen.ui.console import messages, results
from rewardgen.ui.tables import plain_table

_ROBOT = (
    "An MJCF or URDF file, a MuJoCo Menagerie folder, a shipped task's name, `gymnasium:hopper.xml`, "
    "or a name of `robot_descriptions`."
)


def list_all(*, json: Json = False) -> int:
    """List the robots that are here."""
    robots = known_robots()
    if json:
        print_json({"robots": [{"name": name, "from": origin} for name, origin in robots.items()]})
        return 0
    table = plain_table("robot", "from")
    for name, origin in robots.items():
        table.add_row(name, origin)
    results().print(table)
    next_steps(
        ("robots show hopper", "what can be read off it"),
        ("new --robot my_robot.xml", "a task file for any model of yours"),
    )
    return 0


def show(robot: Annotated[str, Parameter(help=_ROBOT)], /, *, json: Json = False) -> int:
    """Show what a robot's model offers to rewards and metrics."""
    found = catalogue_of(robot)
    if json:
        print_json(found.model_dump(mode="json"))
        return 0
    table = plain_table("declare it as", "unit", "random actions reach", "what it is")
    for each in found.entries:
        shape = f" x {len(each.parts)}" if each.parts else ""
        table.add_row(Text(each.code, no_wrap=True), f"{each.unit}{shape}", range_text(each), each.meaning)
    console = results()
    console.print(table, soft_wrap=not console.is_terminal)
    for what, names in (("robot", found.robot), ("objects", found.objects), ("geoms", found.geoms)):
        messages().print(f"{what}: {', '.join(names) or 'none'}", soft_wrap=True)
    messages().print(
        "between any two of them: Distance, Direction; between bodies or geoms: Touching, ContactForce", soft_wrap=True
    )
    next_steps((f"new --robot {shlex.quote(robot)}", "a task file that declares all of it"))
    return 0


def new(
    words: Annotated[str, Parameter(help="What the robot should do: the task's description.")] = "",
    /,
    *,
    robot: Annotated[str, Parameter(help=_ROBOT)],
    output: Annotated[Path | None, Parameter(help="The file to write; named after the robot if not given.")] = None,
    json: Json = False,
) -> int:
    """Write a task file for a robot: everything that it offers, the metric for you to write."""
    model = find_robot(robot)
    robot_name = model.stem if model.stem != "scene" else model.parent.name
    file = output or Path(f"{re.sub(r'[^a-z0-9]+', '_', robot_name.lower()).strip('_')}_task.py")
    if file.exists():
        raise UsageError(f"{file} exists", "name another file with `--output`, or delete it")
    named = model_named(robot, file)
    found = catalogue_of(robot)
    write_atomic(file, scaffold(robot_name, named, found, words))
    if json:
        print_json({"file": str(file), "model": str(model), "variables": len(found.entries)})
        return 0
    told = f"{file}: {len(found.entries)} variables of {model.name}; `fitness` and `success` are yours to write"
    messages().print(told, soft_wrap=True)
    word = shlex.quote(str(file))
    next_steps((f"tasks check {word}", "what is still missing"), (f"tasks show {word}", "what the designer will read"))
    return 0
