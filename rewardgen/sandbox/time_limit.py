"""Interruption of Python code after some processor time."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class OutOfTimeError(BaseException):
    """The time is up. No `Exception`, so that nothing on the way takes it for the reward's own."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `OutOfTimeError` after some processor time of this process [s], or when a single long call returns."""

    def interrupt(*_: object) -> None:
        raise OutOfTimeError

    before = signal.signal(signal.SIGPROF, interrupt)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
