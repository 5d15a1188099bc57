"""The table of a suite: on screen, in Markdown, and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rewardgen.core.formatting import money, tokens, with_interval
from rewardgen.search.suite import SuiteRow, SuiteTable
from rewardgen.ui.tables import plain_table

_LEGEND = {
    "fitness": "Fitness: of the winners on fresh seeds, interquartile mean over runs [95 % interval].",
    "normalised": "Normalised: fitness on the scale from the sparse (0) to the human reward (1).",
    "better": "Better: probability that a run does better than one of the task's first row; one without a winner does"
    " worse than any other.",
}


def _count(value: float | None) -> str:
    return tokens(round(value)) if value else ""


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
_RESULTS = ("strategy", "designer", "runs", "fitness", "normalised", "better")
_COSTS = ("strategy", "designer", *_NUMBERS)


def _texts(rows: Sequence[SuiteRow]) -> dict[str, list[str]]:
    """The columns that hold something, and more than one designer."""
    columns = {name: [cell(row) for row in rows] for name, cell in _CELLS.items()}
    one_designer = len({row.designer for row in rows if row.designer}) < 2
    return {name: told for name, told in columns.items() if any(told) and not (name == "designer" and one_designer)}


def legend(columns: Iterable[str]) -> str:
    """What the columns of a table are.

    Args:
        columns: Their names.
    """
    shown = [*columns]
    means = [f"{name} (of the search)" if name == "steps" else name for name in _NUMBERS if name in shown]
    told = [text for name, text in _LEGEND.items() if name in shown]
    return " ".join(told + ([f"Means over runs: {', '.join(means)}."] if means else []))


def suite_page(found: SuiteTable) -> RenderableType:
    """The table as it is shown."""
    columns = _texts(found.rows)
    parts: list[RenderableType] = [_by_task(columns, _RESULTS), Text(), _by_task(columns, _COSTS)]
    parts += [Text(f"\n{each}", "yellow") for each in found.notes]
    return Group(*parts, Text(f"\n{legend(columns)}", "dim"))


def _by_task(columns: Mapping[str, Sequence[str]], names: Sequence[str]) -> Table:
    """Some of the columns under the name of each task; intervals on a line of their own, to fit 80 columns."""
    shown = [name for name in names if name in columns]
    table = plain_table(*shown, right=_NUMBERS)
    above = None
    for row, task in enumerate(columns.get("task", ())):
        if task != above:
            table.add_row(Text(task, "bold"))
        first, *rest = (columns[name][row].replace(" [", "\n[") for name in shown)
        table.add_row(f"  {first}", *rest)
        above = task
    return table


def suite_markdown(found: SuiteTable) -> str:
    """The same as Markdown."""
    columns = _texts(found.rows)
    told = (*found.notes, legend(columns))
    return "\n".join([markdown_table(columns, _NUMBERS), *(f"\n{each}" for each in told)]) + "\n"


def markdown_table(columns: Mapping[str, Sequence[str]], numbers: Sequence[str]) -> str:
    """A table in Markdown.

    Args:
        columns: Heading to cells.
        numbers: Headings of the columns that are set to the right.
    """
    rules = ["--:" if name in numbers else "---" for name in columns]
    lines = [[*columns], rules, *zip(*columns.values(), strict=True)]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)


def suite_csv(found: SuiteTable) -> str:
    """The same with every digit; an interval is three columns."""
    file = io.StringIO()
    flat = [_flat(row) for row in found.rows]
    writer = csv.DictWriter(file, list(dict.fromkeys(key for row in flat for key in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return file.getvalue()


def _flat(row: SuiteRow) -> dict[str, object]:
    found: dict[str, object] = {}
    for name in SuiteRow.model_fields:
        value = getattr(row, name)
        if name in ("fitness", "human_normalised", "improvement"):
            bounds = (value.value, value.low, value.high) if value else (None, None, None)
            found |= dict(zip((name, f"{name}_low", f"{name}_high"), bounds, strict=True))
        else:
            found[name] = value
    return found
