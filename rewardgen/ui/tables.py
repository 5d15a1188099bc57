"""Tables of results: candidates one line each, the closing table of a run, and empty tables for lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rewardgen.core.formatting import percent, percent_interval
from rewardgen.core.readable import number, with_spread
from rewardgen.store.history import Summary
from rewardgen.store.records import BASELINES, Judgement
from rewardgen.store.rows import Row

_ID, _OPERATOR, _STATUS, _FITNESS, _SUCCESS = 8, 10, 15, 14, 8

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
    """One candidate. A trained or training one shows numbers, a rejected or failed one its reason."""
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append("★ " if row.best else "  ", "bold yellow")
    line.append(row.id.ljust(_ID), "bold" if row.best else "")
    line.append(row.operator.ljust(_OPERATOR))
    status = f"training {100 * row.progress:3.0f} %" if row.status == "training" else row.status
    line.append(status.ljust(_STATUS), _STYLES[row.status])
    if row.has_ended_badly or row.status == "repairing":
        line.right_crop(_STATUS - len("repairing "))
        return line.append(row.reason)
    fitness = with_spread(row.fitness, row.spread)
    line.append(" " * (_FITNESS - cell_len(fitness)) + fitness, "bold" if row.best else "")
    line.append(percent(row.success_rate).rjust(_SUCCESS))
    return line.append(f"  {row.reason}", "dim")


def rows_text(rows: Iterable[Row]) -> Text:
    """A header and all rows, one line each at any width, cut at the right edge."""
    names = "  " + "candidate".ljust(_ID + 2) + "operator".ljust(_OPERATOR) + "status".ljust(_STATUS)
    head = Text(names[:-2] + "fitness ± s.e.".rjust(_FITNESS) + "success".rjust(_SUCCESS) + "  idea", "dim")
    joined = Text("\n").join([head, *map(row_line, rows)])
    joined.no_wrap, joined.overflow = True, "ellipsis"
    return joined


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
            interval = f"{number(fitness.value)} [{number(fitness.low)}, {number(fitness.high)}]"
            cells = [interval, percent_interval(row.success_interval), normalised]
        name = f"{'★' if is_chosen else ' '} {row.candidate_id}"
        table.add_row(name, *cells, str(row.seeds), style="bold green" if is_chosen else "")
    about = [Text(), Text(summary.conclusion), Text(f"The search stopped: {summary.reason}.", "dim")]
    return Group(*([table] if summary.rows else []), *about)
