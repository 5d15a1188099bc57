"""`rewardgen library`: rewards that solved their task."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter
from rich.text import Text

from rewardgen.cli.output import TASK_HELP, Json, RunsDir, next_steps, print_json
from rewardgen.core.errors import UsageError, did_you_mean
from rewardgen.core.formatting import shortened
from rewardgen.llm.prompts import results_text
from rewardgen.search.library import SHIPPED, Near, Query, nearest_entries, query_of, read_library, robot_of
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR
from rewardgen.tasks.loading import lasting_reference
from rewardgen.training.cache import get_or_measure
from rewardgen.ui.console import messages, results

Words = Annotated[str, Parameter(help="Words of a task's description; the best matches come first.")]
Robot = Annotated[str | None, Parameter(help="Robot of the task, such as `hopper`.")]
Variable = Annotated[
    tuple[str, ...], Parameter(negative="", help="Variable of the task, or a part of its name. Repeatable.")
]
Near_ = Annotated[str | None, Parameter(name="--near", help=f"Task to sort by nearness to. {TASK_HELP}")]
Library = Annotated[str | None, Parameter(name="--library", help="Folder with entries of your own, made by `export`.")]
Name = Annotated[str, Parameter(help="Name of an entry, or a unique part of it.")]


def list_all(
    words: Words = "",
    /,
    *,
    robot: Robot = None,
    variable: Variable = (),
    near: Near_ = None,
    library: Library = None,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
    json: Json = False,
) -> int:
    """List the rewards that solved their task: of your folder, of finished runs, and shipped ones."""
    query = Query(words=words)
    if near is not None:
        task = get_or_measure(lasting_reference(near))
        query = query_of(task.card, task.card.name, robot_of(task.files), words)
    rows = [
        row
        for row in nearest_entries(query, read_library(library, runs_dir))
        if (robot is None or row.entry.robot == robot)
        and all(any(part in each.name for each in row.entry.variables) for part in variable)
        and (row.nearness > 0 or near is not None or not words)
    ]
    if json:
        print_json({"entries": [_data(row, query) for row in rows]})
        return 0 if rows else 1
    if not rows:
        messages().print("no reward in the library matches; `rewardgen library list` shows all", soft_wrap=True)
        return 1
    for row in rows:
        entry = row.entry
        same = " (the same task: not shown as an example)" if query.marks & row.marks else ""
        rank = f" nearness {row.nearness:.2f}" if near else ""
        title = Text.assemble((entry.name, "bold"), f" {entry.robot}", (rank + same, "dim"))
        about = shortened(entry.goal or entry.description.partition("\n")[0], 160)
        results().print(title, soft_wrap=True)
        for line in (about, results_text(entry)):
            results().print(Text(f"    {line}", "dim"), soft_wrap=True)
    next_steps(
        (f"library show {rows[0].entry.name}", "shows a reward"),
        ("run TASK --model MODEL --examples 2", "shows designers the nearest ones"),
    )
    return 0


def show(name: Name, /, *, library: Library = None, runs_dir: RunsDir = DEFAULT_RUNS_DIR, json: Json = False) -> int:
    """Show a reward of the library with its task and its evidence."""
    entries = {entry.name: entry for entry in read_library(library, runs_dir)}
    matches = [each for each in entries if name in (each, each.removeprefix(SHIPPED))] or [
        each for each in entries if name in each
    ]
    if len(matches) != 1:
        hint = ", ".join(matches) if matches else did_you_mean(name, (each.removeprefix(SHIPPED) for each in entries))
        raise UsageError(f"`{name}` names {'several rewards' if matches else 'no reward'} of the library", hint)
    entry = entries[matches[0]]
    if json:
        print_json(entry.model_dump(mode="json"))
        return 0
    facts = {
        "task": entry.task,
        "robot": entry.robot,
        "description": entry.description,
        "goal": entry.goal,
        "success": entry.success,
        "reached": results_text(entry),
        "idea": entry.idea,
        "origin": entry.origin,
        "licence": entry.licence or "not stated",
    }
    for label, text in facts.items():
        if text:
            messages().print(Text.assemble((f"{label}: ", "dim"), text), soft_wrap=True)
    results().print_data(entry.source.rstrip("\n"))
    return 0


def _data(row: Near, query: Query) -> dict[str, object]:
    parts = {"nearness": row.nearness, "robot_alike": row.robot, "variables_alike": row.variables}
    entry = row.entry.model_dump(mode="json", exclude={"variables", "source", "idea"})
    return {**entry, **parts, "words_alike": row.words, "same_task": bool(query.marks & row.marks)}
