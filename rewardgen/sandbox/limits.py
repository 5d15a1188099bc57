"""What a worker process may use, and the one place where it gives up its rights.

This covers memory, files, privileges and the parent's death. It does not yet confine system calls or the file system:
that belongs in `confine`, which the worker calls before any generated code is compiled.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import threading
import time

from pydantic import Field

from rewardgen.schema import Frozen

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38


class Limits(Frozen):
    """Limits of one worker process."""

    wall_s: float = Field(default=7200.0, gt=0)
    """Wall-clock time from start to answer [s]."""
    memory_bytes: int = Field(default=8 << 30, gt=0)
    """Resident memory of the worker and its children, and private memory of each."""
    file_bytes: int = Field(default=1 << 30, gt=0)
    """Size of any file that it writes."""
    open_files: int = Field(default=256, gt=0)
    answer_bytes: int = Field(default=64 << 20, gt=0)
    """Size of everything that it sends back."""


def confine(limits: Limits) -> None:
    """Give up, for good, what a job does not need: core dumps, large files, memory, new privileges.

    Args:
        limits: What remains.
    """
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_FSIZE, limits.file_bytes)
    _lower(resource.RLIMIT_NOFILE, limits.open_files)
    if sys.platform == "linux":
        _lower(resource.RLIMIT_DATA, limits.memory_bytes)
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def die_with(parent: int) -> None:
    """Make this process end when its parent does, even by `kill -9`.

    Args:
        parent: Process id of the parent, as the parent knew it; another one now means that it is already gone.
    """
    if sys.platform == "linux":
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    else:
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    if os.getppid() != parent:
        os._exit(1)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _lower(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (allowed, allowed))


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}): {os.strerror(number)}")
