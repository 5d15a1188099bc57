"""Hashes of the files of a task, which tell the card, a run and the cache whether the task has changed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from rewardgen.tasks.loading import expert_file
from rewardgen.tasks.protocol import Task

_MOST_BYTES = 1 << 30
_MOST_FILES = 100_000
_CHUNK = 1 << 20


def made_of(task: Task) -> list[Path]:
    """Return every file that decides about a task's numbers.

    Its file and those of shipped tasks that it builds on, its expert policy, its model with all files that it includes,
    and its `reads`.
    """
    files = [vars(base)["path"] for base in type(task).__mro__ if "path" in vars(base)]
    reads = [task.path.parent / name for name in task.reads]
    return [path.absolute() for path in (*files, expert_file(task.path), *task.sources(), *reads)]


def digests(paths: Iterable[Path]) -> dict[str, str]:
    """Return SHA-256 hashes of files, and of folders with all their files, by path.

    A path that is missing, unreadable, or exceeds 1 GiB or 100,000 files in total gets an empty digest. The latter
    always counts as changed: a run may come from anybody, and name anything.
    """
    reader = _Reader()
    return {str(path): reader.digest(path) or "" for path in paths}


def changed(before: Mapping[str, str]) -> list[Path]:
    """Return the paths whose digests differ from earlier ones."""
    reader = _Reader()
    return [Path(name) for name, digest in before.items() if reader.digest(Path(name)) != digest]


def fingerprint(files: Mapping[str, str]) -> str:
    """Return one hash of digests, 16 hex digits, the same wherever the files lie."""
    named = sorted(f"{Path(path).name}\0{digest}\0" for path, digest in files.items())
    return hashlib.sha256("".join(named).encode()).hexdigest()[:16]


class _Reader:
    """Hashes files within limits on bytes and files in total."""

    def __init__(self) -> None:
        self._bytes, self._files = _MOST_BYTES, _MOST_FILES

    def digest(self, path: Path) -> str | None:
        """Return the hash of a file or a folder; empty if missing or unreadable, None above the limits."""
        try:
            if not path.is_dir():
                return self._of_file(path)
            digest = hashlib.sha256()
            for name, file in sorted(self._inside(path)):
                content = self._of_file(file)
                if content is None:
                    return None
                digest.update(os.fsencode(f"{name}\0{content}\0"))
        except OSError:
            return ""
        return None if self._files < 0 else digest.hexdigest()

    def _inside(self, folder: Path) -> Iterator[tuple[str, Path]]:
        """Yield the files below a folder with their relative paths; links to folders are not followed."""
        for place, folders, names in os.walk(folder):
            self._files -= len(folders)
            if self._files < len(names):
                self._files = -1
                return
            for path in (Path(place, name) for name in names):
                if path.is_file():
                    yield str(path.relative_to(folder)), path

    def _of_file(self, path: Path) -> str | None:
        self._files -= 1
        digest = hashlib.sha256()
        try:
            if self._bytes < 0 or self._files < 0:
                return None
            if not path.is_file():
                return ""
            with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
                while chunk := file.read(min(_CHUNK, self._bytes + 1)):
                    self._bytes -= len(chunk)  # a size that the file system tells may be wrong, as in /proc
                    if self._bytes < 0:
                        return None
                    digest.update(chunk)
        except OSError:
            return ""
        return digest.hexdigest()
