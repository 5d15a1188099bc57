"""The rows of a table of episodes: variables, vectors part by part, or by their size if they have many parts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

MOST_PARTS = 12
"""Parts of a vector that are told one by one."""
MOST_ROWS = 256


class Row(NamedTuple):
    """One row.

    Attributes:
        title: `height`, `puck_position x` or `|contact_forces|`.
        variable: Name of the variable.
        part: Index of its part; None for a scalar, and for the size of a vector.
    """

    title: str
    variable: str
    part: int | None = None


def episode_rows(
    variables: Mapping[str, Sequence[str]], most: int = MOST_ROWS, last: Collection[str] = ()
) -> list[Row]:
    """All rows of a task's variables, in their order.

    Args:
        variables: Name to the names of its parts; none for a scalar.
        most: Rows for which there is room; the longest vectors are told by their size until the rest fits.
        last: Variables of which the parts are told only if there is room for those of all others.
    """
    room = most - len(variables)
    told = set()
    for name, parts in sorted(variables.items(), key=lambda each: (each[0] in last, len(each[1]))):
        room -= max(0, len(parts) - 1)
        if len(parts) <= MOST_PARTS and room >= 0:
            told.add(name)
    rows = []
    for name, parts in variables.items():
        if not parts:
            rows.append(Row(name, name))
        elif name in told:
            rows += [Row(f"{name} {part}", name, index) for index, part in enumerate(parts)]
        else:
            rows.append(Row(f"|{name}|", name))
    return rows
