"""`rewardgen tasks`: list, show, check."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.text import Text

from rewardgen import session
from rewardgen.cli.output import TASK_HELP, Json, next_steps, print_json
from rewardgen.task import shipped_tasks
from rewardgen.ui.cards import card_page
from rewardgen.ui.console import results
from rewardgen.ui.format import first_line
from rewardgen.ui.tables import plain_table


def list_all(*, json: Json = False) -> int:
    """List the shipped tasks."""
    tasks = shipped_tasks()
    if json:
        print_json({"tasks": [{"name": name, "about": _about(at), "path": str(at)} for name, at in tasks.items()]})
        return 0
    table = plain_table("task", "about")
    for name, at in tasks.items():
        table.add_row(name, _about(at))
    results().print(table)
    next_steps(("tasks show hopper", "a task as the designer sees it"), ("run cartpole", "searches for a reward"))
    return 0


def _about(path: Path) -> str:
    """First line of the task class's docstring, read without running the file."""
    classes = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]
    texts = [text for node in classes if (text := ast.get_docstring(node))]
    return first_line(texts[-1]) if texts else ""


def show(name: Annotated[str, Parameter(help=TASK_HELP)], /, *, json: Json = False) -> int:
    """Show a task's card."""
    card = session.describe_task(name)
    if json:
        print_json(card.model_dump(mode="json"))
        return 0
    console = results()
    console.print(card_page(card, formatted=console.is_terminal), soft_wrap=not console.is_terminal)
    next_steps((f"run {name}", "searches for a reward"), (f"tasks check {name}", "checks the task itself"))
    return 0


def check(
    file: Annotated[str, Parameter(help="Path of a task file, or the name of a shipped task.")],
    /,
    *,
    json: Json = False,
) -> int:
    """Check a task file."""
    found = session.check_task(file)
    if json:
        print_json(found)
    else:
        results().print(_report(file, found))
        next_steps((f"tasks show {file}", "what the designer is told"), (f"run {file}", "searches for a reward"))
    return 1 if found["problems"] else 0


def _report(file: str, found: dict[str, Any]) -> Text:
    problems = found["problems"]
    text = Text()
    for number, problem in enumerate(problems, start=1):
        text.append(f"{number}. ", "red").append(f"{problem['what']}\n")
        text.append(f"   hint: {problem['hint']}\n" if problem["hint"] else "", "dim")
    for name, value in found["measured"].items():
        text.append(f"{name}: ", "dim").append(f"{_plain(value)}\n")
    verdict = (f"{len(problems)} problems", "red") if problems else ("no problems", "green")
    return text.append_text(Text.assemble(file, ": ", verdict))


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_plain(each)}" for key, each in value.items())
    if isinstance(value, list):
        return "".join(f"\n  {_plain(each)}" for each in value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
