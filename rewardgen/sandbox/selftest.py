"""Trying the worker limits on this machine, for `rewardgen doctor`: seen to hold, not merely set.

The job does what a broken or hostile reward would do; `check_limits` sees what becomes of it.
"""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from rewardgen.errors import WorkerError
from rewardgen.sandbox.process import Limits, run_worker

_SECRET = "REWARDGEN_SELFTEST_API_KEY"
_BLOCK = 16 << 20


class LimitCheck(NamedTuple):
    """One limit and whether it held."""

    name: str
    held: bool
    detail: str


def check_limits(scratch: Path) -> tuple[LimitCheck, ...]:
    """Start workers that misbehave and see that each is stopped; takes about two seconds.

    Args:
        scratch: A folder for the workers.
    """
    limits = Limits(wall_s=1.0, memory_bytes=256 << 20)
    return (
        _stopped("time limit", "hang", "timeout", limits, scratch),
        _stopped("memory limit", "allocate", "memory", limits.model_copy(update={"wall_s": 20.0}), scratch),
        _clean_environment(scratch),
    )


def _stopped(name: str, misdeed: str, kind: str, limits: Limits, scratch: Path) -> LimitCheck:
    try:
        run_worker("selftest", {"do": misdeed}, limits=limits, scratch=scratch)
    except WorkerError as error:
        return LimitCheck(name, error.kind == kind, error.message)
    return LimitCheck(name, False, f"a worker that should be stopped by the {name} was not")


def _clean_environment(scratch: Path) -> LimitCheck:
    os.environ[_SECRET] = "secret"
    try:
        result = run_worker("selftest", {"do": "environment"}, limits=Limits(wall_s=20.0), scratch=scratch)
    except WorkerError as error:
        return LimitCheck("no API keys", False, error.message)
    finally:
        del os.environ[_SECRET]
    return LimitCheck("no API keys", _SECRET not in result["names"], f"{len(result['names'])} variables are passed on")


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


def _hang(report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    report({"pid": os.getpid()})
    time.sleep(3600.0)
    return {}


def _allocate(report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    blocks: list[bytes] = []
    while True:
        blocks.append(os.urandom(1024) * (_BLOCK // 1024))


def _share(report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Shared memory, which no limit of the system counts: only watching the process does."""
    blocks: list[mmap.mmap] = []
    while True:
        blocks.append(mmap.mmap(-1, _BLOCK))
        blocks[-1].write(bytes(_BLOCK))
        time.sleep(0.01)


def _abort(report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    print("about to abort", flush=True)
    os.abort()


def _flood(report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    while True:
        print("x" * 1000)
        report({"noise": "x" * 1000})


def _spawn(report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    report({"pid": child.pid})
    time.sleep(3600.0)
    return {}


_MISDEEDS = {
    "environment": _environment,
    "hang": _hang,
    "allocate": _allocate,
    "share": _share,
    "abort": _abort,
    "flood": _flood,
    "spawn": _spawn,
}
