"""How far reviews and trainings are while they go on: kept in mind, and in a small file by which others can watch.

It decides nothing and is of no use later: what comes of it all is in the event log.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from rewardgen.core.errors import UsageError
from rewardgen.core.files import read_plain
from rewardgen.core.schema import Frozen
from rewardgen.store.events import Event
from rewardgen.store.history import Phase
from rewardgen.store.measurements import Count, Measure, Share
from rewardgen.store.names import CandidateId
from rewardgen.store.records import Gate, SliceSpec

Live = Mapping[tuple[str, str, int], Mapping[str, Any]]
"""(phase, candidate id, seed) to the latest message of its training, with its `course`: (env_steps, fitness) of all its
messages. With `review` for the phase and 0 for the seed, to the message of its review."""

_MOST_BYTES = 1 << 18
"""Of the file, some two thousand messages; one that is full is begun anew."""
_MOST_POINTS = 64
"""Of a course."""
_AFRESH = ("run-resumed", "generation-started", "seeds-opened", "finals-started")
"""Events with which other trainings begin."""


class Progress(SliceSpec):
    """What a training worker reports of a slice at an evaluation phase."""

    env_steps: Count
    fitness: Measure
    success_rate: Share


class _Training(Progress):
    phase: Phase


class _Review(Frozen):
    phase: Literal["review"]
    candidate_id: CandidateId
    gate: Gate


class _Line(Frozen):
    """A line of the file: one of these."""

    training: _Training | None = None
    review: _Review | None = None


class LiveProgress:
    """What was told of the reviews and trainings under way."""

    def __init__(self) -> None:
        self.told: dict[tuple[str, str, int], Mapping[str, Any]] = {}
        """See `Live`."""

    def progress(self, message: Mapping[str, Any]) -> None:
        """Take in a message; see `Listener.progress`."""
        key = (message["phase"], message["candidate_id"], message.get("seed", 0))
        steps, fitness = message.get("env_steps"), message.get("fitness")
        if steps and fitness is not None and math.isfinite(fitness):
            before = self.told.get(key, {}).get("course", ())
            # A training that was begun anew reports its first steps again.
            course = [point for point in before if point[0] < steps][1 - _MOST_POINTS :]
            message = {**message, "course": (*course, (steps, fitness))}
        self.told[key] = message

    def event(self, event: Event) -> None:
        """Forget what an event has made past."""
        if event.kind in _AFRESH:
            self.told.clear()


class ProgressFile:
    """Tells other processes how far reviews and trainings are. A file that cannot be written is no fault of a run.

    Args:
        path: The file. It is appended to, so that a reader finds whole lines, and never grows beyond a limit.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def progress(self, message: Mapping[str, Any]) -> None:
        """Append a message; see `Listener.progress`."""
        what = "review" if message["phase"] == "review" else "training"
        try:
            data = _Line.model_validate({what: message}).model_dump_json(exclude_none=True).encode() + b"\n"
        except (ValueError, UsageError):  # a trainer from elsewhere may tell what it likes
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        with suppress(OSError), open(os.open(self._path, flags, 0o644), "ab", buffering=0) as file:
            if os.fstat(file.fileno()).st_size + len(data) > _MOST_BYTES:
                file.truncate(0)
            file.write(data)

    def event(self, event: Event) -> None:
        """Begin the file anew where other trainings begin."""
        if event.kind in _AFRESH:
            self.remove()

    def remove(self) -> None:
        """Remove the file: nothing is under way any more."""
        with suppress(OSError):
            self._path.unlink()


class ProgressReader:
    """Reads such a file as it grows; whoever wrote it, what is malformed in it is passed over.

    Args:
        path: The file; need not exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = b""

    def new(self) -> list[dict[str, Any]]:
        """The messages that were not read before, oldest first; see `Listener.progress`."""
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
        read = _Line.model_validate_json(line)
    except (ValueError, UsageError):
        return None
    told = read.training or read.review
    return told.model_dump() if told else None
