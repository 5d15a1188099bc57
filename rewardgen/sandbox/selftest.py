"""Trying the worker limits on this machine, for `rewardgen doctor`: seen to hold, not merely set.

The job does what a broken or hostile reward would do; `check_limits` sees what becomes of it.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from rewardgen.core.errors import WorkerError
from rewardgen.sandbox import layers
from rewardgen.sandbox.jobs import register
from rewardgen.sandbox.layers import LayerReport
from rewardgen.sandbox.process import Limits, run_worker

SELFTEST = register("selftest", "rewardgen.sandbox.selftest:selftest_job")

_SECRET = "REWARDGEN_SELFTEST_API_KEY"
_KEY, _WRITTEN, _PORT = "key", "written", "port"
_BLOCK = 16 << 20
_MEMORY = 1 << 30
"""What a misbehaving worker may use; it begins with some 200 MiB that it shares with the server it was forked from."""


class LimitCheck(NamedTuple):
    """One limit and whether it held."""

    name: str
    held: bool
    detail: str


def check_limits(scratch: Path) -> tuple[LimitCheck, ...]:
    """Start workers that misbehave and see that each is stopped; takes about four seconds.

    Args:
        scratch: A folder for the workers.
    """
    limits = Limits(wall_s=1.0, memory_bytes=_MEMORY)
    return (
        _stopped("time limit", "hang", "timeout", limits, scratch),
        _stopped("memory limit", "allocate", "memory", limits.model_copy(update={"wall_s": 20.0}), scratch),
        _clean_environment(scratch),
    )


def start_seconds(scratch: Path) -> tuple[float, float]:
    """Wall-clock time from asking for a job to its answer: of the first one that is asked for here, and of another [s].

    Args:
        scratch: A folder for the workers.
    """
    first, again = _seconds(scratch), min(_seconds(scratch) for _ in range(3))
    return first, again


def _seconds(scratch: Path) -> float:
    start = time.monotonic()
    run_worker(SELFTEST, {"do": "process"}, limits=Limits(wall_s=60.0), scratch=scratch)
    return time.monotonic() - start


def _stopped(name: str, misdeed: str, kind: str, limits: Limits, scratch: Path) -> LimitCheck:
    try:
        run_worker(SELFTEST, {"do": misdeed}, limits=limits, scratch=scratch)
    except WorkerError as error:
        return LimitCheck(name, error.kind == kind, error.message)
    return LimitCheck(name, False, f"a worker that should be stopped by the {name} was not")


def _clean_environment(scratch: Path) -> LimitCheck:
    os.environ[_SECRET] = "secret"
    try:
        result = run_worker(SELFTEST, {"do": "environment"}, limits=Limits(wall_s=20.0), scratch=scratch)
    except WorkerError as error:
        return LimitCheck("no API keys", False, error.message)
    finally:
        del os.environ[_SECRET]
    return LimitCheck("no API keys", _SECRET not in result["names"], f"{len(result['names'])} variables are passed on")


def layers_in_force(scratch: Path, limits: Limits | None = None) -> LayerReport:
    """What keeps a worker in on this machine, as one tells it.

    Args:
        scratch: A folder for the worker.
        limits: As jobs get them.

    Raises:
        SandboxError: A layer is missing, and the limits are strict about that.
    """
    told = run_worker(SELFTEST, {"do": "layers"}, limits=limits or Limits(wall_s=60.0), scratch=scratch)
    return LayerReport.model_validate(told)


def escapes(scratch: Path) -> tuple[str, ...]:
    """What a worker can do outside its own folder when it tries, in words; nothing where all layers are in force.

    Args:
        scratch: A folder for the worker and what it tries to get at.
    """
    folder = scratch / "confined"
    folder.mkdir(parents=True, exist_ok=True)
    (scratch / _KEY).write_text("secret")
    with socket.create_server(("127.0.0.1", 0)) as server:
        (folder / _PORT).write_text(str(server.getsockname()[1]))
        told = run_worker(SELFTEST, {"do": "break out"}, limits=Limits(wall_s=20.0), scratch=folder)
        seen = {"write a file": (scratch / _WRITTEN).exists(), "open a connection": _was_called(server)}
    return tuple(name for name, succeeded in {**told, **seen}.items() if succeeded)


def _was_called(server: socket.socket) -> bool:
    server.setblocking(False)
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def selftest_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Misbehave in one way.

    Args:
        payload: `{"do": name}` with a name of the table below.
        report: Where messages go.

    Returns:
        What the misdeed has to tell, if it comes to that.
    """
    return _MISDEEDS[payload["do"]](report)


