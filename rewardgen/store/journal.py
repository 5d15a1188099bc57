"""The journal: records each finished step of a run as an event, and tells a listener."""

from __future__ import annotations

import threading
import time
from typing import Any, Protocol

from rewardgen.store.events import Event, EventKind, EventLog
from rewardgen.store.history import History


class Listener(Protocol):
    """Watches a run, for a screen or plain lines."""

    def event(self, event: Event, history: History) -> None:
        """An event was recorded; the history already includes it."""

    def progress(self, message: dict[str, Any]) -> None:
        """An evaluation during training: candidate_id, seed, phase, env_steps, fitness, success_rate, stopped.

        Or a step of a review: candidate_id, phase (which is `review`) and the gate that is begun.
        """

    def note(self, text: str) -> None:
        """A line for the user that is not an event."""


class SilentListener:
    """A `Listener` that says nothing."""

    def event(self, event: Event, history: History) -> None:
        """Not of interest."""

    def progress(self, message: dict[str, Any]) -> None:
        """Not of interest."""

    def note(self, text: str) -> None:
        """Not of interest."""


class Journal:
    """Appends to the event log and keeps the history in step with it. Safe to use from several threads.

    Args:
        log: The run's event log.
        history: What is known so far; updated in place.
        listener: Told of every event.
    """

    def __init__(self, log: EventLog, history: History, listener: Listener) -> None:
        self.history = history
        self.listener = listener
        self._log = log
        self._lock = threading.Lock()
        self._started = time.monotonic() - history.elapsed_s

    @property
    def elapsed_s(self) -> float:
        """Seconds at work, over all sessions of the run."""
        return time.monotonic() - self._started

    def record(self, kind: EventKind, **data: Any) -> None:
        """Record an event on disk, then in the history.

        Raises:
            RunFolderError: It could not be written.
        """
        with self._lock:
            event = self._log.append(kind, round(self.elapsed_s, 1), data)
            self.history.apply(event)
            self.listener.event(event, self.history)
