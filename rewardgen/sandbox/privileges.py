"""Privileges that a worker gives up on Linux: gaining new ones, root's own, and readable memory."""

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
"""Words of 32 capabilities in each of three sets: effective, permitted, inheritable."""
_OPENING = 1 << 1 | 1 << 2
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: access of root to folders of other users, such as the working folder."""


def gain_none() -> None:
    """Deny this process further rights from programs that it executes."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def end_with_parent(by: signal.Signals = signal.SIGKILL) -> None:
    """Have this process sent a signal when the thread that started it ends."""
    _prctl(_PR_SET_PDEATHSIG, by)


def hide_memory() -> None:
    """Close the memory and environment of this process to other processes of the same user."""
    _prctl(_PR_SET_DUMPABLE, 0)


def drop_capabilities() -> bool:
    """Give up all of root's capabilities except opening files; return True if there were any."""
    header = struct.pack("=Ii", _CAPABILITIES_VERSION, 0)
    held = ctypes.create_string_buffer(4 * 3 * _WORDS)
    call("capget", header, held)
    before = struct.unpack(f"={3 * _WORDS}I", held.raw)
    after = (before[0] & _OPENING, before[1] & _OPENING, 0, 0, 0, 0)
    call("capset", header, struct.pack(f"={3 * _WORDS}I", *after))
    return before != after


def _prctl(option: int, value: int) -> None:
    call("prctl", option, ctypes.c_ulong(value), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))
