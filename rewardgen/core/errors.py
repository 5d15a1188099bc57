"""Errors for the user: a message and a hint with the fix. The command line prints no traceback for them."""

from __future__ import annotations

import difflib
import errno
import re
from collections.abc import Iterable
from typing import Literal


class RewardgenError(Exception):
    """An error with a fix.

    Args:
        message: What is wrong, in one sentence without a full stop.
        hint: The command or edit that fixes it.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if hint:  # shown in tracebacks of Python callers
            self.add_note(f"hint: {hint}")


class UsageError(RewardgenError):
    """A wrong argument, option or configuration value."""

    exit_code = 2


class NeedsConsent(UsageError):
    """A question that a person must answer, where nobody can be asked; the message is the question."""

    exit_code = 3


class TaskError(UsageError):
    """A task file that cannot be loaded or breaks the task contract."""

    placed = False
    """True if the message has a place in the file."""


class UnknownName(TaskError, KeyError, AttributeError):
    """An unknown name in task code; `in`, `get` and `hasattr` work as usual."""


class CredentialsError(RewardgenError):
    """An API key that is missing or was refused."""

    exit_code = 4


class ModelError(RewardgenError):
    """An unknown language model, or a request that it never accepts."""

    exit_code = 2


class RunFolderError(RewardgenError):
    """A run folder that is missing, locked, damaged or not writable."""

    exit_code = 2


class RunFormatError(RunFolderError):
    """A run folder in the format of another version of rewardgen."""


class SandboxError(RewardgenError):
    """A machine that lacks the requested confinement of generated code."""

    exit_code = 2


class WorkerError(RewardgenError):
    """A worker process that crashed, exceeded a limit, or answered out of contract."""

    def __init__(self, message: str, hint: str = "", kind: Literal["timeout", "memory", "crash"] = "crash") -> None:
        super().__init__(message, hint)
        self.kind: Literal["timeout", "memory", "crash"] = kind


class MachineError(RewardgenError):
    """Work that the machine prevented; unlike a `WorkerError`, no fault of the candidate."""


class BudgetExhausted(RewardgenError):
    """The limit on cost or tokens leaves no room for the next call."""


def lacks_memory(error: BaseException | None) -> bool:
    """True if memory was refused. Torch reports that as a RuntimeError, on a GPU as an OutOfMemoryError."""
    refused = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    refused = refused or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
    return refused or any(words in str(error) for words in ("can't allocate memory", "Failed to allocate"))


_MANY = 20


def nearest(name: str, valid: Iterable[str], *, sure: bool = False) -> str | None:
    """Return the valid name closest to an unknown one, or None if nothing is close.

    Names with all words of the unknown one come before names with similar letters; case and separators do not count.
    With `sure`, only close matches count.
    """
    words, names = _words(name), {candidate: _words(candidate) for candidate in valid}
    # One word in common is not sure: `torch.count_nonzero` does not do what `nonzero` does.
    whole = [candidate for candidate in names if len(words) > sure and {*words} <= {*names[candidate]}]
    # The shortest of names that differ in separators alone: `clamp`, not `clamp_`.
    letters = {"".join(names[candidate]): candidate for candidate in sorted(whole or names, key=len, reverse=True)}
    cutoff = 0.0 if whole else 0.75 if sure else 0.6
    if matches := difflib.get_close_matches("".join(words), letters, n=1, cutoff=cutoff):
        return letters[matches[0]]
    shared = {candidate: len({*words} & {*parts}) for candidate, parts in names.items()}
    best = max(shared, key=shared.__getitem__, default=None)
    return best if best is not None and shared[best] and not sure else None


def _words(name: str) -> list[str]:
    return re.findall(r"[^\W_]+", name.lower())


def did_you_mean(name: str, valid: Iterable[str]) -> str:
    """Return a hint for an unknown name: the nearest valid one, and all of them if they are few or none is near."""
    names = sorted(valid)
    close = nearest(name, names)
    listed = ", ".join(names)
    if close and len(names) > _MANY:
        return f"did you mean `{close}`?"
    return f"did you mean `{close}`? valid names: {listed}" if close else f"valid names: {listed}"
