"""Tables of results: the closing table of a run, and the list of runs and tasks."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rewardgen.core.formatting import percent
from rewardgen.core.statistics import Interval
from rewardgen.store.history import FinalRow, Summary
from rewardgen.store.records import BASELINES
from rewardgen.ui.format import number


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


def closing_table(summary: Summary) -> RenderableType:
    """What the finalists and the task's own rewards reached on the fresh seeds, and the conclusion."""
    parts: list[RenderableType] = [_final_table(summary.rows, summary.chosen)] if summary.rows else []
    parts += [Text(), Text(summary.conclusion), Text(f"The search stopped: {summary.reason}.", "dim")]
    return Group(*parts)


def _final_table(rows: Sequence[FinalRow], chosen: str | None) -> Table:
    numbers = ("fitness (IQM)", "95 % interval", "success", "human-normalised", "seeds")
    table = plain_table("reward", *numbers, right=numbers)
    for row in rows:
        is_chosen = row.candidate_id == chosen
        name = f"{'★' if is_chosen else ' '} {row.candidate_id}"
        cells = _final_cells(row) if row.fitness else [Text(row.failure or "failed", "red"), "", "", ""]
        table.add_row(name, *cells, str(row.seeds), style="bold green" if is_chosen else "")
    return table


def _final_cells(row: FinalRow) -> list[str]:
    assert row.fitness is not None
    normalised = "" if row.human_normalised is None or row.candidate_id in BASELINES else f"{row.human_normalised:.2f}"
    return [number(row.fitness.value), _interval(row.fitness), percent(row.success_rate), normalised]


def _interval(estimate: Interval) -> str:
    return f"[{number(estimate.low)}, {number(estimate.high)}]"
