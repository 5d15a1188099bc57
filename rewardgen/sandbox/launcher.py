"""The orchestrator's end of the fork server: one server per process, started at its first job and again if it died."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from rewardgen.core.errors import MachineError
from rewardgen.core.interpreter import python_command
from rewardgen.sandbox import jobs, landlock, privileges
from rewardgen.sandbox.answers import clean
from rewardgen.sandbox.environment import worker_environment
from rewardgen.sandbox.forkserver import WORD

_LOOK_S = 0.1
_START_S = 300.0
"""Longest start of the server with all its imports [s]; a few seconds except on a very slow disk."""
_STOP_S = 2.0
_TAIL_LINES = 6


class Exit(NamedTuple):
    """End of a worker.

    Attributes:
        status: Exit status; negative for the signal that killed it.
        cpu_s: CPU time of all its threads [s]; 0 if that was lost with the server.
        lost: True if the server died, which takes all workers down.
    """

    status: int
    cpu_s: float
    lost: bool = False


class Child:
    """A worker process, with the id of its group and session, and the socket on which the server reports its end."""

    def __init__(self, pid: int, leash: socket.socket) -> None:
        self.pid = pid
        self._leash = leash
        self._exit: Exit | None = None

    def end(self) -> Exit:
        """Kill the whole group and wait for its end. A process that is already ending keeps its own status."""
        if self._exit is None:
            # Not only closed: a fork of this process may hold a copy.
            with contextlib.suppress(OSError):
                self._leash.shutdown(socket.SHUT_WR)
            self._leash.settimeout(None)
            word = _hear(self._leash)
            self._leash.close()
            # Without its server it was killed by the system.
            self._exit = Exit(*word) if word else Exit(-signal.SIGKILL, 0.0, lost=True)
        return self._exit


class _Server:
    def __init__(self) -> None:
        _close_memory()
        self._control, theirs = socket.socketpair()
        self._using = threading.Lock()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115
        self._words: str | None = None
        with theirs:
            self._process = subprocess.Popen(
                python_command("-m", "rewardgen.sandbox.forkserver", str(theirs.fileno()), *jobs.modules()),
                stdin=subprocess.DEVNULL,
                stdout=self._said,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
                cwd="/",
                # It owns no folder: a library that wants to keep something at home is refused.
                env=worker_environment(Path(os.devnull)),
                start_new_session=True,
            )

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def fork(self, descriptors: tuple[int, int, int], check: Callable[[], None]) -> Child | None:
        """Fork a worker; None if the server died first."""
        leash, theirs = socket.socketpair()
        with contextlib.ExitStack() as unless_born:
            unless_born.enter_context(leash)
            with theirs:
                self._ask([theirs.fileno(), *descriptors])
            word = _hear_patiently(leash, check)
            if word is None:
                return None
            if word[0] < 0:
                problem = os.strerror(-word[0])
                raise MachineError(f"cannot start a worker: {problem}", "end other programs, then try again")
            unless_born.pop_all()
        return Child(word[0], leash)

    def _ask(self, descriptors: list[int]) -> None:
        """Ask for a worker; a dead server does not answer."""
        with self._using, contextlib.suppress(BrokenPipeError, ConnectionResetError):
            if self._words is None:
                socket.send_fds(self._control, [b"\0"], descriptors)

    def last_words(self) -> str:
        """End the server; its exit status and the end of its output."""
        with self._using:
            if self._words is None:
                self._stop()
                end = os.fstat(self._said.fileno()).st_size
                tail = os.pread(self._said.fileno(), 4096, max(0, end - 4096))
                self._words = exit_in_words(self._process.returncode) + last_lines(tail)
                self._said.close()
            return self._words

    def _stop(self) -> None:
        self._control.close()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def let_go(self) -> None:
        """Close the descriptors that a fork of this process inherited."""
        self._control.close()
        self._said.close()


def _close_memory() -> None:
    """Hide this process's memory and environment, which hold keys, where Landlock does not keep workers off."""
    try:
        landlock.abi()
    except OSError:
        with contextlib.suppress(OSError):
            privileges.hide_memory()


_server: _Server | None = None
_starting = threading.Lock()


def launch(descriptors: tuple[int, int, int], check: Callable[[], None]) -> Child:
    """Fork a worker off the server, which is started if necessary; an exception of `check` ends the wait for it.

    The worker gets copies of the descriptors: a file with the request, a pipe for answers, and one for output.

    Raises:
        MachineError: No worker could be started.
    """
    words = ""
    for _ in range(2):
        server = _current()
        child = server.fork(descriptors, check)
        if child is not None:
            return child
        words = server.last_words()
    raise MachineError(f"the server that starts workers died twice ({words})", "look at `rewardgen doctor`")


def _current() -> _Server:
    global _server
    with _starting:
        if _server is None or not _server.is_alive():
            _stop()
            _server = _Server()
        return _server


def _stop() -> None:
    global _server
    if _server is not None:
        _server.last_words()
        _server = None


def _forget() -> None:
    """Let a fork of this process start a server of its own, and not keep its parent's alive."""
    global _server, _starting
    _starting = threading.Lock()
    if _server is not None:
        _server.let_go()
        _server = None


atexit.register(_stop)
os.register_at_fork(after_in_child=_forget)


def _hear_patiently(leash: socket.socket, check: Callable[[], None]) -> tuple[int, float] | None:
    deadline = time.monotonic() + _START_S
    leash.settimeout(_LOOK_S)
    while True:
        try:
            return _hear(leash)
        except TimeoutError:
            check()
        if time.monotonic() > deadline:
            raise MachineError(f"no worker started within {_START_S:g} s", "look at `rewardgen doctor`")


def _hear(leash: socket.socket) -> tuple[int, float] | None:
    """The server's next word; None if it died."""
    try:
        data = leash.recv(WORD.size)
    except ConnectionResetError:
        return None
    return WORD.unpack(data) if len(data) == WORD.size else None


def exit_in_words(status: int) -> str:
    """An exit status in words, negative for a signal."""
    if status >= 0:
        return f"exit status {status}"
    name = signal.Signals(-status).name if -status in set(signal.Signals) else f"signal {-status}"
    return f"killed by {name}, as the system does when memory runs out" if name == "SIGKILL" else f"killed by {name}"


def last_lines(output: bytes) -> str:
    """The last lines of an output, indented."""
    lines = output.decode(errors="replace").strip().splitlines()[-_TAIL_LINES:]
    return "".join(f"\n  {clean(line, 200)}" for line in lines)
