"""Words of a worker, made safe: its errors by a list of classes, its texts as one short printable line."""

from __future__ import annotations

from typing import Any

from rewardgen.core.errors import RewardgenError, RunFolderError, SandboxError, TaskError, UsageError, WorkerError

MESSAGE_CHARS = 3000
"""Longest text of a worker that is kept; errors of a task name paths and lists of valid names."""

_RAISED = {error.__name__: error for error in (UsageError, TaskError, RunFolderError, SandboxError)}
"""Errors that jobs raise for the user."""


def clean(text: object, most: int = MESSAGE_CHARS) -> str:
    """A worker's text as one line without control characters, cut after `most` characters."""
    head = str(text)[: 4 * most]
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in head).split())
    return line if len(line) <= most else f"{line[: most - 3]}..."


def raised(job: str, value: dict[str, Any], log: str) -> RewardgenError:
    """The error that a worker answered with; a `WorkerError` if no job raises its class for the user.

    Args:
        job: Name of the worker's job.
        value: `type`, `message`, and where they apply `hint` and `kind`.
        log: Path of the worker's output.
    """
    message, hint = clean(value.get("message", "")), clean(value.get("hint") or "")
    error = _RAISED.get(str(value.get("type")))
    if error is not None:
        return error(message, hint)
    kind = value.get("kind")
    kind = kind if kind in ("timeout", "memory") else "crash"
    return WorkerError(f"the {job} worker failed: {message}", hint or f"its output is in {log}", kind)
