"""Choose the display of a run: notebook, live screen or plain lines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rewardgen.store.journal import Listener, SilentListener
from rewardgen.ui.console import messages
from rewardgen.ui.plain import Plain
from rewardgen.ui.screen import Notebook, Screen, in_notebook


@contextmanager
def watching(progress: bool) -> Iterator[Listener]:
    """Yield a listener that shows a run in a notebook cell, on a terminal, or as plain lines.

    Args:
        progress: False to show nothing.
    """
    console = messages()
    if not progress:
        yield SilentListener()
    elif in_notebook():
        yield Notebook()
    elif console.is_terminal and not console.is_dumb_terminal:
        with Screen(console) as screen:
            yield screen
    else:
        yield Plain(console)
