"""Write the tables and pictures of docs/evidence.md and the README from the kept runs: `python -m docs.study`.

Commands:
    unpack: Unpack benchmarks/evidence/*.tar.xz into benchmarks/evidence/runs, as every other command does first.
    keep RUN...: Copy finished runs (events and calls, without paths of their machine) and pack them.
    rejected NAME...: Train the candidates that the critic rejected in kept runs, and pack the runs again.
    compare RUN...: Compare the verdicts of repeated runs with the kept ones.
    board RUN...: Print the table of docs/leaderboard.md with finished runs of your own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from docs.study_board import board
from docs.study_runs import KEPT, WORDS, StudyRun, keep, pack, read, stopped_first, unpack
from docs.study_tables import REJECTED, against, estimate, table_of, tables, what_ran, with_tables
from rewardgen.api.training import train
from rewardgen.core.config import RunConfig
from rewardgen.core.files import write_atomic
from rewardgen.llm.archive import read_archive
from rewardgen.llm.replay import differing
from rewardgen.store.run_folder import RunFolder, list_runs

PAGE = Path(__file__).parent / "evidence.md"
BOARD = Path(__file__).parent / "leaderboard.md"
README = Path(__file__).parent.parent / "README.md"
NAMED_LATER = {"trainer": "ppo", "stages": False, "evolve_observation": False}
"""Options that the files of the study name, and its first runs do not: all of those ran with these."""
_CAN_BE_TRAINED = ("static", "probe", "preference", "model")


def train_rejected(run: StudyRun) -> None:
    """Train the candidates that the critic rejected, with the run's seeds and steps, to see if it was right.

    Args:
        run: A kept run. Its rejected duplicates are left out.
    """
    if not (config := run.history.config):
        return
    task = str(KEPT / run.name / "task.py") if run.way == WORDS else run.task
    fitness: dict[str, list[float]] = {}
    for (gate, _), stopped in stopped_first([run]).items():
        for _, id in stopped if gate in _CAN_BE_TRAINED else ():
            source = run.history.designed[id, 0].source
            training = train(task, source, steps=config.env_steps, seeds=config.seeds, first_seed=0)
            fitness[id] = [*training.result.by_seed.values()]
    write_atomic(KEPT / run.name / REJECTED, json.dumps(fitness, indent=1))
    pack(KEPT / run.name)


def compare(runs: Sequence[StudyRun], again: Sequence[StudyRun]) -> str:
    """Compare repeated runs with the kept ones, as a table.

    Args:
        runs: The kept runs.
        again: The repeated runs. Runs with other options, such as fewer steps, are not counted.
    """
    by_name = {run.name: run for run in runs}
    rows: list[list[str]] = []
    for run in again:
        if before := by_name.get(run.name):
            verdicts = [before.verdict, run.verdict if _asked(run) == _asked(before) else "asked otherwise"]
            replies = f"{differing(run.folder.calls)} of {len(read_archive(run.folder.calls))}"
            fitness = [estimate(each.row("winner")) for each in (before, run)]
            rows.append([run.name, *verdicts, *fitness, against(run, before), replies])
    head = ["run", "verdict", "again", "fitness", "again", "the new against the old", "requests that differ"]
    counted = [row for row in rows if row[2] != "asked otherwise"]
    same = sum(row[1] == row[2] for row in counted)
    return f"{table_of(head, rows, right=1)}\n\n{same} of {len(counted)} verdicts are the same."


def _asked(run: StudyRun) -> RunConfig | None:
    """The options of a run, without the source of its replies, the number of workers, and what was named later."""
    return run.history.config and run.history.config.model_copy(update=NAMED_LATER | {"model": "", "workers": None})


def main(arguments: Sequence[str]) -> None:
    """See the module."""
    command, *names = arguments or ["page"]
    unpack()
    if command == "keep":
        keep([RunFolder(Path(name)) for name in names])
    runs = read(list_runs(KEPT))
    if command == "unpack":
        return
    if command == "rejected":
        for run in runs:
            if run.name in names:
                train_rejected(run)
    if command == "compare":
        print(compare(runs, read(RunFolder(Path(name)) for name in names)))
        return
    if command == "board":
        print(board(runs, read((RunFolder(Path(name)) for name in names), joined=True)))
        return
    write_atomic(BOARD, with_tables(BOARD.read_text(), {"board": board(runs)}))
    write_atomic(PAGE, with_tables(PAGE.read_text(), tables(runs)))
    write_atomic(README, with_tables(README.read_text(), {"ran": what_ran(runs)}))
    from docs.study_pictures import draw  # it needs matplotlib, which only the extra `dev` brings

    draw(runs, PAGE.parent)


if __name__ == "__main__":
    main(sys.argv[1:])
