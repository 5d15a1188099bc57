"""Errors in a user's task code, told by file, method and line instead of by a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from rewardgen.core.errors import RewardgenError, TaskError
from rewardgen.tasks.task import Task, task_error


@contextmanager
def task_faults(task: Task, method: str = "") -> Iterator[None]:
    """Turn an exception out of task code into a `TaskError` with the method and the line.

    Args:
        task: The task whose code runs.
        method: What is being called, if no frame of the task file tells.

    Raises:
        TaskError: The code raised.
    """
    try:
        yield
    except RewardgenError:
        raise
    except Exception as error:
        raise fault(task, error, method) from error


def fault(task: Task, error: Exception, method: str = "") -> TaskError:
    """The `TaskError` for an exception out of task code.

    Args:
        task: The task whose code raised.
        error: What it raised.
        method: What was being called, if no frame of the task file tells.
    """
    name = task.path.name
    entry, line = _place(error.__traceback__, str(task.path))
    where = f"`{entry or method}` of {name}" if entry or method else name
    at = f" at line {line}" if line else ""
    return task_error(task.path, where, at, error)


def _place(trace: TracebackType | None, path: str) -> tuple[str, int | None]:
    """Outermost function of the task file on the traceback, and the innermost line in that file."""
    entry, line = "", None
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == path:
            entry = entry or code.co_name
            line = trace.tb_lineno
        trace = trace.tb_next
    return entry, line
