"""Landlock: restrict the file rights of this process for good. Linux 5.13 and later, without root.

See landlock(7). Denied unless granted: reading, writing, making, removing, executing, device control, TCP, and from
ABI 6 signals and abstract sockets of processes outside. Left to `seccomp`: other sockets, modes, owners and times of
files. Covered by neither: `stat` of any path.
"""

from __future__ import annotations

import ctypes
import enum
import os
import stat
import struct
from collections.abc import Iterable
from typing import NamedTuple

from rewardgen.sandbox.syscalls import call


class Right(enum.IntFlag):
    """Rights on a file, or on everything below a folder, in the kernel's order."""

    EXECUTE = enum.auto()
    WRITE_FILE = enum.auto()
    READ_FILE = enum.auto()
    READ_DIR = enum.auto()
    REMOVE_DIR = enum.auto()
    REMOVE_FILE = enum.auto()
    MAKE_CHAR = enum.auto()
    MAKE_DIR = enum.auto()
    MAKE_REG = enum.auto()
    MAKE_SOCK = enum.auto()
    MAKE_FIFO = enum.auto()
    MAKE_BLOCK = enum.auto()
    MAKE_SYM = enum.auto()
    REFER = enum.auto()
    TRUNCATE = enum.auto()
    IOCTL_DEV = enum.auto()


_LAST_RIGHT = {1: Right.MAKE_SYM, 2: Right.REFER, 3: Right.TRUNCATE, 4: Right.TRUNCATE, 5: Right.IOCTL_DEV}
"""Last right of each ABI; later ABIs add none that are denied here."""
_OF_FILES = Right.EXECUTE | Right.WRITE_FILE | Right.READ_FILE | Right.TRUNCATE | Right.IOCTL_DEV

READ = Right.READ_FILE | Right.READ_DIR
OWN = (
    READ | Right.WRITE_FILE | Right.TRUNCATE | Right.MAKE_REG | Right.MAKE_DIR | Right.REMOVE_FILE | Right.REMOVE_DIR
) | Right.REFER
"""All rights on plain files and folders; no links, sockets, pipes or devices, which would point outside."""
DEVICE = Right.READ_FILE | Right.WRITE_FILE | Right.IOCTL_DEV

_TCP = 0b11
"""Bind and connect."""
_SCOPES = 0b11
"""Abstract sockets and signals."""
_RULE_PATH_BENEATH = 1
_CREATE_VERSION = 1


class Grant(NamedTuple):
    """Rights on a file, or on a folder and everything below it."""

    path: str
    rights: Right


def abi() -> int:
    """Return the version of the kernel's Landlock, 1 or more; raises `OSError` where missing or forbidden."""
    return call("landlock_create_ruleset", None, ctypes.c_size_t(0), _CREATE_VERSION)


def restrict(grants: Iterable[Grant]) -> int:
    """Give up all other rights for good, after `privileges.gain_none`; return the ABI in use.

    A missing path grants nothing.

    Raises:
        OSError: Landlock cannot be used here.
        RuntimeError: The process has several threads, and the others would keep their rights.
    """
    version = abi()
    if (threads := len(os.listdir("/proc/self/task"))) != 1:
        raise RuntimeError(f"Landlock confines one thread, and this process has {threads}")
    ruleset = _ruleset(version)
    try:
        for grant in grants:
            _add(ruleset, grant, _handled(version))
        call("landlock_restrict_self", ruleset, 0)
    finally:
        os.close(ruleset)
    return version


def covers(version: int) -> str:
    """Name the objects that an ABI of Landlock confines."""
    since = ((1, "files"), (4, "TCP"), (5, "devices"), (6, "signals and abstract sockets"))
    return ", ".join(kind for first, kind in since if version >= first)


def _handled(version: int) -> Right:
    last = _LAST_RIGHT.get(version, Right.IOCTL_DEV)
    return Right((last << 1) - 1)


def _ruleset(version: int) -> int:
    fields = [int(_handled(version)), _TCP, _SCOPES]
    supported = 3 if version >= 6 else 2 if version >= 4 else 1
    attributes = struct.pack(f"={supported}Q", *fields[:supported])
    return call("landlock_create_ruleset", attributes, ctypes.c_size_t(len(attributes)), 0)


def _add(ruleset: int, grant: Grant, handled: Right) -> None:
    try:
        opened = os.open(grant.path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rights = grant.rights & handled
        if not stat.S_ISDIR(os.fstat(opened).st_mode):
            rights &= _OF_FILES
        if rights:
            call("landlock_add_rule", ruleset, _RULE_PATH_BENEATH, struct.pack("=Qi", rights, opened), 0)
    finally:
        os.close(opened)
