"""Run a job in a worker process: forked from a clean warm parent, watched, ended as a group.

This side imports nothing heavy. Answers are untrusted JSON of a bounded size, by one pipe.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import selectors
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Literal, NoReturn

from rewardgen.core.errors import MachineError, WorkerError
from rewardgen.core.files import MORE_FILES
from rewardgen.core.text import all_visible
from rewardgen.sandbox.answers import clean, raised
from rewardgen.sandbox.environment import worker_environment
from rewardgen.sandbox.folders import folder_use
from rewardgen.sandbox.jobs import Job
from rewardgen.sandbox.launcher import Child, exit_in_words, last_lines, launch
from rewardgen.sandbox.limits import Limits

_WATCH_S = 0.1
"""Time between two checks of memory, clock and cancel event [s]."""
_LOG_BYTES = 1 << 20
_FROM_OUTSIDE = {-signal.SIGKILL, -signal.SIGTERM, -signal.SIGHUP, -signal.SIGINT}
"""Signals that a worker under `seccomp` cannot send itself."""
_END_S = 2.0
"""Longest end of a worker that has closed its pipe for answers [s]."""


class WorkerCancelled(WorkerError):
    """The caller cancelled the worker."""


class _Killed(MachineError):
    """Something outside killed the worker."""


def run_worker(
    job: Job,
    payload: dict[str, Any],
    *,
    limits: Limits,
    scratch: Path,
    on_message: Callable[[dict[str, Any]], None] | None = None,
    on_restart: Callable[[], None] | None = lambda: None,
    cancel: threading.Event | None = None,
) -> dict[str, Any]:
    """Run one job in a fresh process and wait for its result.

    Args:
        job: The job.
        payload: Input as JSON, with absolute paths.
        limits: Wall-clock time, memory and sizes.
        scratch: The worker's folder, created if missing: working folder, home, temporary files, `worker.log`.
        on_message: Called, in this thread, with each message of the job.
        on_restart: Called before the one restart after something outside killed the worker; None to raise instead.
        cancel: Ends the worker when set.

    Raises:
        WorkerError: The worker crashed, exceeded a limit, or answered out of contract.
        MachineError: The worker could not be started, or something outside killed it twice.
        WorkerCancelled: `cancel` was set.
        RewardgenError: The job's error for the user; generated code may have forged it.
    """

    def check_cancel() -> None:
        if cancel is not None and cancel.is_set():
            raise WorkerCancelled(f"the {job.name} worker was cancelled")

    def attempt() -> dict[str, Any]:
        with _started(job, payload, limits, scratch, check_cancel) as worker:
            return worker.answer(on_message, check_cancel)

    try:
        return attempt()
    except _Killed:
        if on_restart is None:
            raise
        on_restart()
        return attempt()


@contextlib.contextmanager
def _started(
    job: Job, payload: dict[str, Any], limits: Limits, scratch: Path, check: Callable[[], None]
) -> Iterator[_Worker]:
    with contextlib.ExitStack() as ours:
        try:
            scratch.mkdir(parents=True, exist_ok=True)
            log = ours.enter_context((scratch / "worker.log").open("wb"))
            with contextlib.ExitStack() as theirs:
                # An unlinked file, not a pipe: a worker that does not read must not block us.
                request = theirs.enter_context(tempfile.TemporaryFile())
                request.write(_request(job, payload, limits, scratch.resolve()))
                request.flush()
                answers, answer = _pipe(ours, theirs)
                output, printed = _pipe(ours, theirs)
                child = launch((request.fileno(), answer, printed), check)
                ours.callback(child.end)
        except OSError as error:
            raise _cannot_start(job.name, error) from error
        yield _Worker(job.name, child, answers, output, limits, log)


def _cannot_start(job: str, error: OSError) -> MachineError:
    hints = {
        errno.ENOSPC: f"free some space in {tempfile.tempdir or 'the temporary folder'}, or name another in `TMPDIR`",
        errno.EMFILE: MORE_FILES,
    }
    hint = hints.get(error.errno or 0, "end other programs, then try again")
    return MachineError(f"cannot start the {job} worker: {error}", hint)


def _request(job: Job, payload: dict[str, Any], limits: Limits, scratch: Path) -> bytes:
    place = {"folder": str(scratch), "environment": worker_environment(scratch)}
    return json.dumps({"job": job.model_dump(), "payload": payload, "limits": limits.model_dump(), **place}).encode()


def _pipe(ours: contextlib.ExitStack, theirs: contextlib.ExitStack) -> tuple[int, int]:
    """Open a pipe that a worker writes; return its two ends."""
    read_end, write_end = os.pipe()
    ours.callback(os.close, read_end)
    theirs.callback(os.close, write_end)
    return read_end, write_end


class _Worker:
    def __init__(self, job: str, child: Child, answers: int, output: int, limits: Limits, log: IO[bytes]) -> None:
        self._job = job
        self._child = child
        self._answers = answers
        self._output = output
        self._limits = limits
        self._log = log
        self._folder = Path(log.name).parent
        self._deadline = time.monotonic() + limits.wall_s
        self._unread = b""
        self._received = 0
        self._logged = 0
        self._tail = b""

    def answer(
        self, on_message: Callable[[dict[str, Any]], None] | None, check_cancel: Callable[[], None]
    ) -> dict[str, Any]:
        with selectors.DefaultSelector() as selector:
            selector.register(self._answers, selectors.EVENT_READ)
            selector.register(self._output, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select(_WATCH_S):
                    data = os.read(key.fd, 1 << 16)
                    if key.fd == self._output:
                        self._keep(data)
                        if not data:
                            selector.unregister(key.fd)
                    elif not data:
                        self._drain_output()
                        self._fail_as_it_ended()
                    else:
                        result = self._receive(data, on_message)
                        if result is not None:
                            return result
                check_cancel()
                self._check()

    def _receive(self, data: bytes, on_message: Callable[[dict[str, Any]], None] | None) -> dict[str, Any] | None:
        self._received += len(data)
        if self._received > self._limits.answer_bytes:
            raise self._failed(f"sent more than {self._limits.answer_bytes} bytes", "crash")
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            kind, value = self._parse(line)
            if kind != "message":
                self._drain_output()  # what it printed before its answer may be unread
            if kind == "result":
                return value
            if kind == "error":
                raise raised(self._job, value, self._log.name)
            if on_message is not None:
                on_message(value)
        return None

    def _parse(self, line: bytes) -> tuple[str, dict[str, Any]]:
        try:
            ((kind, value),) = all_visible(json.loads(line)).items()
        except (ValueError, AttributeError, RecursionError):
            raise self._failed("answered with something that is not one JSON object", "crash") from None
        if kind not in ("message", "result", "error") or not isinstance(value, dict):
            raise self._failed(f"answered with `{clean(kind, 40)}`", "crash")
        return kind, value

    def _check(self) -> None:
        if time.monotonic() > self._deadline:
            raise self._failed(f"ran past its limit of {self._limits.wall_s:g} s", "timeout")
        used = resident_bytes(self._child.pid)
        if used > self._limits.memory_bytes:
            limit = self._limits.memory_bytes >> 20
            raise self._failed(f"used {used >> 20} MiB of memory, its limit is {limit} MiB", "memory")
        count = _threads(self._child.pid)
        if count > self._limits.threads:
            raise self._failed(f"ran {count} threads, its limit is {self._limits.threads}", "crash")
        self._check_folder()

    def _check_folder(self) -> None:
        limits = self._limits
        size, entries = folder_use(self._folder, limits.folder_entries)
        if entries > limits.folder_entries:
            raise self._failed(f"made more than {limits.folder_entries} files in its folder, or hid some", "crash")
        if size > limits.folder_bytes:
            most = limits.folder_bytes >> 20
            raise self._failed(f"filled its folder with {size >> 20} MiB, its limit is {most} MiB", "crash")

    def _keep(self, data: bytes) -> None:
        self._log.write(data[: max(0, _LOG_BYTES - self._logged)])
        self._logged += len(data)
        self._tail = (self._tail + data)[-4096:]

    def _drain_output(self) -> None:
        """Read the output that a worker left, without waiting: its child may still hold the pipe."""
        os.set_blocking(self._output, False)
        with contextlib.suppress(BlockingIOError):
            for _ in range(_LOG_BYTES >> 16):
                self._keep(os.read(self._output, 1 << 16))

    def _fail_as_it_ended(self) -> NoReturn:
        alive = not self._ends()
        status, cpu_s, lost = self._child.end()
        if alive:
            raise self._failed("closed the pipe for its answers", "crash")
        out_of_time = status == -signal.SIGXCPU
        # The kernel kills a process that ignores SIGXCPU.
        out_of_time |= status == -signal.SIGKILL and cpu_s > self._limits.cpu_seconds()
        if lost or (status in _FROM_OUTSIDE and not out_of_time):
            how = "lost with the process that starts workers" if lost else exit_in_words(status)
            hint = "if memory ran out, free some or use fewer `--workers`; what was finished is kept"
            if self._limits.sandbox == "off":
                hint += "; with `--sandbox off`, a reward can also do this to its own process"
            raise _Killed(f"the {self._job} worker was {how}, and not for the first time", hint)
        if out_of_time:
            raise self._failed(f"used up its limit of {self._limits.cpu_seconds()} s of CPU time", "timeout")
        raise self._failed(f"ended without an answer ({exit_in_words(status)})", "crash")

    def _ends(self) -> bool:
        """Return True if the worker is ending: its memory goes, unless it only closed its pipe."""
        deadline = time.monotonic() + _END_S
        while resident_bytes(self._child.pid):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def _failed(self, fault: str, kind: Literal["timeout", "memory", "crash"]) -> WorkerError:
        message = f"the {self._job} worker {fault}{last_lines(self._tail)}"
        return WorkerError(message, f"its output is in {self._log.name}", kind)


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process and all its descendants [bytes]; 0 without `/proc`."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(resident_bytes(int(child)) for child in children)


def _threads(pid: int) -> int:
    """Count the threads of a process and all its descendants; 0 without `/proc`."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
        children = [child for task in tasks for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split()]
    except OSError:
        return 0
    return len(tasks) + sum(_threads(int(child)) for child in children)
