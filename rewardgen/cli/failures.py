"""The one place that turns an error into what the user reads and the exit code."""

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

    Args:
        error: What was raised.

    Returns:
        The exit code.
    """
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    known = error if isinstance(error, RewardgenError) else _unexpected(error)
    with suppress(OSError):  # nobody may be reading any more
        print(visible(f"error: {known.message}" + (f"\n\nhint: {known.hint}" if known.hint else "")), file=sys.stderr)
    return known.exit_code


def _unexpected(error: BaseException) -> RewardgenError:
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EMFILE):
        return explain_os_error(Path(error.filename or "a file"), error)
    return RewardgenError(
        f"rewardgen failed unexpectedly: {type(error).__name__}: {error}",
        "run the same command with `--debug` to see where, and please report it",
    )


def explain_usage(error: CycloptsError, command: str) -> UsageError:
    """Put an error of the command line parser in our form.

    Args:
        error: What the parser raised.
        command: The command, such as `rewardgen run`.
    """
    see_help = f"see `{command} --help`"
    details: Any = getattr(error.__cause__, "errors", None)  # pydantic's, not imported for this
    if details is not None:
        return UsageError(_explain_value(details()[0]), see_help)
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        return UsageError(f"unexpected argument `{error.unused_tokens[0]}`", see_help)
    text = re.sub(r'"([^"]+)"|(?<= )(--[\w-]+\w)', r"`\1\2`", str(error).strip().rstrip("."))
    text = text.rstrip(", ")
    what, _, advice = re.sub(r"\.?\s+(?=Did you mean|Available)", "\0", text, count=1).partition("\0")
    if re.search(r"`-+algo(rithm)?\b", what):
        advice = "The algorithm is part of the trainer: `--trainer sb3-sac`"
    if command.endswith(" run") and re.search(r"`--steps`", what):
        advice = "The control steps of each training are `--env-steps`"
    if not advice:
        return UsageError(_lower_first(what), see_help)
    return UsageError(_lower_first(what), f"{_lower_first(advice)}{'' if advice.endswith('?') else ';'} {see_help}")


def _explain_value(found: dict[str, Any]) -> str:
    """One entry of a pydantic error, named after the option."""
    option = "--" + "-".join(each for each in found["loc"] if isinstance(each, str)).replace("_", "-")
    return f"`{option} {found['input']}`: {_lower_first(found['msg'])}"


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
