"""`rewardgen library`: rewards that solved their task."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter
from rich.text import Text

from rewardgen.cli.output import TASK_HELP, Json, RunsDir, next_steps, print_json
from rewardgen.core.errors import UsageError, did_you_mean
from rewardgen.core.formatting import shortened
from rewardgen.llm.prompts import results_text
from rewardgen.search.library import SHIPPED, Query, nearest_entries, query_of, read_library, robot_of
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR
from rewardgen.tasks.loading import lasting_reference
from rewardgen.training.cache import get_or_measure
from rewardgen.ui.console import messages, results

Words = Annotated[str, Parameter(help="Words of a task's description; the best matches come first.")]
Robot = Annotated[str | None, Parameter(help="Robot of the task, such as `hopper`.")]
Variables = Annotated[
    tuple[str, ...],
    Parameter(name="--variable", negative="", help="Variable of the task, or a part of its name. Repeatable."),
]
NearTask = Annotated[str | None, Parameter(name="--near", help=f"Task to sort by nearness to. {TASK_HELP}")]
Library = Annotated[str | None, Parameter(name="--library", help="Folder with entries of your own.")]
Name = Annotated[str, Parameter(help="Name of an entry, or a unique part of it.")]


def list_all(
    words: Words = "",
    /,
    *,
    robot: Robot = None,
    variables: Variables = (),
    near: NearTask = None,
    library: Library = None,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
    json: Json = False,
) -> int:
    """List the rewards that solved their task: of your folder, of finished runs, and shipped ones."""
    query = Query("", {}, words)
    if near is not None:
        task = get_or_measure(lasting_reference(near))
        query = query_of(task.card, task.card.name, robot_of(task.files), words)
    rows = [
        (nearness, entry, same)
        for nearness, entry, same in nearest_entries(query, read_library(library, runs_dir))
        if (robot is None or entry.robot == robot)
        and all(any(part in variable.name for variable in entry.variables) for part in variables)
        and (nearness > 0 or near is not None or not words)
    ]
    if json:
        data = [{**entry.model_dump(mode="json"), "nearness": near, "same_task": same} for near, entry, same in rows]
        print_json({"entries": data})
        return int(not rows)
    if not rows:
        messages().print("no reward in the library matches; `rewardgen library list` shows all", soft_wrap=True)
        return 1
    for nearness, entry, same in rows:
        rank = f", nearness {nearness:.2f}{', the same task: no example for it' if same else ''}" if near else ""
        about = shortened(entry.goal or entry.description.partition("\n")[0], 160)
        results().print(Text.assemble((entry.name, "bold"), (f" {entry.robot}{rank}", "dim")), soft_wrap=True)
        results().print(Text(f"    {about}\n    {results_text(entry)}"), soft_wrap=True)
    next_steps(
        (f"library show {rows[0][1].name}", "shows a reward"),
        ("run TASK --model MODEL --examples 2", "shows designers the nearest ones"),
    )
    return 0


def show(name: Name, /, *, library: Library = None, runs_dir: RunsDir = DEFAULT_RUNS_DIR, json: Json = False) -> int:
    """Show a reward of the library with its task and its evidence."""
    entries = {entry.name: entry for entry in read_library(library, runs_dir)}
    matches = [id for id in entries if name in (id, id.removeprefix(SHIPPED))] or [id for id in entries if name in id]
    if len(matches) != 1:
        hint = ", ".join(matches) or did_you_mean(name, (id.removeprefix(SHIPPED) for id in entries))
        raise UsageError(f"`{name}` names {'several rewards' if matches else 'no reward'} of the library", hint)
    entry = entries[matches[0]]
    if json:
        print_json(entry.model_dump(mode="json"))
        return 0
    facts = entry.model_dump(include={"task", "robot", "description", "goal", "success", "idea", "origin"})
    facts |= {"reached": results_text(entry), "licence": entry.licence or "not stated"}
    for label, text in facts.items():
        if text:
            messages().print(Text.assemble((f"{label}: ", "dim"), text), soft_wrap=True)
    results().print_data(entry.source.rstrip("\n"))
    return 0
