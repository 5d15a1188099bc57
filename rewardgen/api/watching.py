"""Who shows how a run from Python goes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rewardgen.store.journal import Listener, SilentListener
from rewardgen.ui.console import messages
from rewardgen.ui.notebook import Notebook, in_notebook
from rewardgen.ui.plain import Plain
from rewardgen.ui.screen import Screen


@contextmanager
def watching(progress: bool) -> Iterator[Listener]:
    """Whoever shows how a run goes: in the cell of a notebook, on a terminal, or in plain lines.

    Args:
        progress: Whether anybody does.
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
