"""Trying the worker limits on this machine, for `rewardgen doctor`: seen to hold, not merely set.

The job does what a broken or hostile reward would do; `check_limits` sees what becomes of it.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from rewardgen.core.errors import WorkerError
from rewardgen.sandbox import layers
from rewardgen.sandbox.jobs import register
from rewardgen.sandbox.layers import LayerReport
from rewardgen.sandbox.process import Limits, run_worker

SELFTEST = register("selftest", "rewardgen.sandbox.selftest:selftest_job", device=("device",))

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
    run_worker(SELFTEST, {"do": "environment"}, limits=Limits(wall_s=60.0), scratch=scratch)
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


def layers_in_force(scratch: Path, limits: Limits | None = None, *, gpu: bool = False) -> LayerReport:
    """What keeps a worker in on this machine, as one tells it.

    Args:
        scratch: A folder for the worker.
        limits: As jobs get them.
        gpu: Of a worker that has computed on a GPU, by torch and by Warp.

    Raises:
        SandboxError: A layer is missing, and the limits are strict about that.
        WorkerError: It could not compute there.
    """
    payload = {"do": "compute", "device": "cuda"} if gpu else {"do": "layers"}
    told = run_worker(SELFTEST, payload, limits=limits or Limits(wall_s=60.0), scratch=scratch)
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
        payload: `do`, a name of the table below; `device`.
        report: Where messages go.

    Returns:
        What the misdeed has to tell, if it comes to that.
    """
    return MISDEEDS[payload["do"]](report)


def _environment(report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    return {"names": sorted(os.environ), "folder": os.getcwd(), "path": sys.path}


def _hang(report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    report({"pid": os.getpid()})
    time.sleep(3600.0)
    return {}


def _allocate(report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    report({"pid": os.getpid()})
    blocks: list[bytes] = []
    while True:
        blocks.append(os.urandom(1024) * (_BLOCK // 1024))


def _layers(report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    applied = layers.applied()
    return applied.model_dump() if applied else {}


def _compute(report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    import torch
    import warp  # an extra  # pyright: ignore[reportMissingImports]

    torch.ones(1, device="cuda").sum().item()
    warp.config.log_level = warp.LOG_ERROR
    warp.zeros(1, dtype=float, device="cuda").numpy()
    return _layers(report)


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


MISDEEDS = {
    "environment": _environment,
    "hang": _hang,
    "allocate": _allocate,
    "layers": _layers,
    "compute": _compute,
    "break out": _break_out,
}
