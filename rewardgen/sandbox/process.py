"""Running a job in a process of its own: started clean, watched, and ended as a whole group.

The orchestrator's side. It loads nothing heavy and trusts nothing that comes back: JSON of a bounded size, by one pipe.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Literal

from rewardgen import errors
from rewardgen.errors import RewardgenError, WorkerError
from rewardgen.sandbox.environment import worker_environment
from rewardgen.sandbox.limits import Limits

__all__ = ["Limits", "WorkerCancelled", "run_worker"]

_WATCH_S = 0.1
"""Pause between two looks at memory, the clock and the cancel event [s]."""
_LOG_BYTES = 1 << 20
_TAIL_LINES = 6


class WorkerCancelled(WorkerError):
    """The caller set its cancel event and the worker was ended."""


def run_worker(
    job: str,
    payload: dict[str, Any],
    *,
    limits: Limits,
    scratch: Path,
    on_message: Callable[[dict[str, Any]], None] | None = None,
    cancel: threading.Event | None = None,
) -> dict[str, Any]:
    """Run one job in a fresh process and wait for its result.

    Args:
        job: Its name in `rewardgen.sandbox.worker.JOBS`.
        payload: What it is given; JSON. Paths in it are absolute.
        limits: Wall-clock time, memory and sizes.
        scratch: The worker's own folder, made if missing: working folder, home, temporary files, and `worker.log` with
            what it printed.
        on_message: Called, in this thread, with each message that the job reports.
        cancel: Ends the worker when set.

    Returns:
        The job's result.

    Raises:
        WorkerError: It crashed, ran past a limit, or answered out of contract.
        WorkerCancelled: `cancel` was set.
        RewardgenError: What the job itself raised, of the same class.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    with _started(job, payload, limits, scratch) as worker:
        return worker.answer(on_message, cancel)


@contextlib.contextmanager
def _started(job: str, payload: dict[str, Any], limits: Limits, scratch: Path) -> Iterator[_Worker]:
    # An unlinked file, not a pipe: a worker that does not read must not block us.
    with tempfile.TemporaryFile() as request, (scratch / "worker.log").open("wb") as log:
        request.write(json.dumps({"job": job, "payload": payload, "limits": limits.model_dump()}).encode())
        request.seek(0)
        read_end, write_end = os.pipe()
        try:
            process = _spawn(request, write_end, scratch)
        except BaseException:
            os.close(read_end)
            raise
        finally:
            os.close(write_end)
        worker = _Worker(job, process, read_end, limits, log)
        try:
            yield worker
        finally:
            worker.end()


def _spawn(request: IO[bytes], pipe: int, scratch: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        # -P: a file named like a module in the current folder must not be imported instead of it.
        [sys.executable, "-P", "-m", "rewardgen.sandbox.worker", str(pipe), str(os.getpid())],
        stdin=request,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=[pipe],
        cwd=scratch,
        env=worker_environment(scratch.resolve()),
        start_new_session=True,
    )


class _Worker:
    """One running worker, until it has answered or was ended."""

    def __init__(self, job: str, process: subprocess.Popen[bytes], pipe: int, limits: Limits, log: IO[bytes]) -> None:
        self._job = job
        self._process = process
        self._pipe = pipe
        self._limits = limits
        self._log = log
        self._deadline = time.monotonic() + limits.wall_s
        self._unread = b""
        self._received = 0
        self._logged = 0
        self._tail = b""

    def answer(
        self, on_message: Callable[[dict[str, Any]], None] | None, cancel: threading.Event | None
    ) -> dict[str, Any]:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._pipe, selectors.EVENT_READ, "answer")
            selector.register(self._process.stdout, selectors.EVENT_READ, "output")
            while True:
                for key, _ in selector.select(_WATCH_S):
                    data = os.read(key.fd, 1 << 16)
                    if key.data == "output":
                        self._keep(data)
                        if not data:
                            selector.unregister(key.fd)
                    elif not data:
                        self._drain_output()
                        raise self._crashed()
                    else:
                        result = self._receive(data, on_message)
                        if result is not None:
                            return result
                self._check(cancel)

    def end(self) -> None:
        """Kill the whole group and let go of it."""
        self._kill()
        os.close(self._pipe)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _kill(self) -> int:
        """Kill the group once, before it is waited for: until then its id cannot belong to another."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        return self._process.wait()

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
                raise self._error(value)
            if on_message is not None:
                on_message(value)
        return None

    def _parse(self, line: bytes) -> tuple[str, dict[str, Any]]:
        try:
            ((kind, value),) = json.loads(line).items()
        except (ValueError, AttributeError, RecursionError):
            raise self._failed("answered with something that is not one JSON object", "crash") from None
        if kind not in ("message", "result", "error") or not isinstance(value, dict):
            raise self._failed(f"answered with `{str(kind)[:40]}`", "crash")
        return kind, value

    def _check(self, cancel: threading.Event | None) -> None:
        if cancel is not None and cancel.is_set():
            raise WorkerCancelled(f"the {self._job} worker was cancelled")
        if time.monotonic() > self._deadline:
            raise self._failed(f"ran past its limit of {self._limits.wall_s:g} s", "timeout")
        used = resident_bytes(self._process.pid)
        if used > self._limits.memory_bytes:
            limit = self._limits.memory_bytes >> 20
            raise self._failed(f"used {used >> 20} MiB of memory, its limit is {limit} MiB", "memory")

    def _keep(self, data: bytes) -> None:
        self._log.write(data[: max(0, _LOG_BYTES - self._logged)])
        self._logged += len(data)
        self._tail = (self._tail + data)[-4096:]

    def _drain_output(self) -> None:
        """Read what the dead worker has left; a child of it may still hold the pipe, so never wait."""
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._process.stdout.fileno(), 1 << 16):
                self._keep(data)

    def _crashed(self) -> WorkerError:
        # A process that is already ending keeps its own exit status.
        return self._failed(f"ended without an answer ({_exit_in_words(self._kill())})", "crash")

    def _failed(self, what: str, kind: Literal["timeout", "memory", "crash"]) -> WorkerError:
        lines = self._tail.decode(errors="replace").strip().splitlines()[-_TAIL_LINES:]
        said = "".join(f"\n  {line[:200]}" for line in lines) if kind == "crash" else ""
        return WorkerError(f"the {self._job} worker {what}{said}", f"what it printed is in {self._log.name}", kind)

    def _error(self, value: dict[str, Any]) -> RewardgenError:
        message, hint = str(value.get("message", "")), str(value.get("hint") or "")
        found = getattr(errors, str(value.get("type")), None)
        if not (isinstance(found, type) and issubclass(found, RewardgenError)) or found is WorkerError:
            kind = value.get("kind")
            told = f"the {self._job} worker failed: {message}"
            log = hint or f"what it printed is in {self._log.name}"
            return WorkerError(told, log, kind if kind in ("timeout", "memory") else "crash")
        return found(message, hint)


def resident_bytes(pid: int) -> int:
    """Resident memory of a process and all its descendants [bytes]; 0 where `/proc` does not tell.

    Args:
        pid: The process.
    """
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(resident_bytes(int(child)) for child in children)


def _exit_in_words(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    name = signal.Signals(-status).name if -status in set(signal.Signals) else f"signal {-status}"
    return f"killed by {name}, as the system does when memory runs out" if name == "SIGKILL" else f"killed by {name}"
