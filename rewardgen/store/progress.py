"""Progress of reviews and trainings between events, and how another process follows a run.

Progress is for screens only: the event log holds every result. A run writes it to a small file beside the log.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field, TypeAdapter

from rewardgen.core.errors import UsageError
from rewardgen.core.files import read_plain
from rewardgen.core.schema import Frozen
from rewardgen.store.events import Event, LogReader
from rewardgen.store.history import History, Phase
from rewardgen.store.journal import Listener
from rewardgen.store.measurements import Count, Measure, Share
from rewardgen.store.names import CandidateId
from rewardgen.store.records import Gate, SliceSpec
from rewardgen.store.run_folder import RunFolder

Live = Mapping[tuple[str, str, int], Mapping[str, Any]]
"""(phase, candidate id, seed) to the latest message of a training, with its `course`: (env_steps, fitness) of all its
messages. A review has the phase `review` and the seed 0."""

_MOST_BYTES = 1 << 18
"""Size at which the file is emptied: some two thousand messages."""
_MOST_POINTS = 64
"""Points of a course at most."""
_RESTARTS = ("run-resumed", "generation-started", "seeds-opened", "finals-started")
"""Events after which other trainings begin."""
_POLL_S = 0.5


class Progress(SliceSpec):
    """Report of a training worker on a slice at an evaluation phase."""

    env_steps: Count
    fitness: Measure
    success_rate: Share


class _TrainingMessage(Progress):
    phase: Phase


class _ReviewMessage(Frozen):
    phase: Literal["review"]
    candidate_id: CandidateId
    gate: Gate


_MESSAGE = TypeAdapter(Annotated[_TrainingMessage | _ReviewMessage, Field(discriminator="phase")])


class LiveProgress:
    """Latest messages of the reviews and trainings under way."""

    def __init__(self) -> None:
        self.messages: dict[tuple[str, str, int], Mapping[str, Any]] = {}
        """See `Live`."""

    def progress(self, message: Mapping[str, Any]) -> None:
        """Take in a message; see `Listener.progress`."""
        key = (message["phase"], message["candidate_id"], message.get("seed", 0))
        steps, fitness = message.get("env_steps"), message.get("fitness")
        if steps and fitness is not None and math.isfinite(fitness):
            before = self.messages.get(key, {}).get("course", ())
            # A training that was started again reports its first steps again.
            course = [point for point in before if point[0] < steps][1 - _MOST_POINTS :]
            message = {**message, "course": (*course, (steps, fitness))}
        self.messages[key] = message

    def event(self, event: Event) -> None:
        """Drop all messages when other trainings begin."""
        if event.kind in _RESTARTS:
            self.messages.clear()


class ProgressFile:
    """Publishes progress for other processes, in whole lines. Failing to write it does not affect the run."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def progress(self, message: Mapping[str, Any]) -> None:
        """Append a message; see `Listener.progress`."""
        try:
            data = _MESSAGE.dump_json(_MESSAGE.validate_python(message)) + b"\n"
        except (ValueError, UsageError):  # a trainer from outside may send anything
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        with suppress(OSError), open(os.open(self._path, flags, 0o644), "ab", buffering=0) as file:
            if os.fstat(file.fileno()).st_size + len(data) > _MOST_BYTES:
                file.truncate(0)
            file.write(data)

    def event(self, event: Event) -> None:
        """Remove the file when other trainings begin."""
        if event.kind in _RESTARTS:
            self.remove()

    def remove(self) -> None:
        """Remove the file."""
        with suppress(OSError):
            self._path.unlink()


class ProgressReader:
    """Reads a progress file as it grows; skips malformed lines."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = b""

    def new(self) -> list[dict[str, Any]]:
        """Return the messages since the last call, oldest first; see `Listener.progress`."""
        try:
            content = read_plain(self._path, _MOST_BYTES)
        except OSError:
            content = b""
        content = content[: content.rfind(b"\n") + 1]
        fresh = content[len(self._seen) :] if content.startswith(self._seen) else content
        self._seen = content
        return [message for line in fresh.splitlines() if (message := _read(line))]


def _read(line: bytes) -> dict[str, Any] | None:
    try:
        return _MESSAGE.validate_json(line).model_dump()
    except (ValueError, UsageError):
        return None


class LateListener(Listener, Protocol):
    """A listener that may join a run under way."""

    def late(self, seconds: float) -> None:
        """Handle the age of the last event [s]."""


class Follower:
    """Passes the contents of a run's files to a listener, as the run itself would."""

    def __init__(self, folder: RunFolder, listener: LateListener) -> None:
        self.history = History()
        self._folder = folder
        self._listener = listener
        self._log = LogReader(folder.events)
        self._progress = ProgressReader(folder.progress)

    @property
    def position(self) -> int:
        """Bytes of the log read so far."""
        return self._log.position

    def look(self) -> bool:
        """Pass on what is new; True while the run continues.

        Raises:
            RunFolderError: The run is damaged, or of another version.
        """
        running = self._folder.is_locked()  # checked first, so that the last lines before the unlock are read
        events, first = self._log.new(), not self.history.run_id
        if first and events:
            self.history.take(events[:-1], self._folder)
            events = events[-1:]
        for event in events:
            self.history.take([event], self._folder)
            self._listener.event(event, self.history)
        if first and events and running:
            self._listener.late(_age_s(events[-1]))
        for message in self._progress.new():
            self._listener.progress(message)
        return running and self.history.summary is None


def _age_s(event: Event) -> float:
    """Time since an event was written [s]; 0 if the clocks disagree."""
    with suppress(ValueError, TypeError, OverflowError):
        return max(0.0, (datetime.now(UTC) - datetime.fromisoformat(event.at)).total_seconds())
    return 0.0


def follow(folder: RunFolder, listener: LateListener) -> History:
    """Follow a run until it ends or no process works on it.

    Raises:
        RunFolderError: The run is damaged, or of another version.
    """
    follower = Follower(folder, listener)
    while follower.look():
        time.sleep(_POLL_S)
    return follower.history
