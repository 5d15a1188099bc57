"""Turn errors into messages and exit codes."""

from __future__ import annotations

import errno
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from cyclopts import CycloptsError, UnusedCliTokensError

from rewardgen.core.errors import RewardgenError, UsageError
from rewardgen.core.files import explain_os_error
from rewardgen.core.text import visible

INTERRUPTED = 130


def report(error: BaseException) -> int:
    """Print an error to stderr as `error:` and `hint:`.

    Returns:
        The exit code.
    """
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    failure = error if isinstance(error, RewardgenError) else _unexpected(error)
    with suppress(OSError):  # the reader may be gone
        print(
            visible(f"error: {failure.message}" + (f"\n\nhint: {failure.hint}" if failure.hint else "")),
            file=sys.stderr,
        )
    return failure.exit_code


def _unexpected(error: BaseException) -> RewardgenError:
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EMFILE):
        return explain_os_error(Path(error.filename or "a file"), error)
    return RewardgenError(
        f"rewardgen failed unexpectedly: {type(error).__name__}: {error}",
        "run the same command with `--debug` to see where, and please report it",
    )


def explain_usage(error: CycloptsError, command: str) -> UsageError:
    """Reword an error of the command line parser."""
    see_help = f"see `{command} --help`"
    details: Any = getattr(error.__cause__, "errors", None)  # pydantic's, not imported for this
    if details is not None:
        from rewardgen.core.schema import first_fault

        place, message = first_fault(details())
        option = "--" + "-".join(part for part in place if isinstance(part, str)).replace("_", "-")
        return UsageError(f"`{option} {details()[0]['input']}`: {message}", see_help)
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        return UsageError(f"unexpected argument `{error.unused_tokens[0]}`", see_help)
    text = re.sub(r'"([^"]+)"|(?<= )(--[\w-]+\w)', r"`\1\2`", str(error).strip().rstrip("."))
    text = text.rstrip(", ")
    problem, _, advice = re.sub(r"\.?\s+(?=Did you mean|Available)", "\0", text, count=1).partition("\0")
    if re.search(r"`-+algo(rithm)?\b", problem):
        advice = "The algorithm is part of the trainer: `--trainer sb3-sac`"
    if command.endswith(" run") and re.search(r"`--steps`", problem):
        advice = "The control steps of each training are `--env-steps`"
    if not advice:
        return UsageError(_lower_first(problem), see_help)
    return UsageError(_lower_first(problem), f"{_lower_first(advice)}{'' if advice.endswith('?') else ';'} {see_help}")


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
