"""Pages of the server: the list, each run now with its progress, and comparisons."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from rewardgen.core.errors import RewardgenError, UsageError
from rewardgen.core.formatting import count, duration, money, number, percent
from rewardgen.film.film_index import films_of
from rewardgen.llm.mailbox import open_requests
from rewardgen.report.compare_page import compare_html
from rewardgen.report.page import report_html
from rewardgen.report.rendering import render_page
from rewardgen.store.history import History, status_of
from rewardgen.store.progress import Follower
from rewardgen.store.run_folder import RunFolder, list_runs
from rewardgen.view.facts import RunFacts, notes, read_facts, run_facts
from rewardgen.view.progress import Watcher
from rewardgen.view.reference import Reference

_MOST_RUNS = 16  # kept in memory
_MOST_SIDES = 8


class ServedRun(Watcher):
    """One run, which may be under way. Safe to use from several threads."""

    def __init__(self, folder: RunFolder) -> None:
        super().__init__()
        self.folder = folder
        self._follower = Follower(folder, self)
        self._turn = threading.RLock()

    def note(self, text: str) -> None:
        """Ignored: pages are made on request."""

    def state(self) -> dict[str, Any]:
        """Progress: a `version` that changes with the log, a `text`, and the share that is `done`.

        Raises:
            RunFolderError: The run is damaged, or of another version.
        """
        with self._turn:
            self._follower.look()
            history, now, position = self._follower.history, self._view(), self._follower.position
        status = status_of(self.folder, history)
        version = f"{position} {status}"
        if status != "running":
            return {"version": version, "done": None, "text": f"{status} after {duration(history.elapsed_s)}"}
        waiting = open_requests(now.mailbox) if now.mailbox else 0
        waits = f"{count(waiting, 'request')} in the mailbox" if waiting else ""
        text = " · ".join(filter(None, (now.stage, waits, now.times(0.0, waiting))))
        return {"version": version, "done": now.done, "text": text}

    def page(self) -> str:
        """The run's report now."""
        with self._turn:
            options = {"films": films_of(self.folder), "served": self.state()["version"], "live": self._live.messages}
            return report_html(self.folder, self._follower.history, **options)


class RunSite:
    """All pages of a folder of runs, or of one run `only`."""

    def __init__(self, place: Path, only: RunFolder | None = None) -> None:
        self._place = place
        self.only = only
        self._served = lru_cache(_MOST_RUNS)(lambda path: ServedRun(RunFolder(path)))
        self._listed: dict[str, tuple[Any, RunFacts]] = {}

    def folders(self) -> dict[str, RunFolder]:
        """Runs by id, oldest first; an address may name these only."""
        return {folder.id: folder for folder in ([self.only] if self.only else list_runs(self._place))}

    def run(self, id: str) -> ServedRun | None:
        """A run by id, or None."""
        folder = self.folders().get(id)
        return self._served(folder.path) if folder else None

    def forget(self) -> None:
        """Read all runs again next time, after an error."""
        self._served.cache_clear()

    def comparison(self, ids: Sequence[str]) -> str:
        """A page of runs side by side, compared with the first.

        Raises:
            UsageError: Fewer than two or more than `_MOST_SIDES` of these runs exist.
        """
        folders = self.folders()
        named = [folders[id] for id in dict.fromkeys(ids) if id in folders]
        if not 2 <= len(named) <= _MOST_SIDES:
            raise UsageError("no runs to compare", f"tick two to {_MOST_SIDES} of them")
        sides = [Reference(folder, History.load(folder)) for folder in named]
        facts = [run_facts(side.folder, side.history) for side in sides]
        words = " ".join(side.folder.word for side in sides)
        unmeasured = f"`rewardgen runs compare {words} --rewards` measures how far the rewards are from each other."
        return compare_html(sides, facts, notes(*(side.history for side in sides)), [unmeasured] * (len(sides) - 1))

    def state(self) -> dict[str, Any]:
        """Version of the list, and the number of runs under way."""
        marks = {id: _mark(folder) for id, folder in self.folders().items()}
        version = hashlib.sha256(json.dumps(marks).encode()).hexdigest()[:16]
        working = sum(bool(mark and mark[2]) for mark in marks.values())
        return {"version": version, "done": None, "text": f"{count(len(marks), 'run')}, {working or 'none'} under way"}

    def page(self) -> str:
        """The list of all runs."""
        state = self.state()
        listed = []
        for id, folder in reversed(self.folders().items()):
            mark, (last_mark, line) = _mark(folder), self._listed.get(id, (None, RunFacts(id)))
            if mark is None or mark != last_mark:
                line = read_facts(folder)
                self._listed[id] = (mark, line)
            film = min(films_of(folder), key=lambda film: film.phase != "final", default=None)
            listed.append((line, film.still.name if film else None))
        formats = {"number": number, "percent": percent, "duration": duration, "money": money, "count": count}
        return render_page(
            "runs", {}, ("served.js",), served=state["version"], runs=listed, place=str(self._place), formats=formats
        )


def _mark(folder: RunFolder) -> tuple[int, int, bool] | None:
    """Size and time of the log, and True if a process works on the run; None without a log."""
    try:
        log = folder.events.lstat()
    except OSError:
        return None
    return log.st_size, log.st_mtime_ns, folder.is_locked()


def state_line(look: Callable[[], dict[str, Any]]) -> str:
    """A state, or its error, as one line of JSON."""
    try:
        return json.dumps(look())
    except RewardgenError as error:
        return json.dumps({"version": "", "done": None, "text": error.message})
