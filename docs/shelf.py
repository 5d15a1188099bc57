"""Write `shelf/`, the rewards that rewardgen ships, from the kept runs of the study: `python -m docs.shelf`.

The best winner of each task by success on fresh seeds, of the searches with a language model that solved their task.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from docs.study_runs import KEPT, WORDS, StudyRun, read, unpack
from rewardgen.core.errors import UsageError
from rewardgen.core.files import write_atomic
from rewardgen.search.library import entry_files, entry_of
from rewardgen.store.library_entry import LibraryEntry
from rewardgen.store.run_folder import list_runs

SHELF = Path(__file__).parent.parent / "shelf"
LICENCE = "Apache-2.0"


def shelf() -> dict[str, LibraryEntry]:
    """Return the shipped entries by name of their folder."""
    unpack()
    best: dict[str, tuple[str, LibraryEntry]] = {}
    for run in read(list_runs(KEPT)):
        for name, entry in _solved(run):
            if entry.task not in best or _reached(entry) > _reached(best[entry.task][1]):
                best[entry.task] = name, entry
    return dict(best.values())


def _solved(run: StudyRun) -> Iterator[tuple[str, LibraryEntry]]:
    """Yield name and entry of a run's winner, if a language model designed it and it solved the task."""
    if run.way == "built-in":
        return
    try:
        entry = entry_of(run.history, run.name)
    except UsageError:
        return
    name = f"{entry.robot}_{run.name.removeprefix('words-')}" if run.way == WORDS else run.task
    origin = f"benchmarks/evidence/{run.name}, candidate {run.summary.chosen}"
    yield name, entry.model_copy(update={"origin": origin, "licence": LICENCE})


def _reached(entry: LibraryEntry) -> tuple[float, float]:
    return entry.success_rate or 0.0, entry.fitness.value


if __name__ == "__main__":
    shutil.rmtree(SHELF, ignore_errors=True)
    for folder, entry in shelf().items():
        for file, text in entry_files(entry).items():
            write_atomic(SHELF / folder / file, text)
