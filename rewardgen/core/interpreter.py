"""Commands that start another Python."""

from __future__ import annotations

import sys


def python_command(*arguments: str) -> list[str]:
    """The command that starts this interpreter.

    With `-P`: a file of the current folder that is named as a module must not be imported instead of the module. The
    folder may hold a run that somebody else sent.
    """
    return [sys.executable, "-P", *arguments]
