"""The rows of a table of episodes: variables, vectors part by part, or by their size if they have many parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

MOST_PARTS = 12
"""Parts of a vector that are told one by one."""


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


def episode_rows(variables: Mapping[str, Sequence[str]]) -> list[Row]:
    """All rows of a task's variables, in their order.

    Args:
        variables: Name to the names of its parts; none for a scalar.
    """
    rows = []
    for name, parts in variables.items():
        if not parts:
            rows.append(Row(name, name))
        elif len(parts) > MOST_PARTS:
            rows.append(Row(f"|{name}|", name))
        else:
            rows += [Row(f"{name} {part}", name, index) for index, part in enumerate(parts)]
    return rows
