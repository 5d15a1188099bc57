"""Event log of a run: append-only JSON lines, from which everything else in the run folder can be rebuilt."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import FiniteFloat

from rewardgen.core.errors import RunFolderError, RunFormatError, UsageError
from rewardgen.core.files import explain_os_error, read_plain
from rewardgen.core.schema import Frozen, VisibleData

_MOST_BYTES = 1 << 27
"""Largest log [bytes]: reading takes some ten times as much memory. The longest runs have some tens of MiB."""
FORMAT = 3
"""Version of the events' data. A log in another format is refused: see `read_events`."""

EventKind = Literal[
    "run-started",
    "run-resumed",
    "goal-checked",
    "settings-chosen",
    "feedback",
    "generation-started",
    "designed",
    "reviewed",
    "trained",
    "compared",
    "ranked",
    "studied",
    "seeds-opened",
    "steps-doubted",
    "generation-finished",
    "search-ended",
    "finals-started",
    "usage",
    "budget-exhausted",
    "judged",
    "interrupted",
    "failed",
    "finished",
]


class Event(Frozen):
    """One line of `events.jsonl`.

    `data` by kind: `run-started`, `run-resumed`, `seeds-opened` and `finals-started` hold the fields of `Beginning`,
    `Resumption`, `SeedRound` and `Finals` in `rewardgen.store.history`, `settings-chosen` those of `Race`;
    `goal-checked` {check}; `feedback` {text}; `generation-started` {generation, slots}; `designed` {candidate};
    `reviewed` {verdict, repairs}; `trained` {phase, slice}; `compared` {comparison}; `ranked` {ranking} (a new leader);
    `studied` {analysis}; `steps-doubted` {why} (after the first generation); `generation-finished` {generation,
    ranking}; `search-ended` {reason}; `usage` {usage} (total so far); `budget-exhausted` {reason}; `judged`
    {judgement}; `interrupted` {}; `failed` {message, hint}; `finished` {summary}.
    """

    kind: str
    """An `EventKind`, or a kind of another version, which readers ignore."""
    at: str
    """UTC time, ISO 8601."""
    elapsed_s: FiniteFloat
    """Working time of the run so far, over all its sessions [s]."""
    data: VisibleData = {}
    """Plain data; texts by models, workers and other users are made safe to show."""


class EventLog:
    """Appends events to a file, each flushed to disk before the call returns.

    Args:
        path: The `events.jsonl` file. A torn last line, left by a crash, is removed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _cut_torn_line(path)
        except OSError as error:
            raise explain_os_error(path, error) from error

    def append(self, kind: EventKind, elapsed_s: float, data: dict[str, Any]) -> Event:
        """Append one event.

        Raises:
            RunFolderError: The line could not be written; no part of it stays.
        """
        event = Event(kind=kind, at=datetime.now(UTC).isoformat(timespec="seconds"), elapsed_s=elapsed_s, data=data)
        line = event.model_dump_json().encode() + b"\n"
        size = self._path.stat().st_size if self._path.exists() else 0
        try:
            with open(self._path, "ab", buffering=0) as file:
                written = file.write(line)
                os.fsync(file.fileno())
            if written != len(line):
                raise OSError(28, "No space left on device")
        except OSError as error:
            with suppress(OSError):  # the file may be missing or read-only
                _truncate(self._path, size)
            raise explain_os_error(self._path, error) from error
        return event


class LogReader:
    """Reads a log as it grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.position = 0
        """Bytes read so far."""
        self._lines = 0

    def new(self) -> list[Event]:
        """Return the events since the last call, without a torn last line.

        Raises:
            RunFormatError: The log has the format of another version of rewardgen.
            RunFolderError: The log is missing, or a line before the last is damaged.
        """
        path = self._path
        try:
            content = read_plain(path, _MOST_BYTES, self.position)
        except OSError as error:
            raise RunFolderError(f"cannot read {path}: {error.strerror}", "see `rewardgen runs list`") from error
        events: list[Event] = []
        *lines, torn = content.split(b"\n")
        for line in lines:
            self._lines += 1
            try:
                data = json.loads(line)
                if self._lines == 1 and data["kind"] == "run-started":
                    _check_format(data["data"].get("format", 1), path)
                events.append(Event.model_validate(data))
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError, UsageError) as error:
                hint = "restore the file, or delete the lines from there on and resume"
                raise RunFolderError(f"{path} is damaged at line {self._lines}", hint) from error
        self.position += len(content) - len(torn)
        return events


def read_events(path: Path) -> list[Event]:
    """Read a whole log: see `LogReader.new`."""
    return LogReader(path).new()


def _check_format(number: object, path: Path) -> None:
    if number != FORMAT:
        message = f"the events of run {path.parent.name} are in format {number}, this version reads format {FORMAT}"
        raise RunFormatError(message, "look at it with the version in its `provenance.json`, or start a new run")


def _cut_torn_line(path: Path) -> None:
    if path.exists():
        content = path.read_bytes()
        if content and not content.endswith(b"\n"):
            _truncate(path, content.rfind(b"\n") + 1)


def _truncate(path: Path, size: int) -> None:
    with open(path, "r+b") as file:
        file.truncate(size)
