"""Tables of results: candidates one line each, the closing table of a run, and empty tables for lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from rewardgen.core.formatting import number, percent, percent_interval, with_interval, with_spread
from rewardgen.store.history import Summary
from rewardgen.store.records import BASELINES, Judgement
from rewardgen.view.rows import Row

_ID, _OPERATOR, _STATUS, _FITNESS, _SUCCESS = 8, 10, 15, 14, 8
_BEFORE_REASON = 2 + _ID + _OPERATOR + len("designing ")
_NUMBERS = 2 + _ID + _OPERATOR + _STATUS + _FITNESS + _SUCCESS
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


def row_line(row: Row) -> Text:
    """One candidate by itself: see `RowsTable`."""
    return _line(row, row.reason)


class RowsTable:
    """A header and all rows, one line each at any width, cut at the right edge.

    The course of the fitness over training is drawn on one scale for all rows; where it is at the human reward's or
    above, it is green. The idea stands beside the numbers where there is room, else until there are numbers.

    Args:
        rows: The rows.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = list(rows)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = options.max_width - _NUMBERS - 2
        cells = min(_WIDEST_COURSE, room) if room >= _NARROWEST_COURSE else 0
        if room >= _NARROWEST_COURSE + 2 + _NARROWEST_IDEA:
            cells = max(_NARROWEST_COURSE, min(_WIDEST_COURSE, room // 3))
        scale = _scale(self._rows)
        bar = next((row.fitness for row in self._rows if row.id == "human" and row.status == "trained"), None)
        yield _head(cells, room)
        for row in self._rows:
            course = course_line(row, cells, scale, bar) if scale else Text()
            shown = row.reason if room - cells >= _NARROWEST_IDEA or not row.has_numbers else ""
            yield _line(row, shown, course, cells)


def _head(cells: int, room: int) -> Text:
    line = _cut(Text("  " + "candidate".ljust(_ID + 2) + "operator".ljust(_OPERATOR) + "status".ljust(_STATUS), "dim"))
    line.right_crop(2)
    line.append("fitness ± s.e.".rjust(_FITNESS) + "success".rjust(_SUCCESS))
    line.append("  " + "over training".ljust(cells) if cells else "")
    return line.append("  idea") if room - cells >= _NARROWEST_IDEA else line


def _line(row: Row, reason: str, course: Text | None = None, cells: int = 0) -> Text:
    line = _cut(Text())
    line.append("★ " if row.best else "  ", "bold yellow")
    line.append(row.id.ljust(_ID), "bold" if row.best else "")
    line.append(row.operator.ljust(_OPERATOR))
    status = f"training {100 * row.progress:3.0f} %" if row.status == "training" else row.status
    status = "stopped early" if row.status == "trained" and row.stopped else status
    line.append(status.ljust(_STATUS), _STYLES[row.status])
    if not row.has_numbers:
        line.right_crop(_STATUS - len("designing "))
        return line.append(reason, "" if row.has_ended_badly or row.status == "repairing" else "dim")
    fitness = with_spread(row.fitness, row.spread)
    line.append(" " * (_FITNESS - cell_len(fitness)) + fitness, "bold" if row.best else "")
    line.append(percent(row.success_rate).rjust(_SUCCESS))
    if course is not None and cells:
        line.append("  ").append_text(course).append(" " * (cells - cell_len(course.plain)))
    return line.append(f"  {reason}" if reason else "", "dim")


def _cut(line: Text) -> Text:
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


def _scale(rows: Sequence[Row]) -> tuple[float, float] | None:
    """Lowest and highest fitness that is drawn; of the lowest twentieth, no more is seen than that it is low.

    Small differences are drawn small: the scale is a fifth of the highest fitness at least.
    """
    found = sorted(fitness for row in rows for _, fitness in row.course)
    return (min(found[len(found) // 20], found[-1] - abs(found[-1]) / 5), found[-1]) if found else None


def course_line(row: Row, cells: int, scale: tuple[float, float], bar: float | None) -> Text:
    """The fitness over training as a line of blocks, with dots for what is still to come.

    Args:
        row: The candidate.
        cells: Width of a whole training.
        scale: Fitness of the lowest block and of the highest.
        bar: Fitness from which on it is green.
    """
    low, high = scale
    line = Text()
    for cell in range(1, cells + 1):
        share = cell / cells
        if not row.course or share > row.course[-1][0] + 0.5 / cells:
            line.append("·" if row.status == "training" else " ", "dim")
            continue
        fitness = _between(row.course, share)
        level = (fitness - low) / (high - low) if high > low else 0.0
        block = _BLOCKS[max(0, min(len(_BLOCKS) - 1, int(level * len(_BLOCKS))))]
        line.append(block, "green" if bar is not None and fitness >= bar else "blue")
    return line


def _between(course: Sequence[tuple[float, float]], share: float) -> float:
    """The fitness at some share of the training, on the straight line between two evaluations."""
    before = course[0]
    for point in course:
        if point[0] >= share:
            part = (share - before[0]) / (point[0] - before[0]) if point[0] > before[0] else 1.0
            return before[1] + part * (point[1] - before[1])
        before = point
    return before[1]


def plain_table(*columns: str, right: Sequence[str] = ()) -> Table:
    """An empty table without a frame.

    Args:
        *columns: Headings.
        right: Headings of the columns that are set to the right.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    for each in columns:
        table.add_column(each, justify="right" if each in right else "left", overflow="fold")
    return table


def judgement_text(judgement: Judgement) -> Text:
    """Whether the result is what was asked for: a no must not be overlooked."""
    style = {"yes": "green", "partly": "bold yellow", "no": "bold red"}.get(judgement.answer or "", "")
    return Text(judgement.text, style)


def closing_table(summary: Summary) -> RenderableType:
    """What the winner and the task's own rewards reached on the fresh seeds, and the conclusion."""
    numbers = ("fitness (IQM) [95 %]", "success [95 %]", "human-normalised", "seeds")
    table = plain_table("reward", *numbers, right=numbers)
    for row in summary.rows:
        is_chosen, fitness = row.candidate_id == summary.chosen, row.fitness
        cells: list[str | Text] = [Text(row.failure or "failed", "red"), "", ""]
        if fitness:
            shown = row.human_normalised is not None and row.candidate_id not in BASELINES
            normalised = f"{row.human_normalised:.2f}" if shown else ""
            estimate = with_interval(fitness) if row.seeds > 1 else number(fitness.value)
            cells = [estimate, percent_interval(row.success_interval), normalised]
        name = f"{'★' if is_chosen else ' '} {row.candidate_id}"
        table.add_row(name, *cells, str(row.seeds), style="bold green" if is_chosen else "")
    about = [Text(), Text(summary.conclusion), Text(f"The search stopped: {summary.reason}.", "dim")]
    return Group(*([table] if summary.rows else []), *about)
