"""Trying things in a forked child that is confined first, and looking at what came of it from outside."""

import contextlib
import ctypes
import json
import os
import platform
import select
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from rewardgen.sandbox import landlock, layers, privileges, seccomp
from rewardgen.sandbox.grants import worker_grants
from rewardgen.sandbox.syscalls import machine, number

SECRET = "sk-9f3c1d-not-for-you"
MACHINE = platform.machine()
_PATIENCE_S = 60


class Outcome(NamedTuple):
    """What a child told before its end, and how it ended."""

    answer: object
    """What the attempt returned; text that begins with `refused` if it raised; None if the child told nothing."""
    status: int
    session: int


def in_child(confine, attempt):
    """Confine a forked child, let it attempt something, and hear what it tells."""
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        # As in a worker, nothing is inherited: what other tests have left open would count against its limit.
        os.closerange(3, tell)
        os.closerange(tell + 1, os.sysconf("SC_OPEN_MAX"))
        _attempt(confine, attempt, tell)
    os.close(tell)
    with os.fdopen(told, "rb", 0):
        answer = _hear(told)
    return Outcome(answer, _end(pid), pid)


def _end(pid):
    """The exit status, of a kill if it does not end."""
    latest = time.monotonic() + _PATIENCE_S
    while time.monotonic() < latest:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _attempt(confine, attempt, tell):
    answer = "refused before it began"
    try:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(nowhere, stream)
        confine()
        answer = attempt()
    except BaseException as error:
        answer = f"refused: {type(error).__name__} {error}"
    finally:
        with contextlib.suppress(BaseException):
            os.write(tell, json.dumps(answer, default=repr).encode())
        os._exit(0)


def _hear(told):
    """All that the child says; a process that it left behind may hold the pipe too, so its first word is enough."""
    ready, _, _ = select.select([told], [], [], _PATIENCE_S)
    said = os.read(told, 1 << 20) if ready else b""
    return json.loads(said) if said else None


def call(number, *arguments):
    """A system call by its number on x86_64 and on aarch64, which are given as a pair if they differ."""
    known = number if isinstance(number, int) else number[MACHINE == "aarch64"]
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    wide = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    result = libc.syscall(ctypes.c_long(known), *wide)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def run_machine_code(code):
    """Run instructions that take no argument and return a number."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    page = libc.mmap(None, ctypes.c_size_t(4096), 7, 0x22, -1, ctypes.c_long(0))
    ctypes.memmove(page, code, len(code))
    return ctypes.CFUNCTYPE(ctypes.c_int)(page)()


# How a child is confined.


def without(world):
    """Not at all."""


def by_landlock(world):
    privileges.gain_none()
    landlock.restrict(worker_grants(world.scratch, (), (), False))


def by_seccomp(world):
    privileges.gain_none()
    seccomp.install(False)


def by_all(world):
    layers.apply(layers.Confinement(folder=world.scratch))


def forbid(calls, code):
    """As a container does that has no such layer to give: its calls fail with this error, for good."""
    refusals = []
    for name in calls:
        refusals += [(0x15, 0, 1, number(name, machine())), (0x06, 0, 0, seccomp.refuse(code))]
    program = [(0x20, 0, 0, 0), *refusals, (0x06, 0, 0, seccomp.ALLOW)]
    privileges.gain_none()
    seccomp.load([seccomp.Instruction(*each) for each in program])


LAYER_CALLS = {
    "landlock": ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"),
    "seccomp": ("seccomp",),
}
"""What a layer asks the kernel by; the first one is asked first."""


def layers_here():
    """What is in force in a confined process on this host, and what is not, in words."""
    with tempfile.TemporaryDirectory(prefix="rg-") as folder:
        told = in_child(lambda: None, lambda: layers.apply(layers.Confinement(folder=Path(folder))).in_words()).answer
    return str(told)


def landlock_abi():
    """Version of Landlock here, and why if there is none."""
    try:
        return landlock.abi(), ""
    except OSError as error:
        return 0, f"no Landlock on this host: {error.strerror}"


def no_seccomp():
    """Why there are no filters here; empty if there are."""
    try:
        seccomp.check_available()
    except OSError as error:
        return f"no seccomp filters on this host: {error.strerror}"
    return ""


# What is there to be attacked.


class World:
    """A folder of the worker's own, files and sockets outside of it, and another process."""

    def __init__(self, folder):
        self.scratch = folder / "scratch"
        self.outside = folder / "outside"
        for each in (self.scratch, self.outside, self.outside / "empty"):
            each.mkdir()
        self.kept = self.outside / "kept"
        self.kept.write_text("kept")
        self.kept.chmod(0o644)
        self.key = self.outside / "id_ed25519"
        self.key.write_text(SECRET)
        self.mine = self.scratch / "mine"
        self.mine.write_text("mine")
        self.mine.chmod(0o600)
        environment = {"API_KEY": SECRET, "PATH": os.environ.get("PATH", "")}
        self.victim = subprocess.Popen(["sleep", "3600"], env=environment, stdout=subprocess.DEVNULL)
        self.tcp = _listening(socket.AF_INET, ("127.0.0.1", 0))
        self.port = self.tcp.getsockname()[1]
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.udp.setblocking(False)
        self.local = _listening(socket.AF_UNIX, str(self.outside / "socket"))
        self.abstract_name = f"\0rewardgen-test-{os.getpid()}-{folder.name}"
        self.abstract = _listening(socket.AF_UNIX, self.abstract_name)

    def close(self):
        self.victim.kill()
        self.victim.wait()
        for each in (self.tcp, self.udp, self.local, self.abstract):
            each.close()

    def was_called(self, listening):
        """Whether somebody has connected."""
        try:
            listening.accept()[0].close()
        except BlockingIOError:
            return False
        return True

    def got_mail(self):
        try:
            return bool(self.udp.recv(100))
        except BlockingIOError:
            return False

    def victim_is_harmed(self):
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.victim.wait(0.2)
        return self.victim.returncode is not None


def _listening(family, address):
    made = socket.socket(family, socket.SOCK_STREAM)
    made.bind(address)
    made.listen(1)
    made.setblocking(False)
    return made


def left_behind(session):
    """Processes of a session that are still alive, which are then ended."""
    left = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, _, its_session = status.read_text().rsplit(")", 1)[1].split()[:4]
            if int(its_session) == session and state != "Z":
                left.append(int(status.parent.name))
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return left


def was_refused(answer):
    return isinstance(answer, str) and answer.startswith("refused")
