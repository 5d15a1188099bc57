"""A seccomp filter: the list of system calls that this process may still make. Linux, without root.

See seccomp(2). The filter judges numbers and plain arguments; it cannot follow pointers, so names of files are left to
`landlock`. A call on no list fails with EPERM. Calls of another kind than the machine's own (32-bit, x32), whose
numbers mean something else, end the process.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rewardgen.sandbox.syscalls import call, machine, number

ALLOW = 0x7FFF0000
KILL = 0x80000000


def refuse(code: int) -> int:
    """Return the answer that fails a call with an `errno`."""
    return 0x00050000 | code


class Where(NamedTuple):
    """A condition on an argument of a call, by its index: `argument & mask == value`."""

    argument: int
    value: int
    mask: int = 0xFFFFFFFF


class Case(NamedTuple):
    """An answer when all conditions hold."""

    answer: int
    conditions: tuple[Where, ...] = ()


def _words(text: str) -> list[str]:
    return text.split()


_WORKER = _words("""
    read write readv writev pread64 pwrite64 lseek close close_range dup dup2 dup3 flock fsync fdatasync ftruncate
    fallocate fadvise64 stat fstat lstat newfstatat statx statfs fstatfs access faccessat faccessat2 readlink readlinkat
    getdents getdents64 getcwd chdir rename renameat renameat2 unlink unlinkat rmdir
    munmap mprotect mremap madvise msync brk membarrier get_mempolicy
    exit exit_group futex set_robust_list get_robust_list set_tid_address rseq gettid sched_yield sched_getaffinity
    sched_getparam sched_getscheduler getcpu arch_prctl rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack
    restart_syscall clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times
    getitimer setitimer select pselect6 poll ppoll
    getpid getppid getuid geteuid getgid getegid getpgrp getpgid getsid getpriority getrlimit
    getrusage sysinfo uname getrandom
""")

_DRIVER = _words("""
    memfd_create pipe pipe2 eventfd2 epoll_create1 epoll_ctl epoll_wait epoll_pwait set_mempolicy mbind
    sched_setaffinity
""")
"""Further calls of a GPU's driver. No limit counts the memory of memfd_create and pipes."""

_NULL = 0
_WHOLE = 0xFFFFFFFF_FFFFFFFF

_CLONE_THREAD = 0x00010000
_CLONE_NEW = 0x7E020000
"""All kinds of namespaces."""
_MAP_SHARED, _MAP_ANONYMOUS, _MAP_GROWSDOWN, _MAP_HUGETLB = 0x01, 0x20, 0x0100, 0x40000
_PRCTL = {"PR_SET_NAME": 15, "PR_GET_NAME": 16, "PR_SET_VMA": 0x53564D41}
_FCNTL = {
    "F_DUPFD": 0,
    "F_GETFD": 1,
    "F_SETFD": 2,
    "F_GETFL": 3,
    "F_SETFL": 4,
    "F_GETLK": 5,
    "F_SETLK": 6,
    "F_SETLKW": 7,
    "F_DUPFD_CLOEXEC": 1030,
}
_SEALS = {"F_ADD_SEALS": 1033, "F_GET_SEALS": 1034}
_IOCTL = {
    "TCGETS": 0x5401,
    "TIOCGWINSZ": 0x5413,
    "FIONREAD": 0x541B,
    "FIONBIO": 0x5421,
    "FIONCLEX": 0x5450,
    "FIOCLEX": 0x5451,
}
_IOCTL_TYPING = {"TIOCSTI": 0x5412, "TIOCLINUX": 0x541C}
"""Requests that type into a terminal."""


def rules(gpu: bool, pid: int) -> dict[str, tuple[Case, ...]]:
    """Return the cases of each allowed call; the first whose conditions hold answers.

    With `gpu`, the calls of a GPU's driver are allowed as well; `pid` is this process.
    """
    plain = [*_WORKER, *_DRIVER] if gpu else _WORKER
    return {
        **{name: (Case(ALLOW),) for name in plain},
        **{name: _opening(flags) for name, flags in (("open", 1), ("openat", 2))},
        # A folder that nobody may look into could not be measured or removed.
        **{name: (Case(ALLOW, (Where(mode, 0o700, 0o700),)),) for name, mode in (("mkdir", 1), ("mkdirat", 2))},
        "mmap": _mapping(gpu),
        # Threads, never processes. The flags of clone3 are behind a pointer; the C library falls back to clone.
        "clone": (Case(ALLOW, (Where(0, _CLONE_THREAD, _CLONE_THREAD | _CLONE_NEW),)),),
        "clone3": (Case(refuse(errno.ENOSYS)),),
        # Enough to abort: a worker must not pretend that something outside killed it.
        "kill": (Case(ALLOW, (Where(0, pid), Where(1, signal.SIGABRT))),),
        "tgkill": (Case(ALLOW, (Where(0, pid), Where(2, signal.SIGABRT))),),
        # Its own limits, to read them.
        "prlimit64": (Case(ALLOW, (Where(0, 0), Where(2, _NULL, _WHOLE))),),
        "prctl": _one_of(0, _PRCTL.values()),
        "fcntl": _one_of(1, [*_FCNTL.values(), *(_SEALS.values() if gpu else ())]),
        "ioctl": _none_of(1, _IOCTL_TYPING.values()) if gpu else _one_of(1, _IOCTL.values()),
        **(_daemons() if gpu else {}),
    }


