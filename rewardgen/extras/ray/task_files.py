"""Sends a task's files to another machine: packed by relative path, unpacked into a folder named by content.

A shipped task travels by its name. Of any other go the files that are known to decide about it, see
`rewardgen.tasks.fingerprint.made_of`; what its environment or its file imports has to be installed there.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rewardgen.core.errors import MachineError, TaskError
from rewardgen.core.files import cache_folder, write_atomic
from rewardgen.tasks.loading import resolve_task, shipped_tasks

_MOST_BYTES = 1 << 30


class PackedTask(NamedTuple):
    """A task without its files.

    Attributes:
        reference: Name of a shipped task, or where the task file lies among the files.
        digest: Hash of the files; empty for a shipped task.
    """

    reference: str
    digest: str


def packed(reference: str, files: Iterable[str]) -> tuple[PackedTask, dict[str, bytes]]:
    """Pack a task, and its files by their path in the folder that they share."""
    if reference in shipped_tasks():
        return PackedTask(reference, ""), {}
    task = resolve_task(reference)
    paths = {path for part in (task, *map(Path, files)) for path in _plain(Path(os.path.normpath(part)))}
    root = os.path.commonpath([path.parent for path in paths])
    if sum(path.stat().st_size for path in paths) > _MOST_BYTES:
        message = f"the files of {task.name} take more than {_MOST_BYTES >> 30} GiB, too much to send to other machines"
        raise TaskError(message, "name less in `reads`, or train on this machine alone")
    try:
        content = {os.path.relpath(path, root): path.read_bytes() for path in sorted(paths)}
    except OSError as error:
        raise TaskError(f"{error.filename} cannot be read: {error.strerror}") from error
    digest = hashlib.sha256()
    for name, data in content.items():
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return PackedTask(os.path.relpath(task, root), digest.hexdigest()), content


def unpacked(task: PackedTask, fetch: Callable[[], Mapping[str, bytes]]) -> str:
    """Unpack a task's files, unless they are here already, and return its reference on this machine."""
    if not task.digest:
        return task.reference
    try:
        place = cache_folder("tasks") / task.digest[:20]
        if not place.is_dir():
            place.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=place.parent) as unfinished:
                for name, data in fetch().items():
                    write_atomic(Path(unfinished) / "whole" / name, data)
                with suppress(OSError):  # another process was first
                    (Path(unfinished) / "whole").rename(place)
            if not place.is_dir():
                raise OSError(f"{place} cannot be made")
    except (OSError, RuntimeError) as error:
        raise MachineError(f"the task's files cannot be unpacked: {error}", "set `XDG_CACHE_HOME`") from error
    return str(place / task.reference)


def _plain(path: Path) -> Iterator[Path]:
    """A file, or those in a folder except hidden ones, which may be keys."""
    if path.is_file():
        yield path
    for folder, below, names in os.walk(path):
        below[:] = [name for name in below if not name.startswith(".")]
        yield from (file for name in names if not name.startswith(".") and (file := Path(folder, name)).is_file())
