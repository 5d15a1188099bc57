"""Limits of a worker process on resources and processor time, and its end with its parent."""

from __future__ import annotations

import math
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import Field

from rewardgen.core.config import SandboxMode
from rewardgen.core.schema import Frozen
from rewardgen.sandbox.privileges import end_with_parent

GPU_FILES = 256
"""Fewest descriptors of a worker with a GPU, whose driver opens each device several times."""
_GRACE_S = 1
"""CPU time between the signal that CPU time is used up and the kill [s]."""


class Limits(Frozen):
    """Limits of one worker process."""

    wall_s: float = Field(default=7200.0, gt=0)
    """Wall-clock time from start to answer [s]."""
    memory_bytes: int = Field(default=8 << 30, gt=0)
    """Resident memory of the worker and its children, and private memory of each."""
    file_bytes: int = Field(default=128 << 20, gt=0)
    """Size of any file that it writes."""
    open_files: int = Field(default=64, gt=0)
    """Descriptors. They also bound deleted files that are still open."""
    folder_bytes: int = Field(default=1 << 30, gt=0)
    """Size of its own folder."""
    folder_entries: int = Field(default=10_000, gt=0)
    """Files and folders in its own folder."""
    cpu_s: float | None = Field(default=None, gt=0)
    """CPU time of all its threads [s], enforced by the kernel; twice the wall-clock time if None."""
    threads: int = Field(default=128, gt=0)
    """Threads of the worker and its children."""
    answer_bytes: int = Field(default=64 << 20, gt=0)
    """Size of everything that it sends back."""
    sandbox: SandboxMode = "auto"
    """`strict` fails without every layer of the sandbox, `auto` uses those available, `off` none."""

    def cpu_seconds(self) -> int:
        """CPU time in whole seconds, as the kernel counts it."""
        return math.ceil(2.0 * self.wall_s if self.cpu_s is None else self.cpu_s)


def confine(limits: Limits) -> None:
    """Limit core dumps, files, memory and time of this process for good, and close its files to other users."""
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_FSIZE, limits.file_bytes)
    _lower(resource.RLIMIT_NOFILE, limits.open_files)
    _lower(resource.RLIMIT_CPU, limits.cpu_seconds(), limits.cpu_seconds() + _GRACE_S)
    if sys.platform == "linux":
        _lower(resource.RLIMIT_DATA, limits.memory_bytes)
    os.umask(0o077)


def die_with(parent: int) -> None:
    """Make this process end with its parent, whose id before the fork is given, even by `kill -9`."""
    if sys.platform == "linux":
        end_with_parent()
    else:
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    if os.getppid() != parent:
        os._exit(1)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _lower(which: int, value: int, hard: int | None = None) -> None:
    """Lower a soft limit, and the hard limit to `hard` or the same value; never raise one."""
    _, most = resource.getrlimit(which)
    lowest = math.inf if most == resource.RLIM_INFINITY else most
    hard = value if hard is None else hard
    resource.setrlimit(which, (int(min(value, lowest)), int(min(hard, lowest))))


class OutOfTimeError(BaseException):
    """The time is up. Not an `Exception`, so no handler takes it for an error of the reward."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `OutOfTimeError` after some processor time of this process [s]; a long single call returns first."""

    def interrupt(*_: object) -> None:
        raise OutOfTimeError

    before = signal.signal(signal.SIGPROF, interrupt)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
