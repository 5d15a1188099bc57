"""Shared options, JSON on stdout, and next steps on stderr."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, cast

from cyclopts import Parameter
from cyclopts.validators import Number
from pydantic import create_model

from rewardgen.core.config import RunConfig
from rewardgen.core.schema import Frozen
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR
from rewardgen.ui.console import messages, results


def flag(help: str, name: str | None = None, **options: Any) -> Parameter:
    """Return the parameter of an option without a value."""
    return Parameter(name=name, negative="", show_default=False, help=help, **options)


def config_options(
    title: str, parameters: Mapping[str, Parameter], *, base: type[Frozen] = Frozen, unset: bool = False
) -> Any:
    """Make a model with an option for each of these fields of the configuration; if `unset`, None is their default."""
    fields: dict[str, Any] = {}
    for name, parameter in parameters.items():
        field = RunConfig.model_fields[name]
        texts = {"negative": "", "show_default": False} if field.default == () else {}
        kind = cast(Any, field.rebuild_annotation())
        option = Parameter.combine(Parameter(help=field.description, **texts), parameter)
        fields[name] = (Annotated[kind | None if unset else kind, option], None if unset else field)
    return create_model(title, __base__=base, **fields)


Json = Annotated[bool, flag("Print data as JSON on stdout.", "--json")]
TASK_HELP = "Name in `rewardgen tasks list`, path of a task file, or a Gymnasium id such as `Reacher-v5`."
Agree = Annotated[bool, flag("Do not ask about a run that you did not start here, or that was changed since.")]
TaskName = Annotated[str, Parameter(help=TASK_HELP)]
Reference = Annotated[str, Parameter(help="`latest`, a run's id or a part of it, or the path of its folder.")]
Workers = Annotated[int | None, Parameter(help="Processes; default: the CPU cores.", validator=Number(gte=1))]
RunsDir = Annotated[Path, Parameter(help="Folder of the runs.")]


def print_json(data: Any) -> None:
    """Print data on stdout."""
    results().print_data(json.dumps(data, indent=1, ensure_ascii=False))


def next_steps(*steps: tuple[str, str]) -> None:
    """Print useful commands, each without the program's name, with their purposes."""
    console = messages()
    width = max(len(command) for command, _ in steps)
    lines = [f"rewardgen {command.ljust(width)}  {purpose}" for command, purpose in steps]
    if console.is_terminal and max(map(len, lines)) > console.width - 6:  # a terminal would break them in a word
        lines = [f"rewardgen {command}\n          {purpose}" for command, purpose in steps]
    console.print()
    for number, line in enumerate(lines):
        console.print(f"{'     ' if number else 'next:'} {line}", soft_wrap=True)


def with_runs_dir(command: str, runs_dir: Path) -> str:
    """Add `--runs-dir` to a command unless the folder is the default."""
    return command if runs_dir == DEFAULT_RUNS_DIR else f"{command} --runs-dir {shlex.quote(str(runs_dir))}"
