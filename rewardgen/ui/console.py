"""The two consoles: results on stdout, messages on stderr. Text is never read as markup."""

from __future__ import annotations

from rich.console import Console


def results() -> Console:
    """Where a command's results go."""
    return Console(markup=False, highlight=False, emoji=False)


def messages() -> Console:
    """Where progress, notes and next steps go."""
    return Console(stderr=True, markup=False, highlight=False, emoji=False)
