"""Journal of a run: records each finished step as an event and passes it to a listener."""

from __future__ import annotations

import threading
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from rewardgen.store.events import Event, EventKind, EventLog
from rewardgen.store.history import History


class Listener(Protocol):
    """Watches a run, for a screen or plain lines."""

    def event(self, event: Event, history: History) -> None:
        """Handle a recorded event, which the history already includes."""

    def progress(self, message: dict[str, Any]) -> None:
        """Handle progress between events.

        Either an evaluation during training: candidate_id, seed, phase, env_steps, fitness, success_rate, stopped. Or a
        step of a review: candidate_id, phase (`review`) and the gate that begins.
        """

    def note(self, text: str) -> None:
        """Show a line that is not an event."""

    def aside(self) -> AbstractContextManager[None]:
        """Leave the terminal to a question."""
        return nullcontext()


class SilentListener(Listener):
    """A listener that shows nothing."""


class Journal:
    """Appends to the event log, updates the history and tells the listener. Safe to use from several threads."""

    def __init__(self, log: EventLog, history: History, listener: Listener) -> None:
        self.history = history
        self.listener = listener
        self._log = log
        self._lock = threading.Lock()
        self._started = time.monotonic() - history.elapsed_s

    @property
    def elapsed_s(self) -> float:
        """Working time over all sessions of the run [s]."""
        return time.monotonic() - self._started

    def record(self, kind: EventKind, **data: Any) -> None:
        """Record an event.

        Raises:
            RunFolderError: The event could not be written.
        """
        with self._lock:
            event = self._log.append(kind, round(self.elapsed_s, 1), data)
            self.history.apply(event)
            self.listener.event(event, self.history)