def _environment(report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    return {"names": sorted(os.environ), "folder": os.getcwd(), "path": sys.path}


def _process(report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """What a worker has of its own, and what it can see of others."""
    numpy = sys.modules.get("numpy")
    return {
        "pid": os.getpid(),
        "server": os.getppid(),
        "session": os.getsid(0),
        "descriptors": {name: _target(name) for name in os.listdir("/dev/fd")},
        "temporary": tempfile.gettempdir(),
        "home": os.path.expanduser("~"),
        "drawn": [random.random(), numpy.random.random() if numpy else random.random()],
        "imported": sorted({"torch", "numpy", "mujoco"} & set(sys.modules)),
    }


def _target(descriptor: str) -> str:
    try:
        return os.readlink(f"/dev/fd/{descriptor}")
    except OSError:
        return "closed"


def _hang(report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    report({"pid": os.getpid()})
    time.sleep(3600.0)
    return {}


def _allocate(report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    report({"pid": os.getpid()})
    blocks: list[bytes] = []
    while True:
        blocks.append(os.urandom(1024) * (_BLOCK // 1024))


def _share(report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Shared memory, which no limit of the system counts: only watching the process does."""
    report({"pid": os.getpid()})
    blocks: list[mmap.mmap] = []
    while True:
        blocks.append(mmap.mmap(-1, _BLOCK))
        blocks[-1].write(bytes(_BLOCK))
        time.sleep(0.01)


def _abort(report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    print("about to abort", flush=True)
    os.abort()


def _segfault(report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    ctypes.string_at(0)
    return {}


def _flood(report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    while True:
        print("x" * 1000)
        report({"noise": "x" * 1000})


def _spin(report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    report({"pid": os.getpid()})
    while True:
        pass


def _crowd(report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    report({"pid": os.getpid()})
    for _ in range(200):
        threading.Thread(target=time.sleep, args=(3600.0,), daemon=True).start()
    time.sleep(3600.0)
    return {}


def _fill(report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    report({"pid": os.getpid()})
    for number in itertools.count():
        folder = Path(f"folder{number}")
        folder.mkdir()
        (folder / "file").write_bytes(os.urandom(1024) * (_BLOCK // 1024))
    return {}


def _litter(report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    report({"pid": os.getpid()})
    for number in itertools.count():
        Path(f"file{number}").touch()
    return {}


def _layers(report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    applied = layers.applied()
    return applied.model_dump() if applied else {}


def _break_out(report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Try what hostile code wants most; the one who asked sees what came of it."""
    folder = Path.cwd()
    outside = folder.parent
    attempts: dict[str, Callable[[], object]] = {
        "read a file": (outside / _KEY).read_text,
        "write a file": (outside / _WRITTEN).touch,
        "open a connection": lambda: socket.create_connection(("127.0.0.1", int((folder / _PORT).read_text())), 1.0),
        "start a process": lambda: os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0),
    }
    return {name: _succeeds(attempt) for name, attempt in attempts.items()}


def _succeeds(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except OSError:
        return False
    return True


def _spawn(report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    report({"pid": child.pid})
    time.sleep(3600.0)
    return {}


_MISDEEDS = {
    "environment": _environment,
    "process": _process,
    "hang": _hang,
    "allocate": _allocate,
    "share": _share,
    "abort": _abort,
    "segfault": _segfault,
    "flood": _flood,
    "spawn": _spawn,
    "spin": _spin,
    "crowd": _crowd,
    "fill": _fill,
    "litter": _litter,
    "layers": _layers,
    "break out": _break_out,
}
