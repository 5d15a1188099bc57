"""Rows of numbers set in columns, narrow enough for a terminal of 80 columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from rewardgen.llm.prompts import number

LINE = 78
"""Longest line of a table: what is left of 80 columns by the margin that the pages have."""
MOST_COLUMNS = 8
NAME = 18
"""Least width of the names of rows."""
LONGEST = 27
"""Of a row's name with its unit; a longer name is cut before its unit."""


class Number(NamedTuple):
    """How numbers are set.

    Attributes:
        digits: Digits of the row's largest number.
        width: Columns of each, the gap before it included.
        least: A row whose largest number is below it is told in a smaller unit.
    """

    digits: int = 3
    width: int = 7
    least: float = 0.01


def columns_beside(width: int) -> int:
    """How many cells fit into a line beside names of a width, at least two."""
    return max(2, min(MOST_COLUMNS, (LINE - width) // Number().width))


def name_width(names: Sequence[str]) -> int:
    """Width of a column of names."""
    return max(NAME, *(len(name) + 1 for name in names), 0)


def titled(name: str, unit: str = "", most: int = LONGEST) -> str:
    """A row's name with its unit, cut to a length."""
    return name[: most - len(unit)] + unit


def row(title: str, width: int, cells: Sequence[str], cell: int = Number().width) -> str:
    """A line: its title, and cells set to the right."""
    return title.ljust(width) + "".join(each.rjust(cell) for each in cells).rstrip()


def scaled(values: Sequence[float], form: Number = Number()) -> tuple[str, list[str]]:  # noqa: B008 (immutable)
    """A row's unit and its cells, with as many decimals as its largest value needs for its digits.

    Numbers that would be too small or too wide are told in a unit such as ` [1e-3]`; the unit is empty for the others.
    """
    scale = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if scale == 0.0 or form.least <= scale < 10.0 ** (form.digits + 2):
        return "", _cells(values, scale, form.digits)
    exponent = 3 * math.floor(math.log10(scale) / 3)
    return f" [1e{exponent}]", _cells([value / 10.0**exponent for value in values], scale / 10.0**exponent, form.digits)


def _cells(values: Sequence[float], scale: float, digits: int) -> list[str]:
    decimals = min(digits, max(0, digits - 1 - math.floor(math.log10(scale)))) if scale else 0
    return [_fixed(value, decimals) for value in values]


def _fixed(value: float, decimals: int) -> str:
    if not math.isfinite(value):
        return number(value)
    text = f"{value:.{decimals}f}"
    return text if float(text) else "0"


def thinned(points: Sequence[Any], most: int) -> list[Any]:
    """At most so many of the points, evenly spread, the first and the last among them."""
    last = len(points) - 1
    count = min(len(points), most)
    return [points[round(index * last / max(count - 1, 1))] for index in range(count)]
