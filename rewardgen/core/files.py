"""Files: atomic writes, and careful reads of files that anybody may have written."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import tempfile
from pathlib import Path

from rewardgen.core.errors import RunFolderError

_SUFFIX = ".unfinished"
_UNFINISHED = re.compile(r"\..+\.[a-z0-9_]{8}" + re.escape(_SUFFIX))
MORE_FILES = "allow more open files, with `ulimit -n 1024`"


def write_atomic(path: Path, content: str | bytes) -> None:
    """Write a file through a temporary name in the same folder, flushed and renamed; missing folders are created.

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
        # A confined worker may not change modes; its files stay private.
        with contextlib.suppress(PermissionError):
            os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise


def sweep_unfinished(folder: Path) -> None:
    """Remove temporary files of killed `write_atomic` calls below a folder, where no process may be writing."""
    for place, _, names in os.walk(folder):
        for path in (Path(place, name) for name in names if _UNFINISHED.fullmatch(name)):
            with contextlib.suppress(OSError):
                path.unlink()


def read_plain(path: Path, most: int, start: int = 0) -> bytes:
    """Read at most so many bytes of a plain file that anybody may have written, without following links or waiting.

    Raises:
        OSError: The file is missing, a link, not a plain file, or larger; `strerror` says which.
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
        raise OSError(errno.EFBIG, f"it is larger than {most:,} bytes", str(path))
    return content


def explain_os_error(path: Path, error: OSError, option: str = "") -> RunFolderError:
    """Turn an error of the operating system on a path, which an option may choose, into one with a hint."""
    if error.errno == errno.ENOSPC:
        hint = "free some space; `rewardgen resume latest` continues a run"
        return RunFolderError(f"the disk is full: cannot write {path}", hint)
    if error.errno == errno.EMFILE:
        return RunFolderError(f"cannot open {path}: {error.strerror}", MORE_FILES)
    hint = f"check the path given with `{option}`" if option else "check the path"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        hint = "choose a folder you may write" + (f" with `{option}`" if option else "")
    return RunFolderError(f"cannot write {path}: {error.strerror or error}", hint)


def cache_folder(name: str) -> Path:
    """Return a folder for data that outlives a run; need not exist.

    Raises:
        RuntimeError: The user has no home folder.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "rewardgen" / name
