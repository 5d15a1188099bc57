"""Running a job in a process of its own: forked from a clean warm parent, watched, and ended as a whole group.

The orchestrator's side. It loads nothing heavy and trusts nothing that comes back: JSON of a bounded size, by one pipe.
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
from rewardgen.sandbox.watch import resident_bytes, threads

__all__ = ["Limits", "WorkerCancelled", "run_worker"]

_WATCH_S = 0.1
"""Pause between two looks at memory, the clock and the cancel event [s]."""
_LOG_BYTES = 1 << 20
_FROM_OUTSIDE = {-signal.SIGKILL, -signal.SIGTERM, -signal.SIGHUP, -signal.SIGINT}
"""Signals that a worker cannot send itself where `rewardgen.sandbox.seccomp` holds; elsewhere nothing tells."""
_END_S = 2.0
"""Time in which a worker that has closed its answers has ended, if it is ending [s]."""

_peaks: dict[str, int] = {}
_noting = threading.Lock()


class WorkerCancelled(WorkerError):
    """The caller set its cancel event and the worker was ended."""


class _Killed(MachineError):
    """Something outside has killed the worker."""


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
        job: What to do.
        payload: What it is given; JSON. Paths in it are absolute.
        limits: Wall-clock time, memory and sizes.
        scratch: The worker's own folder, made if missing: working folder, home, temporary files, and `worker.log` with
            what it printed.
        on_message: Called, in this thread, with each message that the job reports.
        on_restart: Called before the job is begun anew because something outside killed its worker, which happens once;
            None to raise instead.
        cancel: Ends the worker when set.

    Returns:
        The job's result.

    Raises:
        WorkerError: It crashed, ran past a limit, or answered out of contract.
        MachineError: It could not be started, or something outside killed it, and again when it was begun anew.
        WorkerCancelled: `cancel` was set.
        RewardgenError: What the job itself raised for the user, of the same class. A job that ran generated code may
            have been made to say so: see `rewardgen.sandbox.answers`.
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
                ours.callback(_end, job.name, child)
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
    """The two ends of a pipe, of which we read and a worker writes."""
    read_end, write_end = os.pipe()
    ours.callback(os.close, read_end)
    theirs.callback(os.close, write_end)
    return read_end, write_end


def _end(job: str, child: Child) -> None:
    peak = child.end().peak_bytes
    with _noting:
        _peaks[job] = max(peak, _peaks.get(job, 0))


class _Worker:
    """One running worker, until it has answered."""

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
        started = threads(self._child.pid)
        if started > self._limits.threads:
            raise self._failed(f"ran {started} threads, its limit is {self._limits.threads}", "crash")
        self._check_folder()

    def _check_folder(self) -> None:
        limits = self._limits
        use = folder_use(self._folder, limits.folder_entries)
        if use.entries > limits.folder_entries:
            raise self._failed(f"made more than {limits.folder_entries} files in its folder, or hid some", "crash")
        if use.size > limits.folder_bytes:
            size, most = use.size >> 20, limits.folder_bytes >> 20
            raise self._failed(f"filled its folder with {size} MiB, its limit is {most} MiB", "crash")

    def _keep(self, data: bytes) -> None:
        self._log.write(data[: max(0, _LOG_BYTES - self._logged)])
        self._logged += len(data)
        self._tail = (self._tail + data)[-4096:]

    def _drain_output(self) -> None:
        """Read what the dead worker has left; a child of it may still hold the pipe, so never wait."""
        os.set_blocking(self._output, False)
        with contextlib.suppress(BlockingIOError):
            for _ in range(_LOG_BYTES >> 16):
                self._keep(os.read(self._output, 1 << 16))

    def _fail_as_it_ended(self) -> NoReturn:
        lives = not self._ends()
        status, _, cpu_s, lost = self._child.end()
        if lives:
            raise self._failed("closed the pipe for its answers", "crash")
        out_of_time = status == -signal.SIGXCPU
        # The system kills one that does not heed that its CPU time is used up.
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
        """Whether it is ending by itself: its memory goes, while a process that only closed its answers keeps it."""
        deadline = time.monotonic() + _END_S
        while resident_bytes(self._child.pid):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def _failed(self, what: str, kind: Literal["timeout", "memory", "crash"]) -> WorkerError:
        said = last_lines(self._tail) if kind == "crash" else ""
        return WorkerError(f"the {self._job} worker {what}{said}", f"what it printed is in {self._log.name}", kind)


def peak_bytes(job: str) -> int:
    """Largest resident memory of any worker of this process that ran a job and has ended [bytes]; 0 if none did.

    What a worker shares with the server that it was forked from is included.

    Args:
        job: Its name.
    """
    with _noting:
        return _peaks.get(job, 0)
