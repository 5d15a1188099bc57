"""The two consoles: results on stdout, messages on stderr.

Text is never read as markup, and what others wrote gives the terminal no commands. A reader that goes away, as `head`
does, ends nothing: what is printed after that is lost, and files tell the rest.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from rewardgen.core.text import visible


class _SafeConsole(Console):
    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for each in super().render(renderable, options):
            yield each if each.control else each._replace(text=visible(each.text))

    def _check_buffer(self) -> None:
        try:
            super()._check_buffer()
        except OSError:  # a pipe that nobody reads, a terminal that was closed, a log on a full disk
            self.quiet = True
            del self._buffer[:]
            with suppress(OSError):  # what Python still has to write would fail as well
                os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def results() -> Console:
    """Where a command's results go."""
    return _SafeConsole(markup=False, highlight=False, emoji=False)


def messages() -> Console:
    """Where progress, notes and next steps go."""
    return _SafeConsole(stderr=True, markup=False, highlight=False, emoji=False)
