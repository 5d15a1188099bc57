"""System calls that workers need or that confine them: their numbers on each supported machine.

The filter of `seccomp` refuses every call that is not in this table.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import platform
import sys

_MACHINES = ("x86_64", "aarch64")
_TABLE = """
# Files that are open
read 0 63 | write 1 64 | readv 19 65 | writev 20 66 | pread64 17 67 | pwrite64 18 68 | lseek 8 62 | close 3 57
close_range 436 436 | dup 32 23 | dup2 33 - | dup3 292 24 | fcntl 72 25 | flock 73 32 | fsync 74 82
fdatasync 75 83 | ftruncate 77 46 | fallocate 285 47 | fadvise64 221 223
# Files by name
open 2 - | openat 257 56 | stat 4 - | fstat 5 80 | lstat 6 - | newfstatat 262 79 | statx 332 291 | statfs 137 43
fstatfs 138 44 | access 21 - | faccessat 269 48 | faccessat2 439 439 | readlink 89 - | readlinkat 267 78
getdents 78 - | getdents64 217 61 | getcwd 79 17 | chdir 80 49 | mkdir 83 - | mkdirat 258 34 | rename 82 -
renameat 264 38 | renameat2 316 276 | unlink 87 - | unlinkat 263 35 | rmdir 84 -
# Memory
mmap 9 222 | munmap 11 215 | mprotect 10 226 | mremap 25 216 | madvise 28 233 | msync 26 227 | brk 12 214
membarrier 324 283 | get_mempolicy 239 236 | set_mempolicy 238 237 | mbind 237 235
# Threads and the process itself
clone 56 220 | clone3 435 435 | exit 60 93 | exit_group 231 94 | futex 202 98 | set_robust_list 273 99
get_robust_list 274 100 | set_tid_address 218 96 | rseq 334 293 | gettid 186 178 | sched_yield 24 124
sched_getaffinity 204 123 | sched_setaffinity 203 122 | sched_getparam 143 121 | sched_getscheduler 145 120
getcpu 309 168 | arch_prctl 158 - | prctl 157 167
# Signals
rt_sigaction 13 134 | rt_sigprocmask 14 135 | rt_sigreturn 15 139 | sigaltstack 131 132 | kill 62 129
tgkill 234 131 | restart_syscall 219 128
# Clocks and waiting
clock_gettime 228 113 | clock_getres 229 114 | clock_nanosleep 230 115 | nanosleep 35 101 | gettimeofday 96 169
getitimer 36 102 | setitimer 38 103 | time 201 - | times 100 153 | select 23 - | pselect6 270 72 | poll 7 -
ppoll 271 73
# Questions
getpid 39 172 | getppid 110 173 | getuid 102 174 | geteuid 107 175 | getgid 104 176 | getegid 108 177
getpgrp 111 - | getpgid 121 155 | getsid 124 156 | getpriority 140 141 | getrlimit 97 163 | prlimit64 302 261
getrusage 98 165 | sysinfo 99 179 | uname 63 160 | getrandom 318 278
# Devices, and what only their drivers need
ioctl 16 29 | memfd_create 319 279 | pipe 22 - | pipe2 293 59 | eventfd2 290 19 | epoll_create1 291 20
epoll_ctl 233 21 | epoll_wait 232 - | epoll_pwait 281 22 | socket 41 198 | connect 42 203 | bind 49 200
listen 50 201 | accept 43 202 | accept4 288 242 | setsockopt 54 208
# Confinement itself
capget 125 90 | capset 126 91 | seccomp 317 277 | landlock_create_ruleset 444 444 | landlock_add_rule 445 445
landlock_restrict_self 446 446
"""
"""Name, number on x86_64 and number on aarch64 of each call; `-` where it does not exist."""

NUMBERS: dict[str, dict[str, int]] = {
    name: {on: int(number) for on, number in zip(_MACHINES, numbers, strict=True) if number != "-"}
    for line in _TABLE.splitlines()
    if line and not line.startswith("#")
    for name, *numbers in (entry.split() for entry in line.split(" | "))
}


def machine() -> str:
    """Return the name of this machine; `_MACHINES` are supported."""
    name = platform.machine()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name.lower(), name)


def number(name: str, on: str) -> int | None:
    """Return the number of a system call on a machine; None if missing or unsupported."""
    return NUMBERS[name].get(on)


def call(name: str, *arguments: object) -> int:
    """Make a system call of this machine and return its result.

    Raises:
        OSError: The call fails, or this machine lacks it.
    """
    code = number(name, machine())
    if sys.platform != "linux" or code is None:
        raise OSError(errno.ENOSYS, f"there is no {name} on {sys.platform} {machine()}")
    result = _libc().syscall(ctypes.c_long(code), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")
    return result


@functools.cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc
