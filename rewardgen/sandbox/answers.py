"""What is taken in of a worker's words: its errors by a list of classes, and its texts as one short printable line."""

from __future__ import annotations

from typing import Any

from rewardgen.core.errors import RewardgenError, RunFolderError, SandboxError, TaskError, UsageError, WorkerError

MESSAGE_CHARS = 3000
"""Longest text that is taken over; what is wrong with a task names paths and lists of valid names."""

_RAISED = {each.__name__: each for each in (UsageError, TaskError, RunFolderError, SandboxError)}
"""What jobs raise for the user: a task, transitions or a value that cannot be used, a full disk, a missing layer."""


def clean(text: object, most: int = MESSAGE_CHARS) -> str:
    """A worker's text as one line without control characters, cut where it is too long.

    Args:
        text: What it sent where a text belongs.
        most: Characters that are kept.
    """
    head = str(text)[: 4 * most]
    line = " ".join("".join(each if each.isprintable() else " " for each in head).split())
    return line if len(line) <= most else f"{line[: most - 3]}..."


def raised(job: str, value: dict[str, Any], log: str) -> RewardgenError:
    """The error that a worker answered with; its own failure, if it is of a class that no job raises for the user.

    Args:
        job: Name of the worker's job.
        value: `type`, `message`, and where they apply `hint` and `kind`.
        log: Where the worker's output is kept.
    """
    message, hint = clean(value.get("message", "")), clean(value.get("hint") or "")
    known = _RAISED.get(str(value.get("type")))
    if known is not None:
        return known(message, hint)
    kind = value.get("kind")
    told = f"the {job} worker failed: {message}"
    return WorkerError(told, hint or f"what it printed is in {log}", kind if kind in ("timeout", "memory") else "crash")
