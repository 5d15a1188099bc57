"""Whether a task has changed: hashes of the files that it is made of, in the card, a run and the cache alike."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from rewardgen.tasks.loading import expert_file
from rewardgen.tasks.protocol import Task

_MOST_BYTES = 1 << 30
_MOST_ENTRIES = 100_000
_PART_BYTES = 1 << 20


def made_of(task: Task) -> list[Path]:
    """What decides about a task's numbers: its file, those of shipped tasks that it builds on, its expert policy, its
    model with all it includes, and what it `reads`.
    """
    files = [vars(each)["path"] for each in type(task).__mro__ if "path" in vars(each)]
    reads = [task.path.parent / each for each in task.reads]
    return [path.absolute() for path in (*files, expert_file(task.path), *task.model_files(), *reads)]


def digests(paths: Iterable[Path]) -> dict[str, str]:
    """SHA-256 of files by path, of folders with all that is in them.

    Args:
        paths: Of plain files and folders, together of up to 1 GiB and 100,000 entries: a run may have come from
            anybody, and name anything.

    Returns:
        Empty for what is not there or cannot be read, and from where on it is more; that always counts as changed.
    """
    bounds = _Bounds()
    return {str(path): bounds.digest(path) or "" for path in paths}


def changed(before: Mapping[str, str]) -> list[Path]:
    """Which of the files are not as they were.

    Args:
        before: Their digests.
    """
    bounds = _Bounds()
    return [path for each, digest in before.items() if bounds.digest(path := Path(each)) != digest]


def fingerprint(found: Mapping[str, str]) -> str:
    """One hash for all of some digests, the same wherever the files lie: 16 hex digits."""
    named = sorted(f"{Path(path).name}\0{digest}\0" for path, digest in found.items())
    return hashlib.sha256("".join(named).encode()).hexdigest()[:16]


class _TooMuchError(Exception):
    """More is to be read than may be."""


class _Bounds:
    """What may still be read."""

    def __init__(self) -> None:
        self._bytes, self._entries = _MOST_BYTES, _MOST_ENTRIES

    def digest(self, path: Path) -> str | None:
        """Of a file or a folder; empty if it is not there or cannot be read, None if it is too much."""
        try:
            if path.is_file():
                return self._of_file(path)
            if not path.is_dir():  # nothing, or what has no end
                return ""
            digest = hashlib.sha256()
            for each in sorted(self._inside(path)):
                digest.update(os.fsencode(f"{each.relative_to(path)}\0{self._of_file(each)}\0"))
            return digest.hexdigest()
        except _TooMuchError:
            return None
        except OSError:
            return ""

    def _of_file(self, path: Path) -> str:
        self._count()
        digest = hashlib.sha256()
        try:
            with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
                found = os.fstat(file.fileno())
                if not stat.S_ISREG(found.st_mode) or found.st_size > self._bytes:
                    raise _TooMuchError
                while part := file.read(min(_PART_BYTES, self._bytes + 1)):  # the kernel's files tell no size
                    self._bytes -= len(part)
                    if self._bytes < 0:
                        raise _TooMuchError
                    digest.update(part)
        except OSError:
            return ""
        return digest.hexdigest()

    def _inside(self, folder: Path) -> Iterator[Path]:
        """The files below a folder; links to folders are not followed."""
        waiting = [folder]
        while waiting:
            with suppress(PermissionError), os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    self._count()
                    path = Path(entry.path)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(path)
                    elif path.is_file():
                        yield path

    def _count(self) -> None:
        self._entries -= 1
        if self._entries < 0:
            raise _TooMuchError
