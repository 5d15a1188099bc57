"""A run while it goes on, on a terminal or in the output of a notebook's cell."""

from __future__ import annotations

import io
import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, ConsoleDimensions, ConsoleOptions, Group, RenderableType, RenderResult
from rich.control import Control
from rich.live import Live as LiveDisplay
from rich.text import Text

from rewardgen.analyzer.predictions import prediction_fault
from rewardgen.core.formatting import count
from rewardgen.llm.mailbox import open_requests
from rewardgen.store.events import Event
from rewardgen.ui.console import SafeConsole
from rewardgen.ui.tables import RowsTable, one_line
from rewardgen.view.progress import View, Watcher, near
from rewardgen.view.rows import Row

_REFRESH_HZ = 4
_WIDEST_BAR = 40
_CELL_PAUSE_S = 0.5
"""Least time between two drawings in a cell [s]."""
_CELL_COLUMNS = 110
_CELL_HTML = '<pre style="white-space:pre;line-height:1.3;font-family:monospace">{code}</pre>'


class Screen(Watcher):
    """Shows a run on a terminal. Use it as a context."""

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

    def __exit__(self, *_: object) -> None:
        self._note = ""
        self._display.stop()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """See `Listener.aside`."""
        self._display.stop()
        yield
        self._display = self._new_display()  # the old one would draw over the question
        self._display.start()

    def note(self, text: str) -> None:
        """Show a line below the rows until the next event."""
        self._note = text

    def _on_event(self, event: Event) -> None:
        self._note = ""
        if event.kind == "designed" and (fault := prediction_fault(event.data["candidate"]["prediction"])):
            self._note = f"{event.data['candidate']['id']}: prediction {fault}"
        self._on_progress()

    def _on_progress(self) -> None:
        self._shown, self._shown_at = self._view(), time.monotonic()

    def _render(self) -> RenderableType:
        mailbox = self._shown.mailbox
        waiting = open_requests(mailbox) if mailbox else 0
        size, self._size = self._size, self._console.size
        since_s = time.monotonic() - self._shown_at
        content = render(self._shown, since_s, self._note, waiting=waiting, size=self._size)
        # A resized terminal has wrapped its lines, so the old content cannot be erased line by line.
        return content if size == self._size else Group(Control.clear(), Control.home(), content)


def render(
    shown: View, since_s: float, note: str = "", *, waiting: int = 0, size: ConsoleDimensions | None = None
) -> RenderableType:
    """Content of the screen, some seconds after a view was made.

    `note` is a line for the user; `waiting` counts requests in the run's mailbox. On a terminal of a `size`, candidates
    without room are counted instead, and a stage without room gets its own line.
    """
    head = [*_head(shown, since_s, waiting, size), Text()] if shown.run_id else []
    # The cursor rests on an empty line: a terminal echoes `^C` there, which would wrap a full line.
    foot = [*([one_line(note, "dim")] if note else []), Text()]
    past, rows = list(shown.past), list(shown.rows)
    if size is not None:
        room = size.height - len(head) - len(foot) - bool(rows)
        most_past = max(0, room - len(rows) - bool(rows))
        past = past[max(0, len(past) - most_past) :]
        room -= len(past) + bool(past and rows)
        rows = rows if len(rows) <= room else _most_telling(rows, max(1, room - 1))
    parts: list[RenderableType] = [*head, *(one_line(line, "dim") for line in past)]
    if rows:
        parts += [Text()] * bool(past) + [RowsTable(rows, shown.best_fitness)]
    hidden = len(shown.rows) - len(rows)
    return Group(*parts, *([one_line(f"  and {hidden} more", "dim")] if hidden else []), *foot)


def _head(shown: View, since_s: float, waiting: int, size: ConsoleDimensions | None) -> Iterator[RenderableType]:
    title = Text.assemble((shown.task, "bold"), " · ", shown.stage)
    if size is None or title.cell_len <= size.width:
        yield one_line(title)
    else:
        yield from (one_line(Text(shown.task, "bold")), one_line(shown.stage))
    yield _Bar(shown.done, shown.times(since_s, waiting))
    if shown.mailbox:
        waits = f"{count(waiting, 'request')} {'waits' if waiting == 1 else 'wait'}" if waiting else "no request waits"
        yield one_line(f"{waits} in {near(shown.mailbox)}/", "bold yellow" if waiting else "dim")
    else:
        yield one_line(" · ".join(part for part in (shown.model, shown.usage) if part), "dim")
    if shown.warning:
        yield one_line(shown.warning, "yellow")


def _most_telling(rows: list[Row], most: int) -> list[Row]:
    """The first rows in their order, without rejected and failed candidates if room is short."""
    order = [row.has_ended_badly - row.best - (row.operator == "baseline") for row in rows]
    kept = sorted(sorted(range(len(rows)), key=order.__getitem__)[:most])
    return [rows[number] for number in kept]


class _Bar:
    """A progress bar of a quarter of the width, so that the text beside it does not move it."""

    def __init__(self, share: float, beside: str) -> None:
        self._share = share
        self._beside = beside

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = min(_WIDEST_BAR, options.max_width // 4)
        full = math.floor(self._share * width)
        percentage = f" {math.floor(100 * self._share):3d} %  "
        yield one_line(Text.assemble(("━" * full, "green"), ("─" * (width - full), "dim"), percentage, self._beside))


class Notebook(Watcher):
    """Shows a run in the output of a cell."""

    def __init__(self) -> None:
        super().__init__()
        self._display: Any = None
        self._drawn_at = 0.0
        self._note = ""

    def note(self, text: str) -> None:
        """Show a line below the rows until the next event."""
        self._note = text
        self._draw()

    def _on_event(self, event: Event) -> None:
        self._note = ""
        self._draw()

    def _on_progress(self) -> None:
        if time.monotonic() - self._drawn_at >= _CELL_PAUSE_S:
            self._draw()

    def _draw(self) -> None:
        from IPython.core.display import HTML
        from IPython.core.display_functions import display

        self._drawn_at = time.monotonic()
        console = SafeConsole(
            record=True, force_jupyter=False, width=_CELL_COLUMNS, file=io.StringIO(), markup=False, highlight=False
        )
        console.print(render(self._view(), 0.0, self._note))
        page = HTML(console.export_html(inline_styles=True, code_format=_CELL_HTML))
        if self._display is None:
            self._display = display(page, display_id=True)
        else:
            self._display.update(page)


def in_notebook() -> bool:
    """True if this process is the kernel of a notebook."""
    if "IPython" not in sys.modules:  # which a kernel has imported, and which takes long
        return False
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    return shell is not None and shell.__class__.__name__ == "ZMQInteractiveShell"
