"""`rewardgen runs list` and `rewardgen runs show`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from rewardgen.cli.output import Json, Reference, RunsDir, home_of, next_steps, print_json, with_runs_dir
from rewardgen.core.formatting import duration, money, number, percent
from rewardgen.core.text import one_line
from rewardgen.store.history import History, status_of
from rewardgen.store.records import CandidateRecord
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR, RunFolder, list_runs
from rewardgen.tasks.loading import shipped_tasks
from rewardgen.ui.console import messages, results
from rewardgen.ui.show import baseline_page, candidate_page, run_page
from rewardgen.ui.tables import plain_table
from rewardgen.view.facts import lineage, parent_diffs, read_facts
from rewardgen.view.reference import find_reference, require_candidate
from rewardgen.view.rows import search_rows

_ROOMY, _WIDE = 120, 160
"""Columns of a terminal that shows more of the list, and all of it."""


def list_all(*, runs_dir: RunsDir = DEFAULT_RUNS_DIR, json: Json = False) -> int:
    """List all runs, oldest first."""
    runs = [read_facts(folder) for folder in list_runs(runs_dir)]
    if json:
        print_json({"runs": [run._asdict() for run in runs]})
        return 0
    if not runs:
        messages().print(f"there are no runs in {runs_dir}/")
        next_steps((with_runs_dir("run cartpole", runs_dir), "searches for a reward, without a language model"))
        return 0
    roomy, wide = results().width >= _ROOMY, results().width >= _WIDE
    right = ("fitness", "success", "candidates", "time", "cost")
    table = plain_table("run", "status", "best", *(right if roomy else right[:2]), right=right)
    table.columns[0].no_wrap = True  # ids are copied
    if wide:
        table.add_column("strategy")
        table.add_column("model", no_wrap=True, max_width=24)
    for run in runs:
        cells = [one_line(run.id), run.status, run.best or "", number(run.fitness), percent(run.success_rate)]
        more = [str(run.candidates), duration(run.elapsed_s), money(run.cost_usd)]
        table.add_row(*cells, *(more if roomy else []), *([run.strategy, one_line(run.model)] if wide else []))
    results().print(table)
    next_steps((with_runs_dir(f"runs show {shlex.quote(runs[-1].id)}", runs_dir), "the newest run"))
    return 0


def show(
    ref: Reference = "latest",
    candidate: Annotated[str | None, Parameter(help="Id of a candidate, or `human` or `sparse`.")] = None,
    /,
    *,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
    json: Json = False,
) -> int:
    """Show a run or a candidate."""
    folder, history, named = find_reference(ref, runs_dir)
    runs_dir, candidate = home_of(folder, runs_dir), candidate or named
    if candidate is None:
        return _show_run(folder, history, runs_dir, json)
    if candidate in history.baselines:
        return _show_baseline(folder, history, candidate, runs_dir, json)
    require_candidate(folder, history, candidate)
    record = history.record(candidate)
    assert record is not None
    return _show_candidate(folder, history, record, runs_dir, json)


def _show_run(folder: RunFolder, history: History, runs_dir: Path, json: bool) -> int:
    status, rows = status_of(folder, history), search_rows(history, history.ids(), {})
    if json:
        print_json(
            {
                "run_id": folder.id,
                "path": str(folder.path),
                "status": status,
                "error": history.error or None,
                "changes": history.changes,
                "goal_check": history.goal_check.model_dump(mode="json") if history.goal_check else None,
                "judgement": history.judgement.model_dump(mode="json") if history.judgement else None,
                "feedback": [each.model_dump(mode="json") for each in history.feedback],
                "elapsed_s": history.elapsed_s,
                "config": history.config.model_dump(mode="json") if history.config else None,
                "usage": history.usage.model_dump(mode="json"),
                "candidates": [row._asdict() for row in rows],
                "summary": history.summary.model_dump(mode="json") if history.summary else None,
            }
        )
        return 0
    results().print(run_page(history, status))
    steps = []
    if status in ("interrupted", "failed"):
        steps.append((with_runs_dir(f"resume {folder.word}", runs_dir), "goes on with it"))
    chosen, best = history.summary.chosen if history.summary else None, history.ranking.best
    failed = [row.id for row in rows if row.has_ended_badly]
    looks = [id for id in (chosen or (best.candidate_id if best else None), *failed[:1]) if id]
    steps += [
        (with_runs_dir(f"runs show {folder.word} {id}", runs_dir), "its code, origin and evidence") for id in looks
    ]
    if steps:
        next_steps(*steps)
    return 0


def _show_baseline(folder: RunFolder, history: History, name: str, runs_dir: Path, json: bool) -> int:
    if json:
        print_json({"id": name, "source": history.baselines[name], **_trainings(history, name)})
        return 0
    results().print(baseline_page(history, name))
    next_steps((with_runs_dir(f"runs show {folder.word}", runs_dir), "the whole run"))
    return 0


def _show_candidate(folder: RunFolder, history: History, record: CandidateRecord, runs_dir: Path, json: bool) -> int:
    id = record.candidate.id
    if json:
        origin = [each._asdict() for each in lineage(history, id)]
        data = record.model_dump(mode="json")
        data |= {
            "lineage": origin,
            "diff": next((diff for _, diff in parent_diffs(history, record)), ""),
            "outcome": record.outcome,
        }
        print_json(data | _trainings(history, id))
        return 0
    results().print(candidate_page(history, record))
    folder_of = folder.candidate(id)
    messages().print(f"\nfiles: {folder_of}", soft_wrap=True)
    steps = [
        (with_runs_dir(f"runs show {folder.word} {each}", runs_dir), "its parent") for each in record.candidate.parents
    ]
    # `check` runs the task file: that of a run from elsewhere is not proposed in passing.
    if record.candidate.source and history.config and (history.is_own or history.config.task in shipped_tasks()):
        files = shlex.join([history.config.task, str(folder_of / "reward.py")])
        steps.append((f"check {files}", "its way through the gates"))
    next_steps(*steps, (with_runs_dir(f"runs show {folder.word}", runs_dir), "the whole run"))
    return 0


def _trainings(history: History, id: str) -> dict[str, list[object]]:
    """What came of each seed of a reward, in the search and on the fresh seeds."""
    told: dict[str, list[object]] = {"search": [], "final": []}
    for (phase, owner, _), each in history.trained.items():
        if owner == id:
            told[phase].append(each.model_dump(mode="json"))
    return told
