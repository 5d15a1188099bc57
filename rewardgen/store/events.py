"""The run's event log: append-only JSON lines, the truth from which everything else in a run folder can be rebuilt."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from rewardgen.core.errors import RunFolderError, UsageError
from rewardgen.core.files import explain_os_error
from rewardgen.core.schema import Frozen

EventKind = Literal[
    "run-started",
    "run-resumed",
    "generation-started",
    "designed",
    "reviewed",
    "trained",
    "studied",
    "generation-finished",
    "finals-started",
    "usage",
    "budget-exhausted",
    "interrupted",
    "failed",
    "finished",
]


class Event(Frozen):
    """One line of `events.jsonl`.

    What `data` holds, by kind: `run-started` {run_id, config, card, training, baselines, task_hash,
    search_seeds, final_seeds}; `generation-started` {generation, ids}; `designed` {candidate}; `reviewed` {verdict,
    repairs}; `trained` {phase, slice}; `studied` {analysis}; `generation-finished` {generation, best, fitness};
    `finals-started` {ids, reason}; `usage` {usage} (so far); `budget-exhausted` {reason}; `interrupted` {}; `failed`
    {message, hint}; `finished` {summary}.
    """

    kind: EventKind
    at: str
    """UTC time, ISO 8601."""
    elapsed_s: float
    """Seconds that the run has been at work so far, over all its sessions."""
    data: dict[str, Any] = {}


class EventLog:
    """Appends events to a file, each flushed to disk before the call returns.

    Args:
        path: The `events.jsonl` file. A torn last line, left by a crash, is cut off.
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
            RunFolderError: The line could not be written; a part of it that was is removed again.
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
            with suppress(OSError):  # the file may not be there, or not be ours to write
                _truncate(self._path, size)
            raise explain_os_error(self._path, error) from error
        return event


def read_events(path: Path) -> list[Event]:
    """Read a log; a torn last line is left out.

    Raises:
        RunFolderError: There is no log, or a line before the last is damaged.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise RunFolderError(f"cannot read {path}: {error.strerror}", "see `rewardgen runs list`") from error
    events = []
    for number, line in enumerate(lines[:-1], start=1):
        try:
            events.append(Event.model_validate(json.loads(line)))
        except (ValueError, ValidationError, UsageError) as error:
            raise RunFolderError(
                f"{path} is damaged at line {number}", "restore the file, or delete the lines from there on and resume"
            ) from error
    return events


def _cut_torn_line(path: Path) -> None:
    if path.exists():
        content = path.read_bytes()
        if content and not content.endswith(b"\n"):
            _truncate(path, content.rfind(b"\n") + 1)


def _truncate(path: Path, size: int) -> None:
    with open(path, "r+b") as file:
        file.truncate(size)
