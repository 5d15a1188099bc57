"""The live screen of a run on a terminal. It watches; it does nothing to the run."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.control import Control
from rich.live import Live as LiveDisplay
from rich.text import Text

from rewardgen.core.formatting import count, duration, roughly
from rewardgen.llm.mailbox import open_requests
from rewardgen.store.events import Event
from rewardgen.ui.tables import RowsTable
from rewardgen.view.progress_view import View, Watcher, near
from rewardgen.view.rows import Row

_REFRESH_HZ = 4
_WIDEST_BAR = 40


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
        self._size = console.size
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
        mailbox = self._shown.mailbox
        waiting = open_requests(mailbox) if mailbox else 0
        size, self._size = self._size, self._console.size
        since_s = time.monotonic() - self._shown_at
        content = render(self._shown, since_s, self._note, waiting=waiting, height=self._size.height)
        # A terminal of another size has wrapped what it showed, so nobody knows where that begins.
        return content if size == self._size else Group(Control.clear(), Control.home(), content)


def render(
    shown: View, since_s: float, note: str = "", *, waiting: int = 0, height: int | None = None
) -> RenderableType:
    """The screen's content.

    Args:
        shown: The run.
        since_s: Time that has gone by since the view was made [s].
        note: A line for the user.
        waiting: Requests that wait in the run's mailbox.
        height: Lines that there are room for; what is left out then is counted.
    """
    head = [*_head(shown, since_s, waiting), Text()] if shown.run_id else []
    # The cursor rests on a line of its own: a terminal echoes `^C` there, which would wrap a full line and shift all.
    foot = [*([_one_line(note, "dim")] if note else []), Text()]
    past, rows, hidden = list(shown.past), list(shown.rows), 0
    if height is not None:
        room = height - len(head) - len(foot) - bool(rows)
        most_past = max(0, room - len(rows) - bool(rows))
        past = past[max(0, len(past) - most_past) :]
        room -= len(past) + bool(past and rows)
        if len(rows) > room:
            rows = _most_telling(rows, max(1, room - 1))
            hidden = len(shown.rows) - len(rows)
    parts: list[RenderableType] = [*head, *(_one_line(line, "dim") for line in past)]
    if rows:
        parts += [Text()] * bool(past) + [RowsTable(rows)]
    parts += [_one_line(f"  and {hidden} more", "dim")] if hidden else []
    return Group(*parts, *foot)


def _head(shown: View, since_s: float, waiting: int) -> Iterator[RenderableType]:
    yield _cut(Text.assemble((shown.task, "bold"), " · ", shown.stage))
    yield _Bar(*progress_of(shown, since_s, waiting))
    if shown.mailbox:
        waits = f"{count(waiting, 'request')} {'waits' if waiting == 1 else 'wait'}" if waiting else "no request waits"
        yield _one_line(f"{waits} in {near(shown.mailbox)}/", "bold yellow" if waiting else "dim")
    else:
        yield _one_line(" · ".join(each for each in (shown.model, shown.usage) if each), "dim")
    if shown.warning:
        yield _one_line(shown.warning, "yellow")


def progress_of(shown: View, since_s: float, waiting: int = 0) -> tuple[float, str]:
    """The share of a run that is done, and its times in words.

    Args:
        shown: The run.
        since_s: Time that has gone by since the view was made [s].
        waiting: Requests that wait in the run's mailbox.
    """
    remaining_s, times = shown.remaining_s, duration(shown.elapsed_s + since_s)
    if remaining_s is None:
        return shown.done, times
    if shown.mailbox:
        return shown.done, f"{times}, {'then ' if waiting else ''}{roughly(remaining_s)} of training"
    # Between two evaluations the bar goes on as the time does.
    share = min(1.0, since_s / remaining_s) if remaining_s else 0.0
    return shown.done + (1.0 - shown.done) * share, f"{times}, {roughly(max(0.0, remaining_s - since_s))} left"


def _most_telling(rows: list[Row], most: int) -> list[Row]:
    """As many rows as there is room for, in their order: those that will never have a fitness make room first."""
    order = [row.has_ended_badly - row.best - (row.operator == "baseline") for row in rows]
    kept = sorted(sorted(range(len(rows)), key=order.__getitem__)[:most])
    return [rows[number] for number in kept]


def _one_line(text: str, style: str = "") -> Text:
    return _cut(Text(text, style))


def _cut(text: Text) -> Text:
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


class _Bar:
    """A progress bar of a quarter of the width, so that what is said beside it does not move it."""

    def __init__(self, share: float, beside: str) -> None:
        self._share = share
        self._beside = beside

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = min(_WIDEST_BAR, options.max_width // 4)
        full = math.floor(self._share * width)
        percentage = f"{math.floor(100 * self._share):3d} %"
        yield _cut(
            Text.assemble(("━" * full, "green"), ("─" * (width - full), "dim"), f" {percentage}  ", self._beside)
        )
