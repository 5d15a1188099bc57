"""Folders that a worker may have filled as it liked: having one, how much is in it, and getting rid of it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rewardgen.core.files import is_young

_LOG_BYTES = 2 << 20
"""More than a worker's log is allowed to take."""


_SCRATCH = "rewardgen-"


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A temporary folder, held by this process: what is left of it after a kill is for `sweep_scratch` to find."""
    with tempfile.TemporaryDirectory(prefix=_SCRATCH) as name:
        holding = os.open(name, os.O_RDONLY)
        try:
            fcntl.flock(holding, fcntl.LOCK_SH)
            yield Path(name)
        finally:
            os.close(holding)


def sweep_scratch() -> list[Path]:
    """Remove the scratch folders that killed processes of this user have left; those removed."""
    swept = []
    for path in Path(tempfile.gettempdir()).glob(f"{_SCRATCH}*"):
        with contextlib.suppress(OSError):
            found = path.stat(follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not is_held(path):
                discard(path)
                swept.append(path)
    return swept


def is_held(folder: Path) -> bool:
    """Whether a process holds a folder with a lock, or may be about to.

    Args:
        folder: The folder.
    """
    if is_young(folder):
        return True
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


class FolderUse(NamedTuple):
    """What is in a folder and all below it."""

    size: int
    """Bytes on the disk."""
    entries: int


def folder_use(folder: Path, most: int) -> FolderUse:
    """Look through a folder that somebody else may be changing, and may have filled so that this takes long.

    Args:
        folder: The folder.
        most: Looking ends after more than so many entries. What cannot be looked into, because it is nested deeper
            than paths can be or closed to reading, counts as more: anything may be in it.
    """
    size = entries = 0
    waiting = [str(folder)]
    while waiting and entries <= most:
        try:
            with os.scandir(waiting.pop()) as found:
                for entry in found:
                    entries += 1
                    if entries > most:
                        break
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    size += 512 * entry.stat(follow_symlinks=False).st_blocks
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            entries = most + 1
    return FolderUse(size, entries)


def discard(folder: Path, log: str = "") -> None:
    """Remove a worker's folder, as far as that is possible: however deep it is nested, and whatever its modes.

    Args:
        folder: The folder; nobody uses it any more.
        log: Name of a file in it that stays, and the folder with it, if it has the size of a log.
    """
    if folder.is_symlink():  # nothing of ours is where it leads
        folder.unlink()
        return
    waiting = [str(folder)]
    while waiting:
        waiting += _empty(waiting.pop(), str(folder), log)
    with contextlib.suppress(OSError):
        folder.rmdir()


def _empty(path: str, top: str, log: str) -> list[str]:
    """Remove a folder and the files in it. Its own folders are moved to the top, so that no path grows longer."""
    moved: list[str] = []
    with contextlib.suppress(OSError):
        os.chmod(path, 0o700)
        with os.scandir(path) as found:
            entries = list(found)
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                os.chmod(entry.path, 0o700)
                moved.append(os.path.join(top, secrets.token_hex(16)))
                os.rename(entry.path, moved[-1])
            elif not (path == top and entry.name == log and _is_log(entry)):
                os.unlink(entry.path)
        if path != top:
            os.rmdir(path)
    return moved


def _is_log(entry: os.DirEntry[str]) -> bool:
    return entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_size <= _LOG_BYTES
