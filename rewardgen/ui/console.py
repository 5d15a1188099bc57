"""The two consoles: results on stdout, messages on stderr.

Text is never read as markup, and text from others cannot command the terminal. A reader that leaves, as `head` does,
ends nothing. Results that cannot be written for another reason are an error.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from rewardgen.core.errors import UsageError
from rewardgen.core.formatting import number, tokens
from rewardgen.core.text import visible


class SafeConsole(Console):
    """A console for text of any origin and readers that may leave."""

    def print_data(self, text: str) -> None:
        """Print a text for programs, neither wrapped nor styled."""
        with self._written():
            self.file.write(visible(text) + "\n")
            self.file.flush()

    def print(self, *objects: Any, **options: Any) -> None:
        """See `Console.print`; only a terminal has an edge to cut lines at."""
        super().print(*objects, **{"crop": self.is_terminal, **options})

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """See `Console.render`."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))

    def on_broken_pipe(self) -> None:
        """See `Console.on_broken_pipe`."""
        raise BrokenPipeError

    def _check_buffer(self) -> None:
        with self._written():
            super()._check_buffer()

    @contextmanager
    def _written(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.quiet = True
            del self._buffer[:]
            with suppress(OSError):  # output that Python still holds would fail as well
                os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())
            if not (self.stderr or isinstance(error, BrokenPipeError)):
                raise UsageError(f"cannot write the output: {error.strerror}", "free some space") from error


def results() -> SafeConsole:
    """The console for a command's results."""
    return SafeConsole(markup=False, highlight=False, emoji=False)


def messages() -> SafeConsole:
    """The console for progress, notes and next steps."""
    return SafeConsole(stderr=True, markup=False, highlight=False, emoji=False)


def training_line(message: Mapping[str, Any]) -> None:
    """Print an evaluation of a training, whose fitness is None in a task without one."""
    seed, steps, fitness = (message[name] for name in ("seed", "env_steps", "fitness"))
    measured = "" if fitness is None else f"fitness {number(fitness)} after "
    messages().print(f"seed {seed}: {measured}{tokens(steps)} control steps")
