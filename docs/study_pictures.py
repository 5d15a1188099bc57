"""The pictures of docs/evidence.md, from the kept runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from docs.study_runs import (
    WAYS,
    StudyRun,
    cells_of,
    own_row,
    search_fitness,
    search_values,
    stopped_first,
    tasks_of,
)
from docs.study_tables import was_worth_training
from rewardgen.store.records import Gate

_DASHES = {"human": ":", "sparse": "--"}
_COLOURS = {"human": "#777777", "sparse": "#bbbbbb", "evolve": "#1f5fa8", "best-of-n": "#d98a1f", "built-in": "#5a9e4b"}
_GATES = get_args(Gate)


def draw(runs: Sequence[StudyRun], folder: Path) -> None:
    """The three pictures of the page.

    Args:
        runs: Of the study.
        folder: Where they go.
    """
    of_tasks = [run for run in runs if run.way in WAYS]
    with rc_context(
        {
            "svg.hashsalt": "rewardgen",
            "svg.fonttype": "none",
            "font.size": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
        }
    ):
        for name, picture in (("fitness", _draw_fitness), ("course", _draw_course), ("gates", _draw_gates)):
            picture(runs if picture is _draw_gates else of_tasks).savefig(
                folder / f"evidence-{name}.svg", metadata={"Date": None}
            )


def _panels(tasks: Sequence[str]) -> tuple[Figure, list[Axes]]:
    """A figure with a part for each task."""
    columns = min(4, len(tasks))
    lines = -(-len(tasks) // columns)
    figure = Figure(figsize=(2.7 * columns, 2.3 * lines), layout="constrained")
    axes: list[Axes] = list(figure.subplots(lines, columns, squeeze=False).flat)
    for unused in axes[len(tasks) :]:
        unused.axis("off")
    for axis, task in zip(axes, tasks, strict=False):
        axis.set_title(task, fontsize=9)
    return figure, axes


def _draw_fitness(runs: Sequence[StudyRun]) -> Figure:
    """Of the winners and of the tasks' own rewards, on fresh seeds."""
    figure, axes = _panels(tasks_of(runs))
    for axis, task in zip(axes, tasks_of(runs), strict=False):
        here = [run for run in runs if run.task == task]
        for place, name in enumerate(reversed(_COLOURS)):
            if name in WAYS:
                rows = [run.row("winner") for run in here if run.way == name]
            else:
                rows = [own_row([run for run in here if run.seed == seed], name) for _, seed in cells_of(here)]
            found = [row.fitness for row in rows if row and row.fitness]
            for number_of, each in enumerate(found):
                y, colour = place - 0.2 * (number_of - (len(found) - 1) / 2), _COLOURS[name]
                axis.plot([each.low, each.high], [y, y], color=colour, linewidth=1.5)
                axis.plot([each.value], [y], "o", color=colour, markersize=4)
        axis.set_yticks(range(len(_COLOURS)), reversed(_COLOURS))
        axis.grid(axis="x", alpha=0.3)
        axis.set_xlim(left=min(0.0, axis.get_xlim()[0]))
        axis.set_xlabel("fitness", fontsize=8)
    return figure


def _draw_course(runs: Sequence[StudyRun]) -> Figure:
    """The best so far over the candidates of the search, by their mean over its seeds."""
    figure, axes = _panels(tasks_of(runs))
    for axis, task in zip(axes, tasks_of(runs), strict=False):
        here = [run for run in runs if run.task == task]
        for run in here:
            best = [
                max((v for v in search_values(run)[: n + 1] if v is not None), default=None)
                for n in range(len(search_values(run)))
            ]
            points = [(n, value) for n, value in enumerate(best, start=1) if value is not None]
            axis.plot(*zip(*points, strict=True), color=_COLOURS[run.way], drawstyle="steps-post", linewidth=1.5)
        for name in ("human", "sparse"):
            for value in {search_fitness(run, name) for run in here} - {None}:
                axis.axhline(value, color=_COLOURS[name], linestyle=_DASHES[name], linewidth=1)  # pyright: ignore[reportArgumentType]
        axis.set_xlabel("candidates", fontsize=8)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    for name, colour in _COLOURS.items():
        axes[0].plot([], [], color=colour, label=name, linestyle=_DASHES.get(name, "-"))
    axes[0].set_ylabel("fitness", fontsize=8)
    figure.legend(fontsize=8, frameon=False, loc="outside upper center", ncols=len(_COLOURS))
    return figure


def _draw_gates(runs: Sequence[StudyRun]) -> Figure:
    """How many first versions of language models' candidates each gate stopped, and how many of them wrongly."""
    stopped: dict[str, list[tuple[StudyRun, str]]] = {gate: [] for gate in _GATES}
    for (gate, _), found in stopped_first(runs).items():
        stopped[gate] += found
    wrong = [sum(was_worth_training(run, id) for run, id in found) for found in stopped.values()]
    other = [len(found) - each for found, each in zip(stopped.values(), wrong, strict=True)]
    figure = Figure(figsize=(7.0, 2.6), layout="constrained")
    axis = figure.subplots()
    axis.barh(
        range(len(_GATES)), wrong, color="#d98a1f", label="wrongly: leads its run or solves the task if it is trained"
    )
    axis.barh(range(len(_GATES)), other, left=wrong, color="#1f5fa8", label="without loss")
    axis.set_yticks(range(len(_GATES)), _GATES)
    axis.invert_yaxis()
    axis.set_xlim(0, max(4, *map(len, stopped.values())))
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    total = sum(len(run.candidates) for run in runs if run.way != "built-in")
    axis.set_xlabel(f"candidates stopped, of {total}")
    figure.legend(fontsize=8, frameon=False, loc="outside upper right", ncols=2)
    return figure
