"""A run in a notebook: the live screen's content, drawn again in the cell's output."""

from __future__ import annotations

import io
import time
from typing import Any

from rewardgen.store.events import Event
from rewardgen.ui.console import SafeConsole
from rewardgen.ui.screen import render
from rewardgen.view.progress import Watcher

_PAUSE_S = 0.5
"""Least time between two drawings [s]."""
_COLUMNS = 110
_PAGE = '<pre style="white-space:pre;line-height:1.3;font-family:monospace">{code}</pre>'


class Notebook(Watcher):
    """Shows a run in the output of a cell. It is a `Listener`."""

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
        if time.monotonic() - self._drawn_at >= _PAUSE_S:
            self._draw()

    def _draw(self) -> None:
        from IPython.core.display import HTML
        from IPython.core.display_functions import display

        self._drawn_at = time.monotonic()
        console = SafeConsole(
            record=True, force_jupyter=False, width=_COLUMNS, file=io.StringIO(), markup=False, highlight=False
        )
        console.print(render(self._view(), 0.0, self._note))
        page = HTML(console.export_html(inline_styles=True, code_format=_PAGE))
        if self._display is None:
            self._display = display(page, display_id=True)
        else:
            self._display.update(page)


def in_notebook() -> bool:
    """True if this process is the kernel of a notebook."""
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return False
    shell = get_ipython()
    return shell is not None and shell.__class__.__name__ == "ZMQInteractiveShell"
