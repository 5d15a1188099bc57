"""The live screen of a run on a terminal. It watches; it does nothing to the run."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live as LiveDisplay
from rich.text import Text

from rewardgen.store.events import Event
from rewardgen.store.history import History, Phase
from rewardgen.ui.format import duration, roughly
from rewardgen.ui.lines import rows_text
from rewardgen.ui.view import View, view

_REFRESH_HZ = 4


class Screen:
    """Shows a run while it goes on. Use it as a context; it is a `Listener`.

    Args:
        console: Where to draw.
    """

    def __init__(self, console: Console) -> None:
        self._history = History()
        self._live: dict[tuple[Phase, str, int], dict[str, Any]] = {}
        self._view = View()
        self._at = time.monotonic()
        self._viewed_at = self._at
        self._note = ""
        self._lock = threading.Lock()
        self._display = LiveDisplay(
            console=console, get_renderable=self._render, refresh_per_second=_REFRESH_HZ, vertical_overflow="crop"
        )

    def __enter__(self) -> Screen:
        self._display.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._note = ""
        self._display.stop()

    def event(self, event: Event, history: History) -> None:
        """Take in an event."""
        with self._lock:
            self._history, self._note = history, ""
            self._at = self._viewed_at = time.monotonic()
            self._view = view(history, self._live)

    def progress(self, message: dict[str, Any]) -> None:
        """Take in an evaluation during training."""
        with self._lock:
            self._live[message["phase"], message["candidate_id"], message["seed"]] = message
            self._viewed_at = time.monotonic()
            self._view = view(self._history, self._live, self._viewed_at - self._at)

    def note(self, text: str) -> None:
        """Show a line below the rows until the next event."""
        self._note = text

    def _render(self) -> RenderableType:
        return render(self._view, time.monotonic() - self._viewed_at, self._note)


def render(shown: View, since_s: float, note: str = "") -> RenderableType:
    """The screen's content.

    Args:
        shown: The run.
        since_s: Time that has gone by since the view was made [s].
        note: A line for the user.
    """
    parts: list[RenderableType] = []
    if shown.run_id:
        parts += [_title(shown), _times(shown, since_s), Text()]
    parts += [Text(line, style="dim", no_wrap=True, overflow="ellipsis") for line in shown.past]
    if shown.rows:
        parts += [Text()] * bool(shown.past) + [rows_text(shown.rows)]
    if note:
        parts.append(Text(note, style="dim", no_wrap=True, overflow="ellipsis"))
    # The cursor rests on a line of its own: a terminal echoes `^C` there, which would wrap a full line and shift all.
    return Group(*parts, Text())


def _title(shown: View) -> Text:
    return Text.assemble((shown.task, "bold"), " · ", shown.model, " · ", shown.stage)


def _times(shown: View, since_s: float) -> Text:
    time_text = duration(shown.elapsed_s + since_s)
    if shown.remaining_s is not None:
        time_text += f", {roughly(max(0.0, shown.remaining_s - since_s))} left"
    parts = [time_text]
    parts += [shown.usage] if shown.usage else []
    return Text(" · ".join(parts))
