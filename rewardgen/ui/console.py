"""The two consoles: results on stdout, messages on stderr.

Text is never read as markup, and what others wrote gives the terminal no commands. A reader that goes away, as `head`
does, ends nothing: what is printed after that is lost, and files tell the rest. Results that cannot be written for
another reason are an error; messages cannot, for nobody could be told.
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
    """See above."""

    def print_data(self, text: str) -> None:
        """Print a text for programs: neither wrapped nor styled.

        Args:
            text: Without a line end.
        """
        with self._written():
            self.file.write(visible(text) + "\n")
            self.file.flush()

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """See `Console.render`."""
        for each in super().render(renderable, options):
            yield each if each.control else each._replace(text=visible(each.text))

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
            with suppress(OSError):  # what Python still has to write would fail as well
                os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())
            if not (self.stderr or isinstance(error, BrokenPipeError)):
                raise UsageError(
                    f"cannot write what was asked for: {error.strerror}", "free some space, or let it go elsewhere"
                ) from error


def results() -> SafeConsole:
    """Where a command's results go."""
    return SafeConsole(markup=False, highlight=False, emoji=False)


def messages() -> SafeConsole:
    """Where progress, notes and next steps go."""
    return SafeConsole(stderr=True, markup=False, highlight=False, emoji=False)


def training_line(message: Mapping[str, Any]) -> None:
    """Tell of an evaluation of a training, in a line."""
    seed, steps, fitness = (message[each] for each in ("seed", "env_steps", "fitness"))
    messages().print(f"seed {seed}: fitness {number(fitness)} after {tokens(steps)} control steps")
