"""The live screen of a run on a terminal. It watches; it does nothing to the run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live as LiveDisplay
from rich.text import Text

from rewardgen.core.readable import duration, roughly
from rewardgen.store.events import Event
from rewardgen.ui.tables import rows_text
from rewardgen.ui.view import View, Watcher

_REFRESH_HZ = 4


class Screen(Watcher):
    """Shows a run while it goes on. Use it as a context; it is a `Listener`.

    Args:
        console: Where to draw.
    """

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._shown = View()
        self._shown_at = self._at
        self._note = ""
        self._console = console
        self._display = self._new_display()

    def _new_display(self) -> LiveDisplay:
        return LiveDisplay(
            console=self._console, get_renderable=self._render, refresh_per_second=_REFRESH_HZ, vertical_overflow="crop"
        )

    def __enter__(self) -> Screen:
        self._display.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._note = ""
        self._display.stop()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """See `Watcher.aside`."""
        self._display.stop()
        yield
        self._display = self._new_display()  # the old one would draw over what was said meanwhile
        self._display.start()

    def note(self, text: str) -> None:
        """Show a line below the rows until the next event."""
        self._note = text

    def _on_event(self, event: Event) -> None:
        self._note = ""
        self._on_progress()

    def _on_progress(self) -> None:
        self._shown, self._shown_at = self._view(), time.monotonic()

    def _render(self) -> RenderableType:
        return render(self._shown, time.monotonic() - self._shown_at, self._note)


def render(shown: View, since_s: float, note: str = "") -> RenderableType:
    """The screen's content.

    Args:
        shown: The run.
        since_s: Time that has gone by since the view was made [s].
        note: A line for the user.
    """
    parts: list[RenderableType] = []
    if shown.run_id:
        times = duration(shown.elapsed_s + since_s)
        if shown.remaining_s is not None:
            times += f", {roughly(max(0.0, shown.remaining_s - since_s))} left"
        parts.append(Text.assemble((shown.task, "bold"), " · ", shown.model, " · ", shown.stage))
        parts += [Text(shown.warning, "yellow", no_wrap=True, overflow="ellipsis")] if shown.warning else []
        parts += [Text(f"{times} · {shown.usage}" if shown.usage else times), Text()]
    past = (*((shown.bar,) if shown.bar else ()), *shown.past)
    parts += [Text(line, style="dim", no_wrap=True, overflow="ellipsis") for line in past]
    if shown.rows:
        parts += [Text()] * bool(shown.past) + [rows_text(shown.rows)]
    if note:
        parts.append(Text(note, style="dim", no_wrap=True, overflow="ellipsis"))
    # The cursor rests on a line of its own: a terminal echoes `^C` there, which would wrap a full line and shift all.
    return Group(*parts, Text())
