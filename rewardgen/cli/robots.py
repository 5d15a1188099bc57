"""`rewardgen robots` and `rewardgen new`: what a robot's model offers, and a task file for it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from rewardgen.cli.drafting import ROBOT, Calls, draft, task_name
from rewardgen.cli.output import Json, next_steps, print_json
from rewardgen.core.config import BUILTIN
from rewardgen.core.errors import UsageError
from rewardgen.core.files import write_atomic
from rewardgen.tasks.robots import catalogue_of, find_robot, known_robots, model_named
from rewardgen.tasks.scaffold import range_text, scaffold
from rewardgen.ui.console import messages, results
from rewardgen.ui.tables import plain_table


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


def show(robot: Annotated[str, Parameter(help=ROBOT)], /, *, json: Json = False) -> int:
    """Show what a robot's model offers to rewards and metrics."""
    found = catalogue_of(robot)
    if json:
        print_json(found.model_dump(mode="json"))
        return 0
    table = plain_table("declare it as", "unit", "random actions reach", "what it is")
    for each in found.entries:
        shape = f" x {len(each.parts)}" if each.parts else ""
        table.add_row(each.code, f"{each.unit}{shape}", range_text(each), each.meaning)
    table.columns[0].no_wrap = True  # it is there to be copied
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
    words: Annotated[str, Parameter(help="What the robot should do, in plain words.")] = "",
    /,
    *,
    robot: Annotated[str, Parameter(help=ROBOT)],
    model: Annotated[
        str, Parameter(help="Language model that drafts the task and tries its metric; without one, you write it.")
    ] = BUILTIN,
    calls: Annotated[Calls, Parameter(name="*")] = Calls(),  # noqa: B008
    output: Annotated[
        Path | None, Parameter(help="The file to write; named after the robot, and the words, if not given.")
    ] = None,
    yes: Annotated[
        bool, Parameter(negative="", help="Take a draft whose metric holds unread.", show_default=False)
    ] = False,
    json: Json = False,
) -> int:
    """Write a task file for a robot.

    With words and a model, the model drafts it, and its metric is tried on episodes sketched by authors that do not see
    it. Otherwise the file declares everything that the robot offers, and the metric is yours to write.
    """
    if model != BUILTIN:
        if not words.strip():
            raise UsageError(
                "there is nothing to draft a task from", 'say what the robot should do: `new "..." --robot`'
            )
        config = calls.config(model)
        made = draft(words, robot, output or Path(task_name(robot, words)), config, yes=yes)
        if json:
            print_json({"file": str(made.file), **made.drafted.model_dump(mode="json")})
            return 0
        file = shlex.quote(str(made.file))
        next_steps(
            (f"run {file} --model {shlex.quote(model)} --goal {shlex.quote(words)}", "searches for a reward"),
            (f"tasks show {file}", "the task as the designer sees it"),
        )
        return 0
    return _scaffold(words, robot, output, json)


def _scaffold(words: str, robot: str, output: Path | None, json: bool) -> int:
    """Everything that a robot offers, and the metric left out."""
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
