"""`rewardgen robots` and `rewardgen new`: show the variables of a robot, write a task file for it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from rewardgen.api.drafting import task_name
from rewardgen.cli.drafting import ROBOT, Calls, draft
from rewardgen.cli.output import Json, next_steps, print_json
from rewardgen.core.config import BUILTIN
from rewardgen.core.errors import UsageError
from rewardgen.core.files import write_atomic
from rewardgen.tasks.robots import catalogue_of, find_robot, known_robots, model_named, scaffold
from rewardgen.ui.console import messages, results
from rewardgen.ui.tables import plain_table


def list_all(*, json: Json = False) -> int:
    """List the robots on this machine."""
    robots = known_robots()
    if json:
        print_json({"robots": [{"name": name, "from": origin} for name, origin in robots.items()]})
        return 0
    table = plain_table("robot", "from")
    for name, origin in robots.items():
        table.add_row(name, origin)
    results().print(table)
    next_steps(
        ("robots show hopper", "shows its variables"),
        ("new --robot my_robot.xml", "writes a task file for a model of yours"),
    )
    return 0


def show(robot: Annotated[str, Parameter(help=ROBOT)], /, *, json: Json = False) -> int:
    """Show the variables that a robot's model offers to rewards and metrics."""
    catalogue = catalogue_of(robot)
    if json:
        print_json(catalogue.model_dump(mode="json"))
        return 0
    table = plain_table("declare it as", "unit", "random actions reach", "what it is")
    for entry in catalogue.entries:
        shape = f" x {len(entry.parts)}" if entry.parts else ""
        table.add_row(entry.code, f"{entry.unit}{shape}", entry.range_text, entry.meaning)
    table.columns[0].no_wrap = True  # for copying
    console = results()
    console.print(table, soft_wrap=not console.is_terminal)
    for kind, names in (("robot", catalogue.robot), ("objects", catalogue.objects), ("geoms", catalogue.geoms)):
        messages().print(f"{kind}: {', '.join(names) or 'none'}", soft_wrap=True)
    messages().print(
        "between any two of them: Distance, Direction; between bodies or geoms: Touching, ContactForce", soft_wrap=True
    )
    next_steps((f"new --robot {shlex.quote(robot)}", "writes a task file that declares all of it"))
    return 0


def new(
    words: Annotated[str, Parameter(help="What the robot should do, in plain words.")] = "",
    /,
    *,
    robot: Annotated[str, Parameter(help=ROBOT)],
    model: Annotated[
        str,
        Parameter(help="Language model that drafts the task and tests its metric; without one, you do."),
    ] = BUILTIN,
    calls: Annotated[Calls, Parameter(name="*")] = Calls(),  # noqa: B008
    output: Annotated[
        Path | None, Parameter(help="The file to write; named after the robot and the words by default.")
    ] = None,
    yes: Annotated[
        bool, Parameter(negative="", help="Accept a draft whose metric passes without reading it.", show_default=False)
    ] = False,
    json: Json = False,
) -> int:
    """Write a task file for a robot.

    With words and a model, the model drafts the file, and other authors sketch episodes to test its metric without
    seeing it. Otherwise the file declares every variable of the robot, and the metric is yours to write.
    """
    if model != BUILTIN:
        if not words.strip():
            raise UsageError(
                "there is nothing to draft a task from", 'say what the robot should do: `new "..." --robot`'
            )
        path = output or Path(task_name(robot, words))
        made = draft(words, robot, path, calls.config(model, str(path)), yes=yes)
        if json:
            print_json({"file": str(made.file), **made.drafted.model_dump(mode="json")})
            return 0
        file = shlex.quote(str(made.file))
        next_steps(
            (f"run {file} --model {shlex.quote(model)} --goal {shlex.quote(words)}", "searches for a reward"),
            (f"tasks show {file}", "shows the task as the designer sees it"),
        )
        return 0
    return _scaffold(words, robot, output, json)


def _scaffold(words: str, robot: str, output: Path | None, json: bool) -> int:
    model = find_robot(robot)
    robot_name = model.stem if model.stem != "scene" else model.parent.name
    file = output or Path(f"{re.sub(r'[^a-z0-9]+', '_', robot_name.lower()).strip('_')}_task.py")
    if file.exists():
        raise UsageError(f"{file} exists", "name another file with `--output`, or delete it")
    named = model_named(robot, file)
    catalogue = catalogue_of(robot)
    write_atomic(file, scaffold(robot_name, named, catalogue, words))
    if json:
        print_json({"file": str(file), "model": str(model), "variables": len(catalogue.entries)})
        return 0
    count = len(catalogue.entries)
    messages().print(f"{file}: {count} variables of {model.name}; write `fitness` and `success`", soft_wrap=True)
    word = shlex.quote(str(file))
    next_steps((f"tasks check {word}", "lists missing parts"), (f"tasks show {word}", "shows the designer's view"))
    return 0
