"""Experiment trackers follow a run: each is a listener, from an extra.

To add one, register its maker: `TRACKERS.register("aim", AimTracker)`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Protocol

from rewardgen.core.errors import UsageError
from rewardgen.core.registry import Registry
from rewardgen.store.events import Event
from rewardgen.store.history import History
from rewardgen.store.journal import Listener


class Tracker(Protocol):
    """Sends the numbers of a run somewhere."""

    def event(self, event: Event, history: History) -> None:
        """See `Listener.event`."""
        ...

    def close(self) -> None:
        """Write what is buffered."""
        ...


TRACKERS: Registry[Callable[[Path], Tracker]] = Registry("tracker")
"""Makers of trackers from the folder of the runs, called before a run begins; raise a `UsageError` if a package is
missing."""


@contextmanager
def tracked(listener: Listener, names: Sequence[str], runs_dir: Path) -> Iterator[Listener]:
    """Pass a run's events on to trackers as well.

    Raises:
        UsageError: `names` is no list, or a tracker is unknown or lacks its package.
    """
    if isinstance(names, str):
        raise UsageError(f"`track` is the text `{names}`", f'give a list: `track=["{names}"]`')
    tracking = _Tracked(listener, {name: TRACKERS.get(name)(runs_dir) for name in names})
    try:
        yield tracking
    finally:
        tracking.close()


class _Tracked:
    """Passes everything on. A tracker that fails is dropped with one note, and the run goes on."""

    def __init__(self, listener: Listener, trackers: dict[str, Tracker]) -> None:
        self._listener, self._trackers = listener, trackers
        self.progress, self.note, self.aside = listener.progress, listener.note, listener.aside

    def event(self, event: Event, history: History) -> None:
        self._listener.event(event, history)
        self._all(lambda tracker: tracker.event(event, history))

    def close(self) -> None:
        self._all(lambda tracker: tracker.close())

    def _all(self, call: Callable[[Tracker], None]) -> None:
        for name, tracker in [*self._trackers.items()]:
            try:
                with redirect_stdout(sys.stderr):  # standard output is for data
                    call(tracker)
            except (Exception, SystemExit) as error:  # another package, and maybe a server
                del self._trackers[name]
                self.note(f"{name}: stopped tracking: {type(error).__name__}: {error}")
