"""`rewardgen robots` and `rewardgen new`: show the variables of a robot, write or draft a task file for it."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.padding import Padding
from rich.text import Text

from rewardgen.api.drafting import TaskDraft, accept_sound, draft_file, run_words, task_name
from rewardgen.cli.output import Json, config_options, flag, next_steps, print_json
from rewardgen.core.asynchrony import blocking
from rewardgen.core.config import BUILTIN, RunConfig
from rewardgen.core.errors import NeedsConsent, UsageError
from rewardgen.core.files import write_atomic
from rewardgen.core.schema import Frozen
from rewardgen.tasks.draft.drafting import DraftedTask
from rewardgen.tasks.robots import catalogue_of, find_robot, known_robots, model_named, scaffold
from rewardgen.ui.console import messages, results
from rewardgen.ui.show import draft_page
from rewardgen.ui.tables import plain_table

ROBOT = (
    "An MJCF or URDF file, a MuJoCo Menagerie folder, a shipped task's name, `gymnasium:hopper.xml`, "
    "or a name of `robot_descriptions`."
)
Robot = Annotated[str, Parameter(help=ROBOT)]
Words = Annotated[str, Parameter(help="What the robot should do, in plain words.")]
Model = Annotated[str, Parameter(help="Language model that drafts the task and tests its metric; without one, you do.")]
Output = Annotated[Path | None, Parameter(help="The file to write; named after the robot and the words by default.")]
Yes = Annotated[bool, flag("Accept a draft whose metric passes without reading it.")]


class _Calls(Frozen):
    """Options of the calls of a language model outside a run."""

    def config(self, model: str, task: str) -> RunConfig:
        """Return the configuration for a model and a task file."""
        return RunConfig(task=task, model=model, **self.model_dump())


_CALLS = ("api_base", "effort", "max_cost", "max_tokens", "temperature", "call_timeout_s", "prompts")
if TYPE_CHECKING:
    Calls = _Calls
else:
    Calls = config_options("Calls", dict.fromkeys(_CALLS, Parameter()), base=_Calls)
CallOptions = Annotated[Calls, Parameter(name="*")]


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


def show(robot: Robot, /, *, json: Json = False) -> int:
    """Show the variables that a robot's model offers to rewards and metrics."""
    catalogue = catalogue_of(robot)
    if json:
        print_json(catalogue.model_dump(mode="json"))
        return 0
    console = results()
    for entry in catalogue.entries:
        shape = f" x {len(entry.parts)}" if entry.parts else ""
        about = f"{entry.unit}{shape}, {entry.range_text} under random actions: {entry.meaning}"
        console.print(Text(entry.code, "bold"), soft_wrap=True)  # for copying
        console.print(Padding(Text(about), (0, 0, 0, 4)))
    names = {kind: getattr(catalogue, kind) for kind in ("robot", "objects", "geoms", "sites")}
    for kind, listed in names.items():
        messages().print(f"{kind}: {', '.join(listed) or 'none'}", soft_wrap=True)
    pairs = "between any two of them: Distance, Direction; between bodies or geoms: Touching, ContactForce"
    messages().print(pairs, soft_wrap=True)
    if catalogue.actuator_hint:
        messages().print(f"no policy can move it; hint: {catalogue.actuator_hint}", soft_wrap=True)
    else:
        next_steps((f"new --robot {shlex.quote(robot)}", "writes a task file that declares these variables"))
    return 0


def new(
    words: Words = "",
    /,
    *,
    robot: Robot,
    model: Model = BUILTIN,
    calls: CallOptions = Calls(),  # noqa: B008
    output: Output = None,
    yes: Yes = False,
    json: Json = False,
) -> int:
    """Write a task file for a robot.

    With words and a model, the model drafts the file, and other authors sketch episodes to test its metric without
    seeing it. Otherwise the file declares every variable of the robot, and the metric is yours to write.
    """
    if model == BUILTIN:
        return _scaffold(words, robot, output, json)
    if not words.strip():
        raise UsageError("there is nothing to draft a task from", 'say what the robot should do: `new "..." --robot`')
    path = output or Path(task_name(robot, words))
    config = calls.config(model, str(path))
    task = draft(words, robot, path, config, yes=yes)
    if json:
        print_json({"file": str(task.file), **task.drafted.model_dump(mode="json")})
        return 0
    file = shlex.quote(str(task.file))
    next_steps(
        (run_words(task.file, task.drafted.words, config), "searches for a reward"),
        (f"tasks show {file}", "shows the task as the designer sees it"),
    )
    return 0


def _scaffold(words: str, robot: str, output: Path | None, json: bool) -> int:
    model = find_robot(robot)
    robot_name = model.stem if model.stem != "scene" else model.parent.name
    file = output or Path(f"{re.sub(r'[^a-z0-9]+', '_', robot_name.lower()).strip('_')}_task.py")
    if file.exists():
        raise UsageError(f"{file} exists", "name another file with `--output`, or delete it")
    catalogue = catalogue_of(robot)
    write_atomic(file, scaffold(robot_name, model_named(robot, file), catalogue, words))
    variables = len(catalogue.entries)
    if json:
        print_json({"file": str(file), "model": str(model), "variables": variables})
        return 0
    messages().print(f"{file}: {variables} variables of {model.name}; write `fitness` and `success`", soft_wrap=True)
    word = shlex.quote(str(file))
    next_steps((f"tasks check {word}", "lists missing parts"), (f"run {word}", "then searches for a reward"))
    return 0


def draft(words: str, robot: str, file: Path, config: RunConfig, *, yes: bool) -> TaskDraft:
    """Draft a task as `rewardgen.draft` does, show the draft, and ask about it; `yes` accepts a sound one unasked."""

    def note(text: str) -> None:
        messages().print(text, soft_wrap=True)

    try:
        return draft_file(words, robot, file, config, lambda drafted: confirmed(drafted, yes), unread=yes, note=note)
    except KeyboardInterrupt:
        note("interrupted; finished replies are kept: the same command goes on")
        raise


def confirmed(drafted: DraftedTask, yes: bool) -> bool | str:
    """Show a draft and return the person's decision, or their request for changes.

    Raises:
        TaskError: Nobody is asked, and the metric does not pass.
        NeedsConsent: There is nobody to ask.
    """
    console = messages()
    console.print(draft_page(drafted))
    if yes:
        return accept_sound(drafted)
    if not (sys.stdin.isatty() and console.is_terminal):
        accept_sound(drafted)
        then = "then run the same command with `--yes`, which makes no call again; to change it, copy it"
        hint = f"read {drafted.task}, {then}"
        raise NeedsConsent("nobody has confirmed the drafted task", hint)
    warning = "" if drafted.holds else " although its metric does not hold"
    try:
        with blocking():
            answer = console.input(f"\nuse this task{warning}? [y/N, or what to change] ", markup=False).strip()
    except EOFError:
        answer = ""
    if answer.lower() in ("y", "yes"):
        return True
    return False if answer.lower() in ("", "n", "no") else answer
