"""The warm parent of all workers: it imports the modules of jobs once, then forks one child per job.

Started by `launcher` as `python -P -m rewardgen.sandbox.forkserver <control socket> <modules>`, with an environment
built from the allow-list, so that neither it nor a child ever holds the orchestrator's memory or keys.

- It stays single-threaded, draws no random number and never touches CUDA: a child can initialise CUDA only if its
  parent has not.
- One byte on the control socket asks for a child and brings its four descriptors, the leash first. The server reports
  the child's id, then its exit status and CPU time, on the leash; closing the leash ends the child with its group.
- It ends when the control socket does, with the orchestrator at the latest. A signal at its parent's death would come
  at the death of the thread that started it, and threads of a pool end early.
- A child gets the environment of its own job, but variables that libraries read at import (`MUJOCO_GL`, `PYTHONPATH`,
  `OMP_NUM_THREADS`) keep the values of this server's start.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import os
import selectors
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Sequence
from typing import NamedTuple

from rewardgen.sandbox import worker
from rewardgen.sandbox.limits import die_with

WORD = struct.Struct("=qd")
"""Words on a leash: a process id, or -errno without a child; at the end exit status and CPU time [s]."""


class _Order(NamedTuple):
    """The descriptors that come with one job."""

    leash: int
    request: int
    answer: int
    output: int


class _ForkServer:
    """Forks, ends and reaps workers until the control socket is closed."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._open = True
        self._held: dict[int, socket.socket] = {}
        self._ending: dict[int, socket.socket] = {}
        self._wake, self._waker = os.pipe()
        for end in (self._wake, self._waker):
            os.set_blocking(end, False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(control, selectors.EVENT_READ, self._take)
        self._selector.register(self._wake, selectors.EVENT_READ, self._wake_up)

    def serve(self) -> None:
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while self._open:
            for key, _ in self._selector.select():
                key.data()
        for pid in self._held:
            _kill(pid)

    def _take(self) -> None:
        order_byte, descriptors, *_ = socket.recv_fds(self._control, 1, 4, getattr(socket, "MSG_CMSG_CLOEXEC", 0))
        if not order_byte:
            self._open = False
            return
        order = _Order(*descriptors)
        with contextlib.ExitStack() as closing:
            for descriptor in order[1:]:
                closing.callback(os.close, descriptor)
            self._fork(order)

    def _fork(self, order: _Order) -> None:
        leash = socket.socket(fileno=order.leash)
        server = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            _say(leash, -(error.errno or 1))
            return leash.close()
        if pid == 0:
            leash.close()
            self._become_worker(order, server)
        self._held[pid] = leash
        self._selector.register(leash, selectors.EVENT_READ, functools.partial(self._end, pid))
        _say(leash, pid)

    def _become_worker(self, order: _Order, server: int) -> None:
        """Never returns: nothing of the server may run on in the child."""
        try:
            os.setsid()
            self._let_go()
            die_with(server)
            _connect(order)
            worker.serve(order.request, order.answer)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)

    def _let_go(self) -> None:
        """Close, in a child, everything that the server holds."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for end in (self._wake, self._waker):
            os.close(end)
        for inherited in (self._control, *self._held.values(), *self._ending.values()):
            inherited.close()

    def _end(self, pid: int) -> None:
        """Kill and reap a child whose leash was closed, the only event on a leash."""
        leash = self._held.pop(pid)
        self._selector.unregister(leash)
        self._ending[pid] = leash
        _kill(pid)
        self._reap()

    def _wake_up(self) -> None:
        os.read(self._wake, 1 << 12)
        self._reap()

    def _reap(self) -> None:
        """Report ended children. One whose leash is still held stays a zombie, so that its id stays its own."""
        for pid in list(self._ending):
            done, status, usage = os.wait4(pid, os.WNOHANG)
            if done:
                with self._ending.pop(pid) as leash:
                    _say(leash, os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime)


def main() -> None:
    """Serve until the orchestrator closes its end of the control socket."""
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)
    _preload(sys.argv[2:])
    _ForkServer(control).serve()
    os._exit(0)


def _preload(names: Sequence[str]) -> None:
    """Import the modules of jobs, in memory that children share until one of them writes to it.

    On other systems, frameworks that torch loads may not survive a fork: there each child imports for itself.
    """
    gc.disable()  # hardly any of it is garbage, and looking for some takes a fifth of the time
    if sys.platform == "linux":
        # Recent versions of numpy load `random` at its first use, older ones at once.
        for name in (*names, "numpy.random"):
            # What cannot be imported is for the job to report that needs it.
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    gc.freeze()
    gc.enable()


def _connect(order: _Order) -> None:
    """Give a child its standard streams: nothing to read, and its output to the orchestrator."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, stream in ((nothing, 0), (order.output, 1), (order.output, 2)):
        os.dup2(descriptor, stream)
    os.close(nothing)
    os.close(order.output)
    os.set_inheritable(order.answer, False)
    os.set_inheritable(order.request, False)


def _kill(pid: int) -> None:
    """Kill a child that was not reaped yet, and its group, which exists once the child made its session."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def _say(leash: socket.socket, first: int, cpu_s: float = 0.0) -> None:
    with contextlib.suppress(OSError):
        leash.sendall(WORD.pack(first, cpu_s))


if __name__ == "__main__":
    main()
