"""Interrupting Python code in a worker after a time."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class OutOfTimeError(BaseException):
    """Not an `Exception`, so that nothing on the way takes it for the reward's own."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Interrupt Python code after a time; a single long call, as into torch, is interrupted when it returns.

    Args:
        seconds: The time [s].

    Raises:
        OutOfTimeError: The time is up.
    """

    def interrupt(*_: object) -> None:
        raise OutOfTimeError

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
