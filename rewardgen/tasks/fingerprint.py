"""Whether a task has changed: hashes of the files that it is made of, in the card, a run and the cache alike."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from rewardgen.tasks.loading import expert_file
from rewardgen.tasks.protocol import Task


def made_of(task: Task) -> list[Path]:
    """What decides about a task's numbers: its file, expert policy, model with all it includes, and what it `reads`."""
    reads = [task.path.parent / each for each in task.reads]
    return [path.absolute() for path in (task.path, expert_file(task.path), *task.model_files(), *reads)]


def digests(paths: Iterable[Path]) -> dict[str, str]:
    """SHA-256 of files by path, of folders with all that is in them; empty for what is not there."""
    return {str(path): _digest(path) for path in paths}


def changed(before: Mapping[str, str]) -> list[Path]:
    """Which of the files are not as they were.

    Args:
        before: Their digests.
    """
    return [path for each, digest in before.items() if _digest(path := Path(each)) != digest]


def fingerprint(found: Mapping[str, str]) -> str:
    """One hash for all of some digests, the same wherever the files lie: 16 hex digits."""
    named = sorted(f"{Path(path).name}\0{digest}\0" for path, digest in found.items())
    return hashlib.sha256("".join(named).encode()).hexdigest()[:16]


def _digest(path: Path) -> str:
    try:
        if path.is_file():
            return hashlib.sha256(path.read_bytes()).hexdigest()
        if not path.is_dir():  # nothing, or what has no end
            return ""
        inside = sorted(each for each in path.rglob("*") if each.is_file())
        return hashlib.sha256(
            "".join(f"{each.relative_to(path)}\0{_digest(each)}\0" for each in inside).encode()
        ).hexdigest()
    except OSError:
        return ""
