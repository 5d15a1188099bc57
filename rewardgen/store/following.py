"""Following a run that another process works on, by what it writes."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import Protocol

from rewardgen.store.events import Event, LogReader
from rewardgen.store.history import History
from rewardgen.store.journal import Listener
from rewardgen.store.progress import ProgressReader
from rewardgen.store.run_folder import RunFolder

_POLL_S = 0.5


class LateListener(Listener, Protocol):
    """A listener that may come to a run that is under way already."""

    def late(self, seconds: float) -> None:
        """The event that was told last had been so long ago."""


class Follower:
    """Tells a listener what a run's files say, as the run itself would.

    Args:
        folder: The run's.
        listener: Told of the last event there is, then of each that comes, and of all progress.
    """

    def __init__(self, folder: RunFolder, listener: LateListener) -> None:
        self.history = History()
        self._folder = folder
        self._listener = listener
        self._log = LogReader(folder.events)
        self._progress = ProgressReader(folder.progress)

    @property
    def position(self) -> int:
        """How much of the log it has read [bytes]."""
        return self._log.position

    def look(self) -> bool:
        """Take in what is new; whether the run goes on.

        Raises:
            RunFolderError: The run is damaged, or of another version.
        """
        goes_on = self._folder.is_locked()  # asked first: what was written before it was let go is then read
        events, first = self._log.new(), not self.history.run_id
        if first and events:
            self.history.take(events[:-1], self._folder)
            events = events[-1:]
        for event in events:
            self.history.take([event], self._folder)
            self._listener.event(event, self.history)
        if first and events and goes_on:
            self._listener.late(_age_s(events[-1]))
        for message in self._progress.new():
            self._listener.progress(message)
        return goes_on and self.history.summary is None


def _age_s(event: Event) -> float:
    """Time since an event was written; none by a clock that says otherwise [s]."""
    with suppress(ValueError, TypeError, OverflowError):
        return max(0.0, (datetime.now(UTC) - datetime.fromisoformat(event.at)).total_seconds())
    return 0.0


def follow(folder: RunFolder, listener: LateListener) -> History:
    """Follow a run until it ends, or nobody works on it.

    Args:
        folder: The run's.
        listener: Watches it.

    Raises:
        RunFolderError: The run is damaged, or of another version.
    """
    follower = Follower(folder, listener)
    while follower.look():
        time.sleep(_POLL_S)
    return follower.history