def _opening(flags: int) -> tuple[Case, ...]:
    """Refuse to empty a file opened for reading, which Landlock does not see before ABI 3."""
    emptied = Where(flags, os.O_TRUNC, os.O_TRUNC | os.O_ACCMODE)
    return Case(refuse(errno.EPERM), (emptied,)), Case(ALLOW)


def _mapping(gpu: bool) -> tuple[Case, ...]:
    """Refuse memory that RLIMIT_DATA does not count: shared, growing by itself, or of huge pages."""
    uncounted = [_MAP_GROWSDOWN, _MAP_HUGETLB] + ([] if gpu else [_MAP_SHARED | _MAP_ANONYMOUS])
    return *(Case(refuse(errno.ENOMEM), (Where(3, bits, bits),)) for bits in uncounted), Case(ALLOW)


def _daemons() -> dict[str, tuple[Case, ...]]:
    """Let a driver ask for its daemons by local sockets, without any answer; it does not start otherwise."""
    return {
        "socket": (Case(ALLOW, (Where(0, 1),)), Case(refuse(errno.EAFNOSUPPORT))),
        "connect": (Case(refuse(errno.ECONNREFUSED)),),
        **{name: (Case(ALLOW),) for name in ("bind", "listen", "setsockopt")},
        **{name: (Case(refuse(errno.EAGAIN)),) for name in ("accept", "accept4")},
    }


def _one_of(argument: int, values: Iterable[int]) -> tuple[Case, ...]:
    return tuple(Case(ALLOW, (Where(argument, value),)) for value in values)


def _none_of(argument: int, values: Iterable[int]) -> tuple[Case, ...]:
    return *(Case(refuse(errno.EPERM), (Where(argument, value),)) for value in values), Case(ALLOW)


# The assembler.

_LOAD, _EQUAL, _AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
"""Offsets of the judged values."""
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000


class Instruction(NamedTuple):
    """One instruction; the jumps are numbers of instructions to skip."""

    code: int
    if_true: int
    if_false: int
    value: int


def assemble(gpu: bool, pid: int, on: str) -> list[Instruction]:
    """Return the filter's program for a machine; arguments as in `rules`. Raises `OSError` if unsupported."""
    if on not in _ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"no filter for {on}")
    program = [
        Instruction(_LOAD, 0, 0, _ARCHITECTURE),
        Instruction(_EQUAL, 1, 0, _ARCHITECTURES[on]),
        _answer(KILL),
        Instruction(_LOAD, 0, 0, _NUMBER),
    ]
    if on == "x86_64":
        program += [Instruction(_AT_LEAST, 0, 1, _X32), _answer(KILL)]
    for name, cases in rules(gpu, pid).items():
        if (code := number(name, on)) is not None:
            body = _body(cases)
            program += [Instruction(_EQUAL, 0, len(body), code), *body]
    return [*program, _answer(refuse(errno.EPERM))]


def _body(cases: Sequence[Case]) -> list[Instruction]:
    """Return the instructions for one call, ending with an answer."""
    body = [instruction for case in cases for instruction in _case(case)]
    return body if not cases[-1].conditions else [*body, _answer(refuse(errno.EPERM))]


def _case(case: Case) -> list[Instruction]:
    """Return the instructions of one case, built from its end: a failed condition skips the rest."""
    code = [_answer(case.answer)]
    for where in case.conditions:
        # Conditions on 32 bits ignore the upper half, as the kernel does with an int.
        for half in range(2 if where.mask >> 32 else 1):
            value, mask = (word >> 32 * half & 0xFFFFFFFF for word in (where.value, where.mask))
            place = _ARGUMENTS + 8 * where.argument + 4 * half
            test = [Instruction(_LOAD, 0, 0, place), Instruction(_AND, 0, 0, mask)]
            code = [*test, Instruction(_EQUAL, 0, len(code), value), *code]
    return code


def _answer(answer: int) -> Instruction:
    return Instruction(_RETURN, 0, 0, answer)


# Handing it to the kernel.

_SET_MODE_FILTER, _GET_ACTION_AVAIL = 1, 2
_ALL_THREADS, _NO_SLOWDOWN = 1, 4


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def check_available() -> None:
    """Raise `OSError` if the kernel takes no filters, or this machine is unsupported."""
    assemble(False, 1, machine())
    call("seccomp", _GET_ACTION_AVAIL, 0, ctypes.byref(ctypes.c_uint32(KILL)))


def install(gpu: bool) -> int:
    """Put the filter on all threads of this process for good, after `privileges.gain_none`; return its length.

    Raises:
        OSError: Filters cannot be used here.
    """
    program = assemble(gpu, os.getpid(), machine())
    load(program)
    return len(program)


def load(program: Sequence[Instruction]) -> None:
    """Put a program on all threads of this process for good; raises `OSError` where filters cannot be used."""
    packed = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    filter_program = _Program(len(program), packed)
    # A positive result names a thread that could not be reached.
    if call("seccomp", _SET_MODE_FILTER, _ALL_THREADS | _NO_SLOWDOWN, ctypes.byref(filter_program)) != 0:
        raise OSError(errno.EBUSY, "a thread of this process cannot be confined")
