"""Self-test of the sandbox for `rewardgen doctor`: a worker that tries to break out."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rewardgen.sandbox import layers
from rewardgen.sandbox.jobs import register
from rewardgen.sandbox.layers import LayerReport
from rewardgen.sandbox.process import Limits, run_worker

SELFTEST = register("selftest", "rewardgen.sandbox.selftest:selftest_job", device=("device",))

_SECRET = "REWARDGEN_SELFTEST_API_KEY"
_KEY, _WRITTEN, _PORT = "key", "written", "port"


def layers_in_force(scratch: Path, limits: Limits | None = None, *, gpu: bool = False) -> LayerReport:
    """Return the layers in force in a worker on this machine, or in one that computed on a GPU, by torch and Warp.

    Raises:
        SandboxError: A layer is missing, and the limits are strict.
        WorkerError: The worker could not compute on the GPU.
    """
    payload = {"do": "compute", "device": "cuda"} if gpu else {"do": "layers"}
    report = run_worker(SELFTEST, payload, limits=limits or Limits(wall_s=60.0), scratch=scratch)
    return LayerReport.model_validate(report)


def escapes(scratch: Path) -> tuple[str, ...]:
    """Return a worker's successful attempts to leave its folder; empty where all layers are in force."""
    folder = scratch / "confined"
    folder.mkdir(parents=True, exist_ok=True)
    (scratch / _KEY).write_text("secret")
    os.environ[_SECRET] = "secret"
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            (folder / _PORT).write_text(str(server.getsockname()[1]))
            attempts = run_worker(SELFTEST, {"do": "break out"}, limits=Limits(wall_s=20.0), scratch=folder)
            seen = {"write a file": (scratch / _WRITTEN).exists(), "open a connection": _was_called(server)}
    finally:
        del os.environ[_SECRET]
    return tuple(name for name, succeeded in {**attempts, **seen}.items() if succeeded)


def _was_called(server: socket.socket) -> bool:
    server.setblocking(False)
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def selftest_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Run the entry `do` of `MISDEEDS`."""
    return MISDEEDS[payload["do"]](report)


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
    """Try the main aims of hostile code; `escapes` checks the effects."""
    folder = Path.cwd()
    outside = folder.parent
    attempts: dict[str, Callable[[], object]] = {
        "read an API key": lambda: os.environ[_SECRET],
        "read a file": (outside / _KEY).read_text,
        "write a file": (outside / _WRITTEN).touch,
        "open a connection": lambda: socket.create_connection(("127.0.0.1", int((folder / _PORT).read_text())), 1.0),
        "start a process": lambda: os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0),
    }
    return {name: _succeeds(attempt) for name, attempt in attempts.items()}


def _succeeds(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except (OSError, KeyError):
        return False
    return True


MISDEEDS = {"layers": _layers, "compute": _compute, "break out": _break_out}
