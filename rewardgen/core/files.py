"""Files: written so that a crash at any moment leaves the old content or the new, and read where others left them."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import tempfile
import time
from pathlib import Path

from rewardgen.core.errors import RunFolderError

_SUFFIX = ".unfinished"
_UNFINISHED = re.compile(r"\..+\.[a-z0-9_]{8}" + re.escape(_SUFFIX))
_YOUNG_S = 60.0
MORE_FILES = "allow more open files, with `ulimit -n 1024`"
"""A hint."""


def write_atomic(path: Path, content: str | bytes) -> None:
    """Write a file through a temporary name in the same folder, flushed and renamed.

    Args:
        path: The file to write; its parent folders are made.
        content: Text (UTF-8) or bytes.

    Raises:
        RunFolderError: The disk is full, or the folder cannot be written.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, data)
    except OSError as error:
        raise explain_os_error(path, error) from error


def _replace(path: Path, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=_SUFFIX)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # A confined worker may not change modes: what it writes stays its user's own.
        with contextlib.suppress(PermissionError):
            os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise


def sweep_unfinished(folder: Path, *, shared: bool = False) -> list[Path]:
    """Remove what `write_atomic` has left where it was killed; what was removed.

    Args:
        folder: Looked through with all below it; nobody writes there now.
        shared: Whether others may write there now, and more may lie below it than ours: then only what is in the
            folder itself and not young is removed.
    """
    swept = []
    for place, below, names in os.walk(folder):
        if shared:
            below.clear()
        for path in (Path(place, name) for name in names if _UNFINISHED.fullmatch(name)):
            with contextlib.suppress(OSError):
                if not (shared and is_young(path)):
                    path.unlink()
                    swept.append(path)
    return swept


def is_young(path: Path) -> bool:
    """Whether a file or folder was made or changed so lately that it may be in use, though nobody holds it yet."""
    return time.time() - path.lstat().st_mtime < _YOUNG_S


def read_plain(path: Path, most: int, start: int = 0) -> bytes:
    """Read a file that somebody else may have put there: no link is followed, and of a pipe nothing is waited for.

    Args:
        path: The file.
        most: Largest size [bytes].
        start: Where in it to begin; nothing is read of a file that is shorter.

    Raises:
        OSError: It is missing, a link, no plain file, or larger; `strerror` says which.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "it is a link, and links are not followed", str(path)) from error
        raise
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a plain file", str(path))
        if start:
            file.seek(start)
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most >> 20} MiB", str(path))
    return content


def explain_os_error(path: Path, error: OSError, option: str = "--runs-dir") -> RunFolderError:
    """Turn an operating-system error on a path into one that says how to fix it.

    Args:
        path: The path.
        error: What the operating system said.
        option: By which the user chose where the path is.
    """
    if error.errno == errno.ENOSPC:
        return RunFolderError(
            f"the disk is full: cannot write {path}", "free some space, then run `rewardgen resume latest`"
        )
    if error.errno == errno.EMFILE:
        return RunFolderError(f"cannot open {path}: {error.strerror}", MORE_FILES)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return RunFolderError(
            f"cannot write {path}: {error.strerror}", f"choose a folder you may write with `{option}`"
        )
    return RunFolderError(f"cannot write {path}: {error.strerror or error}", f"check the path given with `{option}`")


def cache_folder(name: str) -> Path:
    """Where something is kept between runs; it may not be there.

    Raises:
        RuntimeError: The user has no home.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "rewardgen" / name
