"""`rewardgen tasks`: list, show, check, expert."""

from __future__ import annotations

import shlex
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.text import Text

from rewardgen.api.drafting import DRAFT_SUFFIX, sketch_test
from rewardgen.cli.output import Json, TaskName, Workers, next_steps, print_json
from rewardgen.cli.robots import CallOptions, Calls
from rewardgen.core.config import SandboxMode
from rewardgen.core.formatting import count, number, percent
from rewardgen.core.provenance import usable_cores
from rewardgen.core.text import visible
from rewardgen.tasks.listing import listed_tasks
from rewardgen.tasks.loading import lasting_reference, shipped_tasks
from rewardgen.training.cache import check_task, get_or_measure
from rewardgen.training.retraining import make_expert
from rewardgen.training.setup import card_for
from rewardgen.ui.console import messages, results, training_line
from rewardgen.ui.show import card_page, trial_page
from rewardgen.ui.tables import plain_table

_MOST_LINES = 8
"""Lines of a task's own output to show."""
Sketcher = Annotated[
    str | None, Parameter(help="Language model that sketches episodes to test the metric on, without seeing it.")
]
Goal = Annotated[str, Parameter(help="What the robot should do, if the task's description does not say it.")]
Sandbox = Annotated[SandboxMode, Parameter(help="How strictly to confine the task's own code.")]
Policies = Annotated[int, Parameter(help="Policies to train; the best is kept.", validator=Number(gte=1))]
Steps = Annotated[
    int | None,
    Parameter(help="Control steps per policy; the task's own setting by default.", validator=Number(gte=1000)),
]


def list_all(*, json: Json = False) -> int:
    """List the shipped tasks, and those of installed packages."""
    tasks = listed_tasks()
    if json:
        print_json({"tasks": [task._asdict() | {"path": task.path and str(task.path)} for task in tasks]})
        return 0
    table = plain_table("task", "", "about")
    table.columns[0].no_wrap = table.columns[1].no_wrap = True
    for group, members in groupby(tasks, lambda task: task.group):
        table.add_row("", "", Text(group, "bold"))
        for task in members:
            mark = Text("not here", "red") if task.problem else Text("slow" if task.slow else "", "yellow")
            table.add_row(task.name, mark, Text(task.about, no_wrap=True, overflow="ellipsis"))
    results().print(table)
    for why, members in groupby(sorted(tasks, key=lambda task: task.problem), lambda task: task.problem):
        if why:
            names = ", ".join(task.name or task.group for task in members)
            results().print(f"not here: {names}: {why}", soft_wrap=True)
    next_steps(("tasks show hopper", "shows a task as the designer sees it"), ("run cartpole", "searches for a reward"))
    return 0


def show(name: TaskName, /, *, json: Json = False) -> int:
    """Show a task's card."""
    card = card_for(None, get_or_measure(lasting_reference(name)))
    if json:
        print_json(card.model_dump(mode="json"))
        return 0
    console = results()
    console.print(card_page(card, formatted=console.is_terminal), soft_wrap=not console.is_terminal)
    word = shlex.quote(name)
    next_steps((f"run {word}", "searches for a reward"), (f"tasks check {word}", "checks the task itself"))
    return 0


def check(
    file: TaskName,
    /,
    *,
    model: Sketcher = None,
    goal: Goal = "",
    calls: CallOptions = Calls(),  # noqa: B008
    sandbox: Sandbox = "auto",
    json: Json = False,
) -> int:
    """Check a task file; with `--model`, test its metric on sketched episodes too."""
    task = lasting_reference(file)

    def note(text: str) -> None:
        messages().print(f"{file}: {text}", soft_wrap=True)

    report = check_task(task, sandbox, note)
    test = None
    if model is not None and not report["problems"]:
        folder = Path(f"{file}.py" if file in shipped_tasks() else file).with_suffix(DRAFT_SUFFIX)
        test = sketch_test(task, folder, calls.config(model, task), goal, note)
    failed = bool(report["problems"]) or (test is not None and not test.verdict.passed)
    if json:
        print_json({**report, "trial": test.model_dump(mode="json") if test else None})
        return int(failed)
    results().print(_report(file, report))
    if test:
        results().print(trial_page(test))
    word = shlex.quote(file)
    if report["problems"]:
        next_steps((f"tasks check {word}", "after fixing them"))
    else:
        next_steps((f"tasks show {word}", "shows the designer's view"), (f"run {word}", "searches for a reward"))
    return int(failed)


def expert(
    name: TaskName, /, *, seeds: Policies = 3, env_steps: Steps = None, workers: Workers = None, json: Json = False
) -> int:
    """Train a task's human reward and keep the best policy beside the task file, for the critic."""
    task, cores = lasting_reference(name), workers or usable_cores()
    path, best = make_expert(task, seeds, env_steps=env_steps, workers=cores, on_progress=training_line)
    fitness, success_rate = best.final_fitness or 0.0, best.final_success_rate
    if json:
        print_json({"path": str(path), "seed": best.seed, "fitness": fitness, "success_rate": success_rate})
        return 0
    success = "" if success_rate is None else f", success {percent(success_rate)}"
    results().print(f"fitness {number(fitness)}{success}, seed {best.seed}", soft_wrap=True)
    results().print(f"expert policy: {path}", soft_wrap=True)
    next_steps((f"check {name} my_reward.py", "tries a reward on its episodes too"))
    return 0


def _report(file: str, report: dict[str, Any]) -> Text:
    problems = report["problems"]
    text = Text()
    for position, problem in enumerate(problems, start=1):
        text.append(f"{position}. ", "red").append(f"{problem['what']}\n")
        text.append(f"   hint: {problem['hint']}\n" if problem["hint"] else "", "dim")
    for name, value in report["measured"].items():
        text.append(f"{name.replace('_', ' ')}: ", "dim").append(f"{_plain(value)}\n")
    for note in report["notes"]:
        text.append("note: ", "yellow").append(f"{note['what']}\n").append(f"   hint: {note['hint']}\n", "dim")
    if report["printed"]:
        lines = [f"   {line}" for line in visible(report["printed"]).splitlines()[:_MOST_LINES]]
        text.append("note: ", "yellow").append("the task prints, which no run shows; its first lines:\n")
        text.append("\n".join(lines) + "\n", "dim")
    counted = count(len(problems), "problem") if problems else "no problems"
    return text.append_text(Text.assemble(file, ": ", (counted, "red" if problems else "green")))


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key.replace('_', ' ')} {_plain(item)}" for key, item in value.items() if item != {})
    if isinstance(value, list):
        return "".join(f"\n  {_plain(item)}" for item in value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
