"""How commands print: JSON alone on stdout, next steps on stderr."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from rewardgen.store.run_folder import DEFAULT_RUNS_DIR, RunFolder
from rewardgen.ui.console import messages, results

Json = Annotated[bool, Parameter(name="--json", negative="", help="Print data as JSON on stdout.", show_default=False)]
TASK_HELP = (
    "Name in `rewardgen tasks list`, the path of a task file, or an environment of Gymnasium such as `Reacher-v5`."
)
Agree = Annotated[
    bool,
    Parameter(
        negative="",
        help="Do not ask before a run that was not started here by you, or was changed since.",
        show_default=False,
    ),
]
TaskName = Annotated[str, Parameter(help=TASK_HELP)]
Reference = Annotated[
    str,
    Parameter(help="`latest`, a run's id or a part of it, or the path of its folder."),
]
Trainer = Annotated[
    str | None, Parameter(help="What trains on a task; the one that the task has settings for, or `ppo`, if not given.")
]
RunsDir = Annotated[Path, Parameter(help="Folder that holds the runs.")]


def print_json(data: Any) -> None:
    """Print data on stdout."""
    results().print_data(json.dumps(data, indent=1, ensure_ascii=False))


def next_steps(*steps: tuple[str, str]) -> None:
    """Print commands that are useful now.

    Args:
        *steps: Command without the program's name, and what it does.
    """
    console = messages()
    width = max(len(command) for command, _ in steps)
    console.print()
    for number, (command, purpose) in enumerate(steps):
        lead = "next:" if number == 0 else "     "
        console.print(f"{lead} rewardgen {command.ljust(width)}  {purpose}", soft_wrap=True)


def with_runs_dir(command: str, runs_dir: Path) -> str:
    """A command that looks for runs where this one did."""
    return command if runs_dir == DEFAULT_RUNS_DIR else f"{command} --runs-dir {shlex.quote(str(runs_dir))}"


def home_of(folder: RunFolder, runs_dir: Path) -> Path:
    """The folder of runs in which a run is found by its id: not the given one if it was named by its path."""
    parent = folder.path.resolve().parent
    return runs_dir if parent == runs_dir.resolve() else parent
