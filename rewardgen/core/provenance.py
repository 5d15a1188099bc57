"""Provenance of a run: versions, source commit, machine and command line."""

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
    """Return versions, git commit of a source checkout, host and command line, as JSON-ready data."""
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
    """Return the number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def installed_version(package: str) -> str | None:
    """Return the version of a package; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit() -> dict[str, object] | None:
    """Return the commit of the package's checkout, and if it has uncommitted changes; None outside a checkout."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    head = _git(root, "rev-parse", "HEAD")
    return {"id": head, "modified": bool(_git(root, "status", "--porcelain"))} if head else None


def _git(root: Path, *arguments: str) -> str:
    try:
        result = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""
