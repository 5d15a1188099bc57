"""Errors in a user's task code, told by file, method and line instead of by a traceback. Loads no torch."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rewardgen.core.errors import TaskError


@contextmanager
def task_faults(path: Path, method: str = "") -> Iterator[None]:
    """Turn an exception out of task code into a `TaskError` with the method and the line.

    A file that the sandbox refused is told as that: else nothing would explain why a file that is there and may be read
    cannot be opened.

    Args:
        path: The task file whose code runs.
        method: What is being called, if no frame of the task file tells.

    Raises:
        TaskError: The code raised.
    """
    try:
        yield
    except TaskError as error:
        entry, line = _place(error, str(path))
        if line and not error.placed:
            error.message += f" (`{entry}` of {path.name}, line {line})" if entry else f" ({path.name}, line {line})"
            error.placed = True
        raise
    except Exception as error:
        entry, line = _place(error, str(path))
        where = f"`{entry or method}` of {path.name}" if entry or method else path.name
        at = f"{where} at line {line}" if line else where
        refused = _refused(error)
        if refused is not None:
            hint = f"if the task needs it, name it or its folder in the class: `reads = ({refused!r},)`"
            raise TaskError(f"the sandbox keeps {at} from {refused}", hint) from error
        told = f"{where} raised {type(error).__name__}{f' at line {line}' if line else ''}: {error}"
        raise TaskError(told, f"fix {path}") from error


def _place(error: Exception, path: str) -> tuple[str, int | None]:
    """Outermost function of the task file on the traceback, and the innermost line in that file."""
    if isinstance(error, SyntaxError):
        return "", error.lineno
    entry, line = "", None
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == path:
            entry = entry or code.co_name.replace("<module>", "")
            line = trace.tb_lineno
        trace = trace.tb_next
    return entry, line


def _refused(error: BaseException | None) -> str | None:
    """The file that could not be opened though its modes, which are all that `access` looks at, allow it."""
    while error is not None:
        if isinstance(error, PermissionError) and error.errno == errno.EACCES:
            name = error.filename
            if isinstance(name, str) and os.access(name, os.R_OK):
                return os.path.abspath(name)
        error = error.__cause__ or error.__context__
    return None
