"""Where a run's numbers come from: versions, source commit, machine, and the command that started it."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rewardgen import __version__

PACKAGES = ("torch", "mujoco", "gymnasium", "numpy", "litellm", "openai", "stable-baselines3", "pydantic")


def provenance() -> dict[str, object]:
    """Versions, git commit of the source tree if it is one, host, and command line, as JSON-ready data."""
    return {
        "command": shlex.join(["rewardgen", *sys.argv[1:]]),
        "python": platform.python_version(),
        "packages": {"rewardgen": __version__} | {name: installed_version(name) for name in PACKAGES},
        "commit": _commit(),
        "platform": platform.platform(),
        "processor": platform.machine(),
        "cores": usable_cores(),
        "host": platform.node(),
    }


def usable_cores() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def installed_version(package: str) -> str | None:
    """The version of an installed package; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit() -> dict[str, object] | None:
    """Commit of the checkout that the package runs from, and whether it has uncommitted changes."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    head = _git(root, "rev-parse", "HEAD")
    return {"id": head, "modified": bool(_git(root, "status", "--porcelain"))} if head else None


def _git(root: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
