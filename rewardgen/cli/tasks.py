"""`rewardgen tasks`: list, show, check, expert."""

from __future__ import annotations

import asyncio
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.text import Text

from rewardgen.cli.drafting import Calls, draft_folder
from rewardgen.cli.output import Json, TaskName, next_steps, print_json
from rewardgen.core.config import SandboxMode
from rewardgen.core.formatting import count, number, percent
from rewardgen.core.provenance import usable_cores
from rewardgen.core.text import visible
from rewardgen.llm.factory import make_llm
from rewardgen.llm.prompts import using_prompts
from rewardgen.search.run_prompts import own_prompts_of
from rewardgen.store.run_folder import RunFolder
from rewardgen.tasks.listing import listed_tasks
from rewardgen.tasks.loading import lasting_reference, shipped_tasks
from rewardgen.tasks.sketching import (
    NothingDrafted,
    Trial,
    ask_authors,
    has_sketches,
    hold_against,
    keep_sketches,
    look_at,
    try_kept,
)
from rewardgen.training.cache import check_task, get_or_measure
from rewardgen.training.experts import make_expert
from rewardgen.training.setup import card_for
from rewardgen.ui.console import results, training_line
from rewardgen.ui.metric_page import trial_page
from rewardgen.ui.show import card_page
from rewardgen.ui.tables import plain_table

_MOST_LINES = 8
"""Of what a task prints."""
_AT_LEAST_ONE = Number(gte=1)
_ENOUGH = Number(gte=1000)


def list_all(*, json: Json = False) -> int:
    """List the shipped tasks, and those of installed packages."""
    tasks = listed_tasks()
    if json:
        print_json({"tasks": [each._asdict() | {"path": each.path and str(each.path)} for each in tasks]})
        return 0
    table = plain_table("task", "", "about")
    table.columns[0].no_wrap = table.columns[1].no_wrap = True
    for group, each_of in groupby(tasks, lambda each: each.group):
        table.add_row("", "", Text(group, "bold"))
        for each in each_of:
            mark = Text("not here", "red") if each.problem else Text("slow" if each.slow else "", "yellow")
            table.add_row(each.name, mark, Text(each.about, no_wrap=True, overflow="ellipsis"))
    results().print(table)
    for why, each_of in groupby(sorted(tasks, key=lambda each: each.why), lambda each: each.why):
        if why:
            results().print(
                f"not here: {', '.join(each.name or each.group for each in each_of)}: {why}", soft_wrap=True
            )
    next_steps(("tasks show hopper", "a task as the designer sees it"), ("run cartpole", "searches for a reward"))
    return 0


def show(name: TaskName, /, *, json: Json = False) -> int:
    """Show a task's card."""
    card = card_for(None, get_or_measure(lasting_reference(name)))
    if json:
        print_json(card.model_dump(mode="json"))
        return 0
    console = results()
    console.print(card_page(card, formatted=console.is_terminal), soft_wrap=not console.is_terminal)
    next_steps((f"run {name}", "searches for a reward"), (f"tasks check {name}", "checks the task itself"))
    return 0


def check(
    file: TaskName,
    /,
    *,
    model: Annotated[
        str | None, Parameter(help="Language model that sketches episodes to try the metric on, without seeing it.")
    ] = None,
    goal: Annotated[str, Parameter(help="What the robot should do, if the task's description does not say it.")] = "",
    calls: Annotated[Calls, Parameter(name="*")] = Calls(),  # noqa: B008
    sandbox: Annotated[SandboxMode, Parameter(help="What to do about confining the task's own code.")] = "auto",
    json: Json = False,
) -> int:
    """Check a task file, and its metric on sketched episodes.

    Sketches are drawn with `--model`, and kept beside the file: later checks try the metric on them without a model.
    """
    found = check_task(lasting_reference(file), sandbox)
    trial = None if found["problems"] else _trial(file, model, goal, calls)
    if json:
        print_json({**found, "trial": trial.model_dump(mode="json") if trial else None})
    else:
        results().print(_report(file, found))
        if trial:
            results().print(trial_page(trial))
        if found["problems"]:
            next_steps((f"tasks check {file}", "once they are mended"))
        else:
            next_steps((f"tasks show {file}", "what the designer is told"), (f"run {file}", "searches for a reward"))
    return 1 if found["problems"] or (trial and not trial.verdict.passed) else 0


