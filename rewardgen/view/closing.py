"""The closing table of a run as texts, for the terminal, the README, the report and every card."""

from __future__ import annotations

from typing import NamedTuple

from rewardgen.core.formatting import number, percent_interval, with_interval
from rewardgen.store.history import FinalRow, Summary
from rewardgen.store.records import BASELINES

MEASURED = (
    "The fitness of a seed is the mean over its last two checkpoints. A saved policy is the last one alone, so it may"
    " reach a little more or less: `rewardgen eval` measures it."
)
HEADINGS = ("reward", "fitness (IQM) [95 %]", "success [95 %]", "human-normalised", "seeds")


class ClosingRow(NamedTuple):
    """One reward on the fresh seeds; the texts are empty if it failed to train."""

    id: str
    is_chosen: bool
    fitness: str
    success: str
    normalised: str
    seeds: str
    failure: str


def fitness_text(row: FinalRow) -> str:
    """Fitness on the fresh seeds; a single seed has no interval."""
    if row.fitness is None:
        return ""
    return with_interval(row.fitness) if row.seeds > 1 else number(row.fitness.value)


def chosen_row(summary: Summary | None) -> FinalRow | None:
    """The row of the chosen reward; None without one."""
    return next((row for row in summary.rows if row.candidate_id == summary.chosen), None) if summary else None


def closing_rows(summary: Summary) -> list[ClosingRow]:
    """The closing table."""
    rows = []
    for row in summary.rows:
        normalised = None if row.candidate_id in BASELINES else row.human_normalised
        texts = (fitness_text(row), percent_interval(row.success_interval) if row.fitness else "")
        normalised_text = "" if normalised is None or not row.fitness else f"{normalised:.2f}"
        failure = "" if row.fitness else row.failure or "failed"
        chosen = row.candidate_id == summary.chosen
        rows.append(ClosingRow(row.candidate_id, chosen, *texts, normalised_text, str(row.seeds), failure))
    return rows


def closing_markdown(summary: Summary) -> list[str]:
    """The closing table as lines of Markdown."""
    lines = [f"| {' | '.join(HEADINGS)} |", "|---|--:|--:|--:|--:|"] if summary.rows else []
    for row in closing_rows(summary):
        name = f"**{row.id}** (chosen)" if row.is_chosen else row.id
        fitness = f"failed: {row.failure}" if row.failure else row.fitness
        lines.append(f"| {name} | {fitness} | {row.success} | {row.normalised} | {row.seeds} |")
    return lines
