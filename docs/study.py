"""Writes docs/evidence.md's tables and pictures, and the README's, from benchmarks/evidence: `python -m docs.study`.

`python -m docs.study keep RUN...` first takes up finished runs: their events and calls, without the places of the
machine that they ran on. `python -m docs.study rejected NAME...` trains what the critic stopped in kept runs, and
`python -m docs.study compare RUN...` says whether repeated runs come to the same verdicts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from docs.study_pictures import draw
from docs.study_runs import KEPT, WORDS, StudyRun, keep, read, stopped_first
from docs.study_tables import REJECTED, against, estimate, table_of, tables, what_ran, with_tables
from rewardgen.api.training import train
from rewardgen.core.config import RunConfig
from rewardgen.core.files import write_atomic
from rewardgen.llm.archive import read_archive
from rewardgen.llm.replay import differing
from rewardgen.store.run_folder import RunFolder, list_runs

PAGE = Path(__file__).parent / "evidence.md"
README = Path(__file__).parent.parent / "README.md"
_CAN_BE_TRAINED = ("static", "probe", "preference", "model")


def train_rejected(run: StudyRun) -> None:
    """Train what the critic stopped in a run, for as many seeds and steps as the others: was it right to?

    Args:
        run: The run, kept before. Duplicates are left out: they are what they duplicate.
    """
    if not (config := run.history.config):
        return
    task = str(KEPT / run.name / "task.py") if run.way == WORDS else run.task
    found: dict[str, list[float]] = {}
    for (gate, _), stopped in stopped_first([run]).items():
        for _, id in stopped if gate in _CAN_BE_TRAINED else ():
            source = run.history.designed[id, 0].source
            done = train(task, source, steps=config.env_steps, seeds=config.seeds, first_seed=0)
            found[id] = [*done.result.by_seed.values()]
    write_atomic(KEPT / run.name / REJECTED, json.dumps(found, indent=1))


def compare(runs: Sequence[StudyRun], again: Sequence[StudyRun]) -> str:
    """Whether runs that were made again come to the same verdicts, as a table.

    Args:
        runs: Of the study.
        again: The repeated ones. Those that were asked for something else, such as fewer steps, are not counted.
    """
    known = {run.name: run for run in runs}
    rows: list[list[str]] = []
    for run in again:
        if before := known.get(run.name):
            verdicts = [before.verdict, run.verdict if _asked(run) == _asked(before) else "asked otherwise"]
            replies = f"{differing(run.folder.calls)} of {len(read_archive(run.folder.calls))}"
            fitness = [estimate(each.row("winner")) for each in (before, run)]
            rows.append([run.name, *verdicts, *fitness, against(run, before), replies])
    head = ["run", "verdict", "again", "fitness", "again", "the new against the old", "requests that differ"]
    counted = [row for row in rows if row[2] != "asked otherwise"]
    same = sum(row[1] == row[2] for row in counted)
    return f"{table_of(head, rows, right=1)}\n\n{same} of {len(counted)} verdicts are the same."


def _asked(run: StudyRun) -> RunConfig | None:
    """What a run was asked for, wherever the replies came from and however many cores there were."""
    return run.history.config and run.history.config.model_copy(update={"model": "", "workers": None})


def main(arguments: Sequence[str]) -> None:
    """See the module."""
    what, *given = arguments or ["page"]
    if what == "keep":
        keep([RunFolder(Path(each)) for each in given])
    runs = read(list_runs(KEPT))
    if what == "rejected":
        for run in runs:
            if run.name in given:
                train_rejected(run)
    if what == "compare":
        print(compare(runs, read(RunFolder(Path(each)) for each in given)))
        return
    write_atomic(PAGE, with_tables(PAGE.read_text(), tables(runs)))
    write_atomic(README, with_tables(README.read_text(), {"ran": what_ran(runs)}))
    draw(runs, PAGE.parent)


if __name__ == "__main__":
    main(sys.argv[1:])
