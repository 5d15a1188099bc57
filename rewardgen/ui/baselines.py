"""What tasks' own rewards reach: the table on screen, and as a page in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text

from rewardgen.core.formatting import count, number, percent, thousands
from rewardgen.core.statistics import interquartile_mean
from rewardgen.store.records import CandidateResult
from rewardgen.ui.suite import markdown_table
from rewardgen.ui.tables import plain_table

_LEGEND = (
    "fitness: interquartile mean over the seeds of what the final policies reach in a clean process; then each seed's",
    "solved at: the fitness from which the task's author calls it solved, if that is stated; solved: whether the mean,"
    " and how many of the seeds, reach it",
    "steps: control steps of each seed; minutes: of one processor core for each seed, in batches of several seeds",
)


class BaselineRow(NamedTuple):
    """What one of a task's own rewards reached.

    Attributes:
        task: Name of the task.
        reward: `human` or `sparse`.
        trainer: What trained it.
        result: Of its seeds.
        solved_at: Fitness from which the task is solved, if its author says so.
    """

    task: str
    reward: str
    trainer: str
    result: CandidateResult
    solved_at: float | None

    @property
    def fitness(self) -> float | None:
        """Interquartile mean over the seeds; None if a seed failed."""
        values = [*self.result.by_seed.values()]
        return interquartile_mean(values) if values else None

    @property
    def solved(self) -> bool | None:
        """Whether that solves the task; None where nobody says what does, or a seed failed."""
        return None if self.solved_at is None or self.fitness is None else self.fitness >= self.solved_at

    @property
    def minutes(self) -> float:
        """Of one core for each seed."""
        return sum(each.wall_s for each in self.result.slices) / len(self.result.slices) / 60

    def data(self) -> dict[str, Any]:
        """It as plain data."""
        failure = self.result.failure
        return {
            "task": self.task,
            "reward": self.reward,
            "trainer": self.trainer,
            "fitness": self.fitness,
            "fitness_by_seed": self.result.by_seed,
            "success_rate": self.result.success_rate,
            "solved_at": self.solved_at,
            "solved": self.solved,
            "steps": max(each.env_steps for each in self.result.slices),
            "minutes": self.minutes,
            "failure": f"{failure.kind}: {failure.message}" if failure else "",
        }


def _solved(row: BaselineRow) -> str:
    if row.solved is None:
        return ""
    reached = sum(value >= (row.solved_at or 0.0) for value in row.result.by_seed.values())
    return f"{'yes' if row.solved else 'no'} ({reached} of {len(row.result.slices)})"


_CELLS: Mapping[str, Callable[[BaselineRow], str]] = {
    "reward": lambda row: row.reward,
    "trainer": lambda row: row.trainer,
    "fitness": lambda row: "failed" if row.fitness is None else number(row.fitness),
    "by seed": lambda row: ", ".join(map(number, row.result.by_seed.values())),
    "success": lambda row: percent(row.result.success_rate),
    "solved at": lambda row: "none" if row.solved_at is None else number(row.solved_at),
    "solved": _solved,
    "steps": lambda row: thousands(max(each.env_steps for each in row.result.slices)),
    "minutes": lambda row: f"{row.minutes:.1f}",
}
_NUMBERS = ("fitness", "success", "solved at", "steps", "minutes")


def baselines_page(rows: Sequence[BaselineRow], notes: Sequence[str]) -> RenderableType:
    """The table as it is shown.

    Args:
        rows: Its rows, those of a task together.
        notes: What a reader has to know of them.
    """
    names = [name for name in _CELLS if name != "trainer"]
    table = plain_table(*names, right=_NUMBERS)
    for before, row in zip([None, *rows], rows, strict=False):
        if before is None or before.task != row.task:
            table.add_row(Text(row.task, "bold"))
        table.add_row(*(f"{'  ' * (name == 'reward')}{_CELLS[name](row)}" for name in names))
    failures = [f"{row.task}, {row.reward}: {failed}" for row in rows if (failed := row.data()["failure"])]
    told = [Text(each, "yellow") for each in (*failures, *notes)]
    return Group(table, *told, Text(), *(Text(each, "dim") for each in _LEGEND))


def baselines_markdown(rows: Sequence[BaselineRow], notes: Sequence[str], seeds: int, command: str) -> str:
    """The same as a page.

    Args:
        rows: Its rows.
        notes: What a reader has to know of them.
        seeds: Of each.
        command: The command that writes it.
    """
    columns = {"task": [f"`{row.task}`" for row in rows]}
    columns |= {name: [cell(row) for row in rows] for name, cell in _CELLS.items()}
    page = [
        "# What the tasks' own rewards reach",
        f"Each task's own rewards with {count(seeds, 'seed')}, written by `{command}`. That goes on where it was"
        " stopped, and trains again what has changed.",
        markdown_table(columns, _NUMBERS),
        "\n".join(f"- {each}." for each in _LEGEND),
        *notes,
    ]
    return "\n\n".join(page) + "\n"
