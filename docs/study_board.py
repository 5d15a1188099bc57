"""The table of docs/leaderboard.md: the recorded ways, and runs of others beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from docs.study_runs import VERDICTS, WAYS, StudyRun, cells_of, own_row, tasks_of
from docs.study_tables import GROUPS, beats, drafts_of, group_of, table_of, tokens_of
from rewardgen.core.config import BUILTIN
from rewardgen.store.history import FinalRow
from rewardgen.tasks.loading import load_task

_RECORDED = ("mailbox", "replay")


def groups(runs: Sequence[StudyRun]) -> dict[str, str]:
    """Return the group of each task.

    Args:
        runs: The kept runs, whose drafts count.
    """
    found: dict[str, str] = {}
    for task in tasks_of([run for run in runs if run.way in WAYS]):
        found[task] = group_of(task, [value for _, value in drafts_of(runs, task)])
    return found


def board(kept: Sequence[StudyRun], others: Sequence[StudyRun] = ()) -> str:
    """Return the table: a row for the human reward, for each recorded way, and for each way and model of others.

    Args:
        kept: The kept runs.
        others: Finished runs of somebody else; those on other tasks are left out.
    """
    kept, group = [run for run in kept if run.way in WAYS], groups(kept)
    others = [run for run in others if run.task in group]
    head = ["way", "model", "searches", "tasks", *(VERDICTS[key] for key in ("above", "on par", "below")), "solved"]
    head += [f"policy beats human's: {name}" for name in ("`most`", "`few` and `none`")]
    rows = [["human reward", "", "", f"{len(group)}", "", "", "", _solved_by_human(kept), "", "", ""]]
    entries = dict.fromkeys((run.way, _model(run)) for run in (*kept, *others))
    for way, model in entries:
        here = [run for run in (*kept, *others) if (run.way, _model(run)) == (way, model)]
        found, solved = Counter(run.verdict for run in here), sum(_solves(run.task, run.row("winner")) for run in here)
        halves = [[run for run in here if (group[run.task] == GROUPS[0]) == most] for most in (True, False)]
        rows.append(
            [
                way,
                model,
                f"{len(here)}",
                f"{len(tasks_of(here))}",
                *(f"{found[VERDICTS[key]]}" for key in ("above", "on par", "below")),
                f"{solved} of {len(here)}",
                *(beats(half, half, "human") for half in halves),
                f"{sum(sum(tokens_of(run)) for run in here) / len(here) / 1000:.0f}k",
            ]
        )
    return table_of([*head, "tokens"], rows, right=2)


def _model(run: StudyRun) -> str:
    model = run.history.config.model if run.history.config else ""
    kind = model.partition(":")[0]
    return "" if model == BUILTIN else "coding agents" if kind in _RECORDED else model


def _solves(task: str, row: FinalRow | None) -> bool:
    solved = load_task(task).solved_fitness
    return bool(row and row.fitness and solved is not None and row.fitness.value >= solved)


def _solved_by_human(runs: Sequence[StudyRun]) -> str:
    cells = cells_of(runs)
    solved = sum(
        _solves(task, own_row([run for run in runs if (run.task, run.seed) == (task, seed)], "human"))
        for task, seed in cells
    )
    return f"{solved} of {len(cells)}"
