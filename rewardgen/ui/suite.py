"""The table of a suite, on screen and in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from rewardgen.core.formatting import money, tokens, with_interval
from rewardgen.search.suite import SuiteRow, SuiteTable
from rewardgen.ui.tables import plain_table

_LEGEND = (
    "Fitness of the winners on fresh seeds: interquartile mean over runs [95 % interval]. Normalised: from the sparse"
    " (0) to the human reward (1). Better: probability that a run beats one of the task's first row. Steps, calls,"
    " tokens, cost and minutes are means over runs; steps are of the search."
)
_CELLS: dict[str, Callable[[SuiteRow], str]] = {
    "task": lambda row: row.task,
    "strategy": lambda row: row.strategy,
    "designer": lambda row: row.designer,
    "runs": lambda row: str(row.runs) if row.won == row.runs else f"{row.won} of {row.runs} won",
    "fitness": lambda row: with_interval(row.fitness),
    "normalised": lambda row: with_interval(row.human_normalised),
    "better": lambda row: with_interval(row.improvement),
    "steps": lambda row: _count(row.search_steps),
    "calls": lambda row: _count(row.calls),
    "tokens": lambda row: _count(row.tokens),
    "cost": lambda row: money(row.cost_usd) if row.calls else "",
    "minutes": lambda row: "" if row.minutes is None else f"{row.minutes:.1f}",
}
_NUMBERS = ("steps", "calls", "tokens", "cost", "minutes")


def _count(value: float | None) -> str:
    return tokens(round(value)) if value else ""


def _columns(rows: Sequence[SuiteRow]) -> dict[str, list[str]]:
    """Columns with content; the designer only where there are several."""
    columns = {name: [cell(row) for row in rows] for name, cell in _CELLS.items()}
    one_designer = len({row.designer for row in rows if row.designer}) < 2
    return {name: cells for name, cells in columns.items() if any(cells) and not (name == "designer" and one_designer)}


def suite_page(suite: SuiteTable) -> RenderableType:
    """The table on screen: results, then costs, so that each fits 80 columns."""
    columns, tables = _columns(suite.rows), list[RenderableType]()
    for left_out in (_NUMBERS, ("runs", "fitness", "normalised", "better")):
        names = [name for name in columns if name not in (*left_out, "task")]
        shown = plain_table(*names, right=_NUMBERS)
        for index, row in enumerate(suite.rows):
            if not index or row.task != suite.rows[index - 1].task:
                shown.add_row(Text(row.task, "bold"))
            shown.add_row(*(columns[name][index].replace(" [", "\n[") for name in names))
        tables += [shown, Text()]
    return Group(*tables, *(Text(f"{note}\n", "yellow") for note in suite.notes), Text(_LEGEND, "dim"))


def suite_markdown(suite: SuiteTable) -> str:
    """The table as Markdown."""
    return "\n\n".join([markdown_table(_columns(suite.rows), _NUMBERS), *suite.notes, _LEGEND]) + "\n"


def markdown_table(columns: Mapping[str, Sequence[str]], numbers: Sequence[str]) -> str:
    """A table in Markdown.

    Args:
        columns: Heading to cells.
        numbers: Headings of right-aligned columns.
    """
    rules = ["--:" if name in numbers else "---" for name in columns]
    lines = [[*columns], rules, *zip(*columns.values(), strict=True)]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