def _trial(file: str, model: str | None, goal: str, calls: Calls) -> Trial | None:
    """The metric on fresh sketches, on those that were kept, or None without either."""
    task = lasting_reference(file)
    folder = draft_folder(Path(f"{file}.py") if file in shipped_tasks() else Path(file))
    if model is None:
        return try_kept(task, folder, look_at(task)) if has_sketches(folder) else None
    look = look_at(task)
    assert look.card is not None
    config = calls.config(model)
    llm = make_llm(config, RunFolder(folder))
    words = goal or look.card.description
    with using_prompts(own_prompts_of(config)):
        asked = ask_authors(llm, task, look, words, look.card.description if goal else "", "task/check")
        try:
            authors = asyncio.run(asked)
        except NothingDrafted as error:
            raise NothingDrafted(error.message, f"what they wrote is in {folder}: delete it to ask again") from error
    keep_sketches(folder, words, authors)
    return hold_against(task, look, words, authors)


def expert(
    name: TaskName,
    /,
    *,
    seeds: Annotated[int, Parameter(help="Policies that are trained; the best is kept.", validator=_AT_LEAST_ONE)] = 3,
    env_steps: Annotated[
        int | None, Parameter(help="Control steps of each; the task's own setting if not given.", validator=_ENOUGH)
    ] = None,
    workers: Annotated[
        int | None, Parameter(help="Training processes; the CPU cores if not given.", validator=_AT_LEAST_ONE)
    ] = None,
    json: Json = False,
) -> int:
    """Train a task's human reward, and keep the best policy beside the task file, where the critic looks for it.

    One that is there already is replaced.
    """
    task, cores = lasting_reference(name), workers or usable_cores()
    path, best = make_expert(task, seeds, env_steps=env_steps, workers=cores, on_progress=training_line)
    fitness, success_rate = best.final_fitness or 0.0, best.final_success_rate or 0.0
    if json:
        print_json({"path": str(path), "seed": best.seed, "fitness": fitness, "success_rate": success_rate})
        return 0
    results().print(f"fitness {number(fitness)}, success {percent(success_rate)}, seed {best.seed}", soft_wrap=True)
    results().print(f"expert policy: {path}", soft_wrap=True)
    next_steps((f"check {name} my_reward.py", "the critic now tries rewards on its episodes too"))
    return 0


def _report(file: str, found: dict[str, Any]) -> Text:
    problems = found["problems"]
    text = Text()
    for position, problem in enumerate(problems, start=1):
        text.append(f"{position}. ", "red").append(f"{problem['what']}\n")
        text.append(f"   hint: {problem['hint']}\n" if problem["hint"] else "", "dim")
    for name, value in found["measured"].items():
        text.append(f"{name}: ", "dim").append(f"{_plain(value)}\n")
    for note in found["notes"]:
        text.append("note: ", "yellow").append(f"{note['what']}\n").append(f"   hint: {note['hint']}\n", "dim")
    if found["printed"]:
        lines = [f"   {line}" for line in visible(found["printed"]).splitlines()[:_MOST_LINES]]
        text.append("note: ", "yellow").append("the task prints, which no run shows; this is how it begins:\n")
        text.append("\n".join(lines) + "\n", "dim")
    counted = count(len(problems), "problem") if problems else "no problems"
    return text.append_text(Text.assemble(file, ": ", (counted, "red" if problems else "green")))


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_plain(each)}" for key, each in value.items() if each != {})
    if isinstance(value, list):
        return "".join(f"\n  {_plain(each)}" for each in value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
