"""Clean the texts and errors of a worker: one short printable line, and classes from a list."""

from __future__ import annotations

from typing import Any

from rewardgen.core.errors import RewardgenError, RunFolderError, SandboxError, TaskError, UsageError, WorkerError

MESSAGE_CHARS = 3000
"""Longest text of a worker [characters]; errors of a task name paths and lists of valid names."""

_RAISED = {error.__name__: error for error in (UsageError, TaskError, RunFolderError, SandboxError)}
"""Errors that jobs raise for the user."""


def clean(text: object, most: int = MESSAGE_CHARS) -> str:
    """Return a worker's text as one line without control characters, at most `most` characters."""
    head = str(text)[: 4 * most]
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in head).split())
    return line if len(line) <= most else f"{line[: most - 3]}..."


def raised(job: str, value: dict[str, Any], log: str) -> RewardgenError:
    """Return the error in a worker's answer; a `WorkerError` if its class is not for users.

    The answer has a `type`, a `message`, and optionally a `hint` and a `kind`.
    """
    message, hint = clean(value.get("message", "")), clean(value.get("hint") or "")
    error = _RAISED.get(str(value.get("type")))
    if error is not None:
        return error(message, hint)
    kind = value.get("kind")
    kind = kind if kind in ("timeout", "memory") else "crash"
    return WorkerError(f"the {job} worker failed: {message}", hint or f"its output is in {log}", kind)
