"""Whether calls of a reward return the same components: those of a sound reward depend on no state and no batch."""

from __future__ import annotations

from collections.abc import Collection

HINT = "return the same components in every call, as zeros where one does not apply"


def unshared(first: Collection[str], second: Collection[str]) -> str:
    """Name the components that only one of two calls returned.

    Args:
        first: Names of the components of one call.
        second: Of another.

    Returns:
        The names, each in backquotes; empty if there are none.
    """
    return ", ".join(f"`{name}`" for name in sorted(set(first) ^ set(second)))
