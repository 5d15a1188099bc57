"""A task's files on their way to another machine: packed as they lie to each other, unpacked into a folder by content.

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
    """A task, and its files by where they lie in the folder that they share.

    Args:
        reference: Of the task.
        files: What it is made of, as the run knows it: files, and folders with all in them that is not hidden.

    Raises:
        TaskError: A file cannot be read, or they are too large.
    """
    if reference in shipped_tasks():
        return PackedTask(reference, ""), {}
    task = resolve_task(reference)
    paths = {path for each in (task, *map(Path, files)) for path in _plain(Path(os.path.normpath(each)))}
    root = os.path.commonpath([path.parent for path in paths])
    if sum(path.stat().st_size for path in paths) > _MOST_BYTES:
        what = f"the files of {task.name} take more than {_MOST_BYTES >> 30} GiB, too much to send to other machines"
        raise TaskError(what, "name less in `reads`, or train on this machine alone")
    try:
        content = {os.path.relpath(path, root): path.read_bytes() for path in sorted(paths)}
    except OSError as error:
        raise TaskError(f"{error.filename} cannot be read: {error.strerror}") from error
    digest = hashlib.sha256()
    for name, data in content.items():
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return PackedTask(os.path.relpath(task, root), digest.hexdigest()), content


def unpacked(task: PackedTask, fetch: Callable[[], Mapping[str, bytes]]) -> str:
    """The reference of a task on this machine, whose files are unpacked unless they are here already.

    Raises:
        MachineError: There is no place for them.
    """
    if not task.digest:
        return task.reference
    try:
        place = cache_folder("tasks") / task.digest[:20]
        if not place.is_dir():
            place.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=place.parent) as made:
                for name, data in fetch().items():
                    write_atomic(Path(made) / "whole" / name, data)
                with suppress(OSError):  # another process was first
                    (Path(made) / "whole").rename(place)
            if not place.is_dir():
                raise OSError(f"{place} cannot be made")
    except (OSError, RuntimeError) as error:
        raise MachineError(f"the task's files cannot be unpacked: {error}", "set `XDG_CACHE_HOME`") from error
    return str(place / task.reference)


def _plain(path: Path) -> Iterator[Path]:
    """A file, or those in a folder; hidden ones may be keys, and no worker is granted them here either."""
    if path.is_file():
        yield path
    for folder, below, names in os.walk(path):
        below[:] = [each for each in below if not each.startswith(".")]
        yield from (found for each in names if not each.startswith(".") and (found := Path(folder, each)).is_file())
