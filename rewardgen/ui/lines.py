"""Rows as lines of text: fixed columns, one line each at any width, the reason where there are no numbers."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len
from rich.text import Text

from rewardgen.core.formatting import percent
from rewardgen.ui.format import with_spread
from rewardgen.ui.rows import Row

_ID, _OPERATOR, _STATUS, _FITNESS, _SUCCESS = 8, 10, 15, 14, 8

STYLES = {
    "designing": "dim",
    "checking": "cyan",
    "repairing": "yellow",
    "rejected": "yellow",
    "waiting": "dim",
    "training": "blue",
    "trained": "green",
    "failed": "red",
}


def header() -> Text:
    """The columns' names."""
    names = "  " + "candidate".ljust(_ID + 2) + "operator".ljust(_OPERATOR) + "status".ljust(_STATUS)
    return _line(names[:-2] + "fitness ± s.e.".rjust(_FITNESS) + "success".rjust(_SUCCESS) + "  idea", "dim")


def row_line(row: Row) -> Text:
    """One row. A trained or training candidate shows numbers, a rejected or failed one its reason."""
    line = _line("★ " if row.best else "  ", "bold yellow")
    line.append(row.id.ljust(_ID), "bold" if row.best else "")
    line.append(row.operator.ljust(_OPERATOR))
    line.append(_status(row).ljust(_STATUS), STYLES[row.status])
    if row.has_ended_badly or row.status == "repairing":
        line.right_crop(_STATUS - len("repairing "))
        return line.append(row.reason)
    line.append(_right(with_spread(row.fitness, row.spread), _FITNESS), "bold" if row.best else "")
    line.append(_right(percent(row.success_rate), _SUCCESS))
    return line.append(f"  {row.reason}", "dim")


def rows_text(rows: Iterable[Row]) -> Text:
    """A header and all rows, one line each, cut at the right edge."""
    return _joined([header(), *map(row_line, rows)])


def _joined(lines: list[Text]) -> Text:
    joined = Text("\n").join(lines)
    joined.no_wrap, joined.overflow = True, "ellipsis"
    return joined


def _status(row: Row) -> str:
    return f"training {100 * row.progress:3.0f} %" if row.status == "training" else row.status


def _right(text: str, width: int) -> str:
    return " " * (width - cell_len(text)) + text


def _line(text: str, style: str = "") -> Text:
    return Text(text, style="", no_wrap=True, overflow="ellipsis") if not style else Text.assemble((text, style))
