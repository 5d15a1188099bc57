"""What hostile code tries once it can run any Python, with ctypes: each attempt, and how its effect is seen."""

import _thread
import ctypes
import fcntl
import mmap
import os
import socket
import stat
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pytest

from tests.sandbox.confined import MACHINE, SECRET, World, call, left_behind, run_machine_code, was_refused

LANDLOCK, SECCOMP = "landlock", "seccomp"


class Attack(NamedTuple):
    """One thing that must not succeed."""

    attempt: Callable[[World], Any]
    succeeded: Callable[[World, Any, int], Any]
    """Looks from outside: at the world, what the child told, and its session."""
    stopped_by: str
    """Which layers stop it alone."""
    landlock_abi: int = 1
    """Since which version Landlock does."""


def _read(path):
    with open(path, "rb") as file:
        return file.read(1 << 16).decode("latin-1")


def _write(path, flags=os.O_WRONLY):
    opened = os.open(path, flags, 0o644)
    os.write(opened, b"changed")
    os.close(opened)


def _link_then_read(link, world):
    link(world.key, world.scratch / "link")
    return _read(world.scratch / "link")


def _connect(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as made:
        made.connect(address)
        made.send(b"here I am")
    return "sent"


def _bind(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as made:
        made.bind(address)
        made.listen(1)
    return "bound"


def _fork(world):
    if os.fork() == 0:
        time.sleep(30)
        os._exit(0)
    return "forked"


_VFORK = bytes.fromhex("b83a000000 0f05 85c0 7401 c3 b83c000000 31ff 0f05")
"""vfork; the parent returns its result, the child exits."""


def _exec(world, execute):
    execute("/bin/sh", ["sh", "-c", f"echo > {world.scratch}/ran"])


def _exec_from_memory(world):
    script = os.memfd_create("script", 0)
    os.write(script, f"#!/bin/sh\necho > {world.scratch}/ran\n".encode())
    os.execv(f"/proc/self/fd/{script}", ["script"])


def _signal_by_pipe(world):
    """Have the kernel send SIGIO, which ends a process that does not expect it."""
    read, write = os.pipe()
    fcntl.fcntl(read, fcntl.F_SETOWN, world.victim.pid)
    fcntl.fcntl(read, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    os.write(write, b"x")


def _signal_by_pidfd(world):
    call(424, call(434, world.victim.pid, 0), 9, None, 0)


def _peek(world):
    """Read the other process's memory; where is of no matter."""
    address = int(_read(f"/proc/{world.victim.pid}/maps").split("-")[0], 16)
    return _vm_read(world.victim.pid, address)


def _vm_read(pid, address):
    buffer = ctypes.create_string_buffer(8)
    local, remote = struct.pack("=QQ", ctypes.addressof(buffer), 8), struct.pack("=QQ", address, 8)
    return call((310, 270), pid, local, 1, remote, 1, 0)


def _peek_by_file(world):
    address = int(_read(f"/proc/{world.victim.pid}/maps").split("-")[0], 16)
    with open(f"/proc/{world.victim.pid}/mem", "rb") as memory:
        memory.seek(address)
        return memory.read(8).hex()


def _map(flags, size=1 << 28):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    place = libc.mmap(None, ctypes.c_size_t(size), 3, flags | 0x20, -1, ctypes.c_long(0))
    if place == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap")
    return "mapped"


def _share(world):
    return "mapped" if mmap.mmap(-1, 1 << 20) else ""


def _mount(world):
    call((165, 40), b"none", str(world.scratch).encode(), b"tmpfs", 0, None)
    call((166, 39), str(world.scratch).encode(), 2)
    return "mounted"


def _new_map(world):
    return call((321, 280), 0, struct.pack("=IIII", 2, 4, 4, 1) + bytes(112), 128)


def _ring(world):
    return call(425, 4, ctypes.create_string_buffer(120))


def _die_later(world):
    """Take back that it dies with its parent."""
    call((157, 167), 1, 0, 0, 0, 0)
    return "taken back"


def _open_up(world):
    call((157, 167), 4, 1, 0, 0, 0)
    return "opened"


def _slow_down(world):
    os.sched_setscheduler(world.victim.pid, os.SCHED_IDLE, os.sched_param(0))


def _limit(world):
    call((302, 261), world.victim.pid, 7, struct.pack("=QQ", 11, 11), None)


def _limits_of(pid):
    with open(f"/proc/{pid}/limits") as limits:
        return next(line for line in limits if line.startswith("Max open files")).split()[3]


def _told(word):
    return lambda world, answer, session: answer == word


def _leaked(world, answer, session):
    return SECRET in str(answer)


def _told_something(world, answer, session):
    return answer is not None and not was_refused(answer)


def _harmed(world, answer, session):
    return world.victim_is_harmed()


def _ran(world, answer, session):
    time.sleep(0.1)
    left_behind(session)
    return (world.scratch / "ran").exists()


def _is_there(name):
    return lambda world, answer, session: os.path.lexists(world.outside / name)


def _is_gone(name):
    return lambda world, answer, session: not (world.outside / name).exists()


def _changed(world, answer, session):
    return world.kept.read_text() != "kept"


def _mode_changed(path):
    return lambda world, answer, session: stat.S_IMODE(path(world).stat().st_mode) == 0o777


BOTH = f"{LANDLOCK} {SECCOMP}"

FILES = {
    "make a file outside": Attack(
        lambda w: _write(w.outside / "new", os.O_CREAT | os.O_WRONLY), _is_there("new"), LANDLOCK
    ),
    "change a file outside": Attack(lambda w: _write(w.kept), _changed, LANDLOCK),
    "truncate by name": Attack(lambda w: os.truncate(w.kept, 0), _changed, BOTH, 3),
    "truncate by opening to read": Attack(lambda w: os.open(w.kept, os.O_RDONLY | os.O_TRUNC), _changed, BOTH),
    "delete a file outside": Attack(lambda w: os.unlink(w.kept), _is_gone("kept"), LANDLOCK),
    "move a file out": Attack(lambda w: os.rename(w.mine, w.outside / "new"), _is_there("new"), LANDLOCK),
    "link a file out": Attack(lambda w: os.link(w.mine, w.outside / "new"), _is_there("new"), BOTH),
    "link a secret in": Attack(lambda w: _link_then_read(os.link, w), _leaked, BOTH),
    "read a secret by a symbolic link": Attack(lambda w: _link_then_read(os.symlink, w), _leaked, BOTH),
    "read a secret": Attack(lambda w: _read(w.key), _leaked, LANDLOCK),
    "read a secret through /proc/self/root": Attack(lambda w: _read(f"/proc/self/root{w.key}"), _leaked, LANDLOCK),
    "read another process's environment": Attack(lambda w: _read(f"/proc/{w.victim.pid}/environ"), _leaked, LANDLOCK),
    "make a pipe with a name": Attack(lambda w: os.mkfifo(w.outside / "new"), _is_there("new"), BOTH),
    "open a file to others": Attack(lambda w: os.chmod(w.kept, 0o777), _mode_changed(lambda w: w.kept), SECCOMP),
    "give a file away": Attack(
        lambda w: os.chown(w.mine, 12345, -1), lambda w, a, s: w.mine.stat().st_uid == 12345, SECCOMP
    ),
    "open a file by handle": Attack(lambda w: _by_handle(w.key), _leaked, SECCOMP),
}

NETWORK = {
    "connect by TCP": Attack(
        lambda w: _connect(socket.AF_INET, ("127.0.0.1", w.port)), lambda w, a, s: w.was_called(w.tcp), BOTH, 4
    ),
    "listen by TCP": Attack(lambda w: _bind(socket.AF_INET, ("127.0.0.1", 0)), _told("bound"), BOTH, 4),
    "send by UDP": Attack(
        lambda w: _connect(socket.AF_INET, w.udp.getsockname(), socket.SOCK_DGRAM),
        lambda w, a, s: w.got_mail(),
        SECCOMP,
    ),
    "connect to a local socket": Attack(
        lambda w: _connect(socket.AF_UNIX, str(w.outside / "socket")), lambda w, a, s: w.was_called(w.local), SECCOMP
    ),
    "connect to an abstract socket": Attack(
        lambda w: _connect(socket.AF_UNIX, w.abstract_name), lambda w, a, s: w.was_called(w.abstract), BOTH, 6
    ),
}

PROCESSES = {
    "fork": Attack(_fork, lambda w, a, s: left_behind(s), SECCOMP),
    "clone without a flag": Attack(
        lambda w: call((56, 220), 17, 0, 0, 0, 0) or time.sleep(30), lambda w, a, s: left_behind(s), SECCOMP
    ),
    "start a program": Attack(
        lambda w: subprocess.Popen(["sleep", "30"], stdout=subprocess.DEVNULL).pid, lambda w, a, s: left_behind(s), BOTH
    ),
    "become another program": Attack(lambda w: _exec(w, os.execv), _ran, BOTH),
    "become a program made in memory": Attack(_exec_from_memory, _ran, BOTH),
    "kill": Attack(lambda w: os.kill(w.victim.pid, 9), _harmed, BOTH, 6),
    "kill by descriptor": Attack(_signal_by_pidfd, _harmed, BOTH, 6),
    "kill by a pipe's owner": Attack(_signal_by_pipe, _harmed, BOTH, 6),
    "trace": Attack(lambda w: call((101, 117), 0x4206, w.victim.pid, 0, 0), _told_something, BOTH),
    "read memory": Attack(_peek, _told_something, BOTH),
    "read memory as a file": Attack(_peek_by_file, _told_something, LANDLOCK),
    "slow another process down": Attack(
        _slow_down, lambda w, a, s: os.sched_getscheduler(w.victim.pid) == os.SCHED_IDLE, SECCOMP
    ),
    "limit another process": Attack(_limit, lambda w, a, s: _limits_of(w.victim.pid) == "11", SECCOMP),
    "outlive its parent": Attack(_die_later, _told("taken back"), SECCOMP),
    "open its memory to others": Attack(_open_up, _told("opened"), SECCOMP),
}

KERNEL = {
    "io_uring": Attack(_ring, _told_something, SECCOMP),
    "new user namespace": Attack(lambda w: call((272, 97), 0x10000000), _told_something, SECCOMP),
    "join a namespace": Attack(
        lambda w: call((308, 268), os.open("/proc/self/ns/uts", 0), 0), _told_something, SECCOMP
    ),
    "another user": Attack(lambda w: os.setuid(12345) or "done", _told("done"), SECCOMP),
    "mount": Attack(_mount, _told("mounted"), BOTH),
    "keyrings": Attack(lambda w: call((248, 217), b"user", b"rewardgen", b"x", 1, -2), _told_something, SECCOMP),
    "bpf": Attack(_new_map, _told_something, SECCOMP),
    "raise its own limits": Attack(
        lambda w: call((302, 261), 0, 1, struct.pack("=QQ", 1 << 40, 1 << 40), None), _told_something, SECCOMP
    ),
    "files in memory": Attack(lambda w: os.memfd_create("x", 0), _told_something, SECCOMP),
    "shared memory, not counted": Attack(_share, _told("mapped"), SECCOMP),
    "stack memory, not counted": Attack(lambda w: _map(0x102), _told("mapped"), SECCOMP),
    "write to the terminal": Attack(lambda w: code_for_terminal(), _told("ENOTTY"), SECCOMP),
}

_X86_ONLY = {"vfork": Attack(lambda w: run_machine_code(_VFORK) > 0, _told(True), SECCOMP)}

ATTACKS = {**FILES, **NETWORK, **PROCESSES, **KERNEL, **(_X86_ONLY if MACHINE == "x86_64" else {})}
SAMPLE = (
    *("change a file outside", "truncate by name", "link a secret in", "read a secret", "open a file by handle"),
    *("connect by TCP", "send by UDP", "connect to an abstract socket", "fork", "start a program", "kill"),
    *("read memory", "limit another process", "outlive its parent", "io_uring", "shared memory, not counted"),
)
"""One of each way and effect, which the plain test command tries; the others carry the marker `matrix`."""


def sampled(names: Iterable[str]) -> pytest.MarkDecorator:
    """Parametrise a test with attacks: a sample in the plain test command, all of them with `-m matrix`."""
    params = [pytest.param(name, marks=[] if name in SAMPLE else pytest.mark.matrix) for name in names]
    return pytest.mark.parametrize("name", params)


def _by_handle(path):
    handle = ctypes.create_string_buffer(struct.pack("=Ii", 128, 0), 136)
    call((303, 264), -100, bytes(path), handle, ctypes.byref(ctypes.c_int()), 0)
    return _read(call((304, 265), os.open("/", os.O_RDONLY), handle, 0))


def code_for_terminal():
    """Whether the terminal's driver is asked at all: it says ENOTTY for what is no terminal."""
    try:
        fcntl.ioctl(os.open("/dev/null", os.O_RDONLY), 0x5412, b"x")
    except OSError as error:
        return {25: "ENOTTY", 1: "EPERM"}.get(error.errno or 0, str(error.errno))
    return "typed"


def start_threads(count):
    """How many of these threads could be started at once.

    `Thread.start` would wait for ever for a thread that found no memory for its first call, and with all memory in use
    the number could not be told: so these threads are started without waiting, and some memory is kept back.
    """
    kept = bytearray(32 << 20)
    enough = threading.Lock()
    enough.acquire()
    started = 0
    try:
        for _ in range(count):
            _thread.start_new_thread(enough.acquire, (True, 60))
            started += 1
    except (RuntimeError, MemoryError):
        pass
    del kept
    return started
