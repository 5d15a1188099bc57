"""Privileges that a worker gives up: gaining new ones, root's own, and being looked into by other processes. Linux."""

from __future__ import annotations

import ctypes
import signal
import struct

from rewardgen.sandbox.syscalls import call

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38

_CAPABILITIES_VERSION = 0x20080522
_WORDS = 2
"""Of 32 capabilities each: effective, permitted and inheritable ones."""
_OPENING = 1 << 1 | 1 << 2
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: root's way to folders of other users, such as one that it works in."""


def gain_none() -> None:
    """Nothing that this process executes from now on gives it more rights than it has."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def end_with_parent() -> None:
    """This process is killed when the thread that started it ends."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def hide_memory() -> None:
    """Other processes of the same user can neither read this one's memory and environment nor attach to it."""
    _prctl(_PR_SET_DUMPABLE, 0)


def drop_capabilities() -> bool:
    """Give up all that root may do, but for opening files.

    Returns:
        Whether there was something to give up.

    Raises:
        OSError: The kernel refuses.
    """
    header = struct.pack("=Ii", _CAPABILITIES_VERSION, 0)
    held = ctypes.create_string_buffer(4 * 3 * _WORDS)
    call("capget", header, held)
    had = struct.unpack(f"={3 * _WORDS}I", held.raw)
    effective, permitted = had[0] & _OPENING, had[1] & _OPENING
    kept = (effective, permitted, 0, 0, 0, 0)
    call("capset", header, struct.pack(f"={3 * _WORDS}I", *kept))
    return had != kept


def _prctl(option: int, value: int) -> None:
    call("prctl", option, ctypes.c_ulong(value), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))
