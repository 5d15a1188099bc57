"""Folders that a worker may have filled at will: creating, measuring and removing them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rewardgen.core.files import read_plain

_LOG_BYTES = 2 << 20
"""Largest log that is kept, more than a worker may write."""
_SCRATCH = ".rewardgen-scratch-"
_MARKER = ".rewardgen-scratch"
"""Name of a file in each scratch folder; a folder without it is somebody else's."""
_MARK = b"rewardgen made this folder and deletes it.\n"
_YOUNG_S = 60.0
"""Time in which a new folder may not be locked yet [s]."""


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A temporary folder, locked by this process; `sweep_scratch` removes it after a kill."""
    # A worker that an interruption ends may still write: what is left is swept, and masks no interruption.
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, ignore_cleanup_errors=True) as name:
        handle = os.open(name, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_SH)
            (Path(name) / _MARKER).write_bytes(_MARK)
            yield Path(name)
        finally:
            os.close(handle)


def sweep_scratch() -> list[Path]:
    """Remove the scratch folders that killed processes of this user left behind, and return them.

    Nothing is removed from the working folder, which Python takes where no temporary folder can be written.
    """
    temporary, swept = Path(tempfile.gettempdir()), []
    with contextlib.suppress(OSError):  # a working folder that was deleted
        if temporary.resolve() == Path.cwd().resolve():
            return []
    for path in temporary.glob(f"{_SCRATCH}*"):
        with contextlib.suppress(OSError):
            status = path.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and _is_ours(path) and not _is_held(path):
                discard(path)
                swept.append(path)
    return swept


def _is_ours(folder: Path) -> bool:
    return read_plain(folder / _MARKER, len(_MARK)) == _MARK


def _is_held(folder: Path) -> bool:
    """True if a process holds a folder with a lock, or may be about to."""
    if time.time() - folder.lstat().st_mtime < _YOUNG_S:
        return True
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def folder_use(folder: Path, most: int) -> tuple[int, int]:
    """Return the size on the disk [bytes] and the number of entries of a folder and all below it.

    Somebody else may be changing the folder, or may have filled it so that measuring takes long.

    Measuring ends after `most` entries. A folder that cannot be read, because it is nested deeper than paths can be or
    closed, counts as more: anything may be in it.
    """
    size = entries = 0
    waiting = [str(folder)]
    while waiting and entries <= most:
        try:
            with os.scandir(waiting.pop()) as children:
                for entry in children:
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
    return size, entries


def discard(folder: Path, log: str = "") -> None:
    """Remove a worker's folder as far as possible, however deep it is nested and whatever its modes.

    A file named `log` stays, with the folder, if it has the size of a log.
    """
    if folder.is_symlink():
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
        with os.scandir(path) as children:
            entries = list(children)
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
