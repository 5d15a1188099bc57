"""Interrupting Python code in a worker after so much processor time."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class OutOfTimeError(BaseException):
    """Not an `Exception`, so that nothing on the way takes it for the reward's own."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Interrupt Python code after a time; a single long call, as into torch, is interrupted when it returns.

    Time in which a busy machine ran something else does not count: what a text is told must not depend on that.

    Args:
        seconds: Processor time of this process [s].

    Raises:
        OutOfTimeError: The time is up.
    """

    def interrupt(*_: object) -> None:
        raise OutOfTimeError

    before = signal.signal(signal.SIGPROF, interrupt)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
