"""Tables: candidates one line each, the closing table of a run, and empty tables for lists."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from rewardgen.core.formatting import percent
from rewardgen.store.history import Summary
from rewardgen.store.judgement_records import Judgement
from rewardgen.view.facts import HEADINGS, NORMALISED, closing_rows
from rewardgen.view.rows import Row

_ID, _OPERATOR, _STATUS, _MERIT, _SUCCESS = 8, 10, 15, 16, 8
_NUMBERS = 2 + _ID + _OPERATOR + _STATUS + _MERIT + _SUCCESS
_NARROWEST_COURSE, _WIDEST_COURSE = 12, 24
_NARROWEST_IDEA = 16
_BLOCKS = "▁▂▃▄▅▆▇█"

_STYLES = {
    "designing": "dim",
    "checking": "cyan",
    "repairing": "yellow",
    "rejected": "yellow",
    "waiting": "dim",
    "training": "blue",
    "trained": "green",
    "failed": "red",
}


def one_line(text: Text | str, style: str = "") -> Text:
    """Text on one line, cut at the right edge."""
    line = Text(text, style) if isinstance(text, str) else text
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


class RowsTable:
    """A header and a line per candidate, cut at the right edge.

    Fitness over training is drawn on one scale for all rows, green from the human reward's fitness on. Ideas stand
    beside the numbers where there is room, else until there are numbers. A full block is the highest possible fitness,
    or that of the rows if it is None.
    """

    def __init__(self, rows: Iterable[Row], best_fitness: float | None = None) -> None:
        self._rows, self._best_fitness = list(rows), best_fitness

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = options.max_width - _NUMBERS - 2
        cells = min(_WIDEST_COURSE, room) if room >= _NARROWEST_COURSE else 0
        if room >= _NARROWEST_COURSE + 2 + _NARROWEST_IDEA:
            cells = max(_NARROWEST_COURSE, min(_WIDEST_COURSE, room // 3))
        scale = _scale(self._rows, self._best_fitness)
        bar = next((row.merit for row in self._rows if row.id == "human" and row.status == "trained"), None)
        has_ideas = room - cells >= _NARROWEST_IDEA
        yield _head(self._rows[0].measure if self._rows else "fitness", cells, has_ideas)
        for row in self._rows:
            course = _course(row, cells, scale, bar) if scale else Text()
            yield row_line(row, row.reason if has_ideas or not row.has_numbers else "", course, cells)


def _head(measure: str, cells: int, has_ideas: bool) -> Text:
    line = Text("  " + "candidate".ljust(_ID + 2) + "operator".ljust(_OPERATOR) + "status".ljust(_STATUS - 2), "dim")
    line.append(f"{measure} ± s.e.".rjust(_MERIT) + "success".rjust(_SUCCESS))
    line.append("  " + "over training".ljust(cells) if cells else "")
    return one_line(line.append("  idea") if has_ideas else line)


def row_line(row: Row, reason: str, course: Text | None = None, cells: int = 0) -> Text:
    """One candidate, as in `RowsTable`."""
    line = one_line("")
    line.append("★ " if row.best else "  ", "bold yellow")
    line.append(row.id.ljust(_ID), "bold" if row.best else "")
    line.append(row.operator.ljust(_OPERATOR))
    status = f"training {100 * row.progress:3.0f} %" if row.status == "training" else row.status
    status = "stopped early" if row.status == "trained" and row.stopped else status
    line.append(status.ljust(_STATUS if row.has_numbers else len("designing ")), _STYLES[row.status])
    if not row.has_numbers:
        return line.append(reason, "" if row.has_ended_badly or row.status == "repairing" else "dim")
    line.append(" " * (_MERIT - cell_len(row.merit_text)) + row.merit_text, "bold" if row.best else "")
    line.append(percent(row.success_rate).rjust(_SUCCESS))
    if course is not None and cells:
        line.append("  ").append_text(course).append(" " * (cells - cell_len(course.plain)))
    return line.append(f"  {reason}" if reason else "", "dim")


def _scale(rows: Sequence[Row], best_fitness: float | None) -> tuple[float, float] | None:
    """Lowest and highest fitness drawn; outliers below are cut, and small differences stay small."""
    values = sorted(fitness for row in rows for _, fitness in row.course)
    if not values:
        return None
    lowest, highest = values[len(values) // 20], values[-1]
    if best_fitness is not None:
        return min(0.0, lowest), max(best_fitness, highest)
    return min(lowest, highest - abs(highest) / 5), highest


def _course(row: Row, cells: int, scale: tuple[float, float], bar: float | None) -> Text:
    """Fitness over training as blocks between two values, green from a bar on, with dots for the time to come."""
    low, high = scale
    line = Text()
    for cell in range(1, cells + 1):
        share = cell / cells
        if not row.course or share > row.course[-1][0] + 0.5 / cells:
            line.append("·" if row.status == "training" else " ", "dim")
            continue
        _, fitness = row.course[min(bisect_left(row.course, (share,)), len(row.course) - 1)]
        level = (fitness - low) / (high - low) if high > low else 0.0
        block = _BLOCKS[max(0, min(len(_BLOCKS) - 1, int(level * len(_BLOCKS))))]
        line.append(block, "green" if bar is not None and fitness >= bar else "blue")
    return line


def plain_table(*columns: str, right: Sequence[str] = ()) -> Table:
    """An empty table without a frame, from its headings and those of right-aligned columns."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    return table


def judgement_text(judgement: Judgement) -> Text:
    """The model's judgement of the result; a no stands out."""
    style = {"yes": "green", "partly": "bold yellow", "no": "bold red"}.get(judgement.answer or "", "")
    return Text(judgement.text, style)


def closing_table(summary: Summary) -> RenderableType:
    """The winner and the task's own rewards on the fresh seeds, and the conclusion."""
    rows = closing_rows(summary)
    shown = [heading for heading in HEADINGS if heading != NORMALISED or any(row.normalised for row in rows)]
    table = plain_table(*shown, right=HEADINGS[1:])
    for row in rows:
        fitness = Text(row.failure, "red") if row.failure else row.fitness
        name, style = f"{'★' if row.is_chosen else ' '} {row.id}", "bold green" if row.is_chosen else ""
        cells = dict(zip(HEADINGS, (name, fitness, row.success, row.normalised, row.seeds), strict=True))
        table.add_row(*(cells[heading] for heading in shown), style=style)
    about = [Text(), Text(summary.conclusion), Text(f"The search stopped: {summary.reason}.", "dim")]
    return Group(*([table] if rows else []), *about)
