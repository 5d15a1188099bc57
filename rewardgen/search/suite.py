"""Suites: comparisons of strategies and designers over many tasks; every cell is an ordinary run.

A run belongs to the cell with its configuration, so a suite that was killed or extended continues with its runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from rewardgen.core.config import BUILTIN, RunConfig
from rewardgen.core.errors import UsageError
from rewardgen.core.formatting import count
from rewardgen.core.schema import Frozen, read_toml, validated
from rewardgen.core.statistics import (
    Interval,
    bootstrap_interval,
    complete_mean,
    human_normalised,
    improvement_probability,
    interquartile_mean,
    mean_probability,
)
from rewardgen.core.text import one_line
from rewardgen.search.assembly import make_roles, setup_of
from rewardgen.search.finals import human_scale
from rewardgen.search.inspect_rewards import read_reward
from rewardgen.search.lifecycle import Confirm, EndedRun, Resume, agreed, foreign_config, lasting, resume, start
from rewardgen.store.history import History
from rewardgen.store.journal import Listener
from rewardgen.store.records import BASELINES
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR, RunFolder, list_runs
from rewardgen.tasks.fingerprint import changed
from rewardgen.training.cache import get_or_measure

Fields = dict[str, Any]

ALL_TASKS = "all tasks"
_WINNER = "winner"
_AXES = ("task", "seed")
"""Fields that the suite's lists set."""
_FOR_SPEED = {"workers": None, "concurrency": 1}
"""Fields that change no result; a run belongs to its cell with any value."""
_EXAMPLE = 'the smallest suite is a file with `tasks = ["hopper"]`; docs/suite.md has an example with all tables'
_SEE_RUN = "`rewardgen run --help` says what the option takes, docs/commands.md for those not shown there"
_BUDGET = ("seeds", "leaders", "leader_seeds", "env_steps")
"""Fields, beside the limits, that a fair comparison keeps equal."""
_TRAINING = ("trainer", "env_steps", "bonus", "levels", "randomise")
"""Fields by which runs train the task's own rewards differently."""


class Suite(Frozen):
    """File of a suite. Each table takes the fields of a run's configuration except `task` and `seed`."""

    noun = "a suite"

    tasks: tuple[str, ...] = Field(min_length=1)
    seeds: tuple[Annotated[int, Field(ge=0, strict=True)], ...] = Field(default=(0,), min_length=1)
    """Seeds of whole runs; `[run]` sets the number of training seeds within a run."""
    run: Fields = {}
    """Fields for all runs."""
    strategies: dict[str, Fields] = {}
    """Name to fields; the name is the strategy unless the table sets `strategy`. The first is the reference."""
    designers: dict[str, Fields] = {}
    """Name to fields; the name is the model unless the table sets `model`."""


class Cell(NamedTuple):
    """One run of a suite."""

    task: str
    """Name in the suite's file."""
    strategy: str
    designer: str
    config: RunConfig

    @property
    def name(self) -> str:
        """The cell in words."""
        return f"{self.task}, {self.strategy}, {self.designer}, seed {self.config.seed}"


def read_suite(file: Path) -> Suite:
    """Read a suite's file."""
    return validated(Suite, read_toml(file, _EXAMPLE), f"{file}", _EXAMPLE)


def plan(suite: Suite, runs_dir: Path) -> list[Cell]:
    """Return all cells in the order of running: the first seed of every task, then the next; raise if one cannot."""
    strategies = suite.strategies or {suite.run.get("strategy", RunConfig.model_fields["strategy"].default): {}}
    designers = suite.designers or {suite.run.get("model", BUILTIN): {}}
    cells: list[Cell] = []
    for seed, task, designer, strategy in product(suite.seeds, suite.tasks, designers, strategies):
        fields = {**suite.run, "model": designer, **designers[designer], "strategy": strategy, **strategies[strategy]}
        for axis in fields.keys() & _AXES:
            raise UsageError(f"`{axis}` is in a table", f"set the list `{axis}s` at the top of the file")
        places = {"task": Path(task).stem, "strategy": strategy, "seed": seed}
        fields |= {name: _filled(fields.get(name), places) for name in ("model", "critic_model")}
        config = validated(RunConfig, {**fields, "task": task, "seed": seed}, f"{strategy} with {designer}", _SEE_RUN)
        if "patience" not in fields:  # for equal budgets, no plateau ends a run early
            config = config.model_copy(update={"patience": config.generations})
        cells.append(Cell(task, strategy, designer, lasting(config, DEFAULT_RUNS_DIR)))
    for cell in cells[: len(designers) * len(strategies)]:  # the rest has the same names
        make_roles(RunFolder(runs_dir / "none"), cell.config)
        if cell.config.init:
            read_reward(Path(cell.config.init))
    first: dict[RunConfig, Cell] = {}
    for cell in cells:
        if (other := first.setdefault(_decisive(cell.config), cell)) is not cell:
            raise UsageError(f"the same run twice: {other.name}; and {cell.name}", "remove one, or change its fields")
    return cells


def require_tasks(cells: Iterable[Cell]) -> None:
    """Measure the tasks of runs that are still to be made; raises if one of the runs is impossible."""
    for cell in cells:
        task = get_or_measure(cell.config.task)
        if not task.card.has_fitness:
            raise UsageError(f"{cell.task} has no fitness to compare runs by", "leave it out of `tasks`")
        setup_of(cell.config, task)


def _filled(model: object, places: Fields) -> object:
    for name, value in places.items() if isinstance(model, str) else ():
        model = str(model).replace(f"{{{name}}}", str(value))
    return model


def _decisive(config: RunConfig) -> RunConfig:
    return config.model_copy(update=_FOR_SPEED)


class Runs:
    """Runs in a suite's folder by configuration, the latest of each, without those whose task file changed."""

    def __init__(self, runs_dir: Path) -> None:
        self._runs_dir = runs_dir
        self._runs: dict[RunConfig, tuple[RunFolder, bool]] = {}
        self._outdated: set[RunConfig] = set()
        for folder in list_runs(runs_dir):
            history = History.load(folder)
            if changed(history.task_files):
                self._outdated.add(_decisive(history.config))
            else:
                self._runs[_decisive(history.config)] = folder, history.summary is not None

    def is_finished(self, cell: Cell) -> bool:
        """True if the cell's run is finished."""
        return self._runs.get(_decisive(cell.config), (None, False))[1]

    def is_outdated(self, cell: Cell) -> bool:
        """True if the cell has runs, but only of an earlier task file."""
        return _decisive(cell.config) in self._outdated - self._runs.keys()

    def work(self, cell: Cell, listener: Listener, confirm: Confirm = agreed) -> EndedRun:
        """Start or resume the cell's run and finish it; raises as `start` and `resume`."""
        folder, _ = self._runs.get(_decisive(cell.config), (None, False))
        if folder is None:
            return start(cell.config, self._runs_dir, listener, confirm)
        # The suite asks for this configuration, so it does not matter who started the run.
        return resume(folder, listener, Resume(agreed=foreign_config(folder, Resume())))


class CellResult(Frozen):
    """Result of one cell."""

    task: str
    strategy: str
    designer: str
    seed: int
    run_id: str
    winner: str | None
    fitness: dict[str, dict[int, float]]
    """Fitness of `winner`, `human` and `sparse` by fresh seed; empty if a training failed."""
    costs: dict[str, float | None]
    """`candidates`, `search_steps` (control steps of the candidates' trainings), `calls`, `tokens`, `cost_usd` and
    `minutes`."""


def measure(cell: Cell, history: History) -> CellResult:
    """Return the result of a cell from the history of its finished run."""
    winner, usage = history.summary.chosen if history.summary else None, history.usage
    ids = ({_WINNER: winner} if winner else {}) | dict(zip(BASELINES, BASELINES, strict=True))
    results = {name: history.result("final", id) for name, id in ids.items()}
    return CellResult(
        task=cell.task,
        strategy=cell.strategy,
        designer=cell.designer,
        seed=cell.config.seed,
        run_id=history.run_id,
        winner=winner,
        fitness={name: result.by_seed if result else {} for name, result in results.items()},
        costs={
            "candidates": len(history.ids()),
            "search_steps": history.search_steps,
            "calls": usage.calls,
            "tokens": usage.tokens,
            "cost_usd": usage.cost_usd,
            "minutes": history.elapsed_s / 60,
        },
    )


class SuiteRow(Frozen):
    """One row of a suite's table: a strategy with a designer on a task, or one of the task's own rewards."""

    task: str
    strategy: str
    designer: str = ""
    runs: int
    won: int
    """Number of runs with a winner."""
    fitness: Interval | None = None
    """Interquartile mean over runs of the winners' fitness on fresh seeds; over seeds for a single run."""
    human_normalised: Interval | None = None
    improvement: Interval | None = None
    """Probability that a run does better than a run of the task's first row; None for that row."""
    costs: dict[str, float | None] = {}
    """Means over the runs; empty for the task's own rewards."""


class SuiteTable(Frozen):
    """Results of a suite so far."""

    rows: tuple[SuiteRow, ...] = ()
    notes: tuple[str, ...] = ()
    """Cautions for a reader."""
    runs: tuple[CellResult, ...] = ()


def suite_table(cells: Sequence[Cell], results: Sequence[CellResult]) -> SuiteTable:
    """Build the table: for each task its strategies with their designers, then its own rewards; then all tasks."""
    tasks = list(dict.fromkeys(result.task for result in results))
    reference = cells[0].strategy, cells[0].designer
    rows = [row for task in tasks for row in _task_rows(reference, [each for each in results if each.task == task])]
    notes = _budget_notes(cells, rows)
    if lost := [task for task in tasks if not any(result.winner for result in results if result.task == task)]:
        said = "`better` says nothing there, and less over all tasks"
        notes.append(f"No run found a reward on {', '.join(lost)}: {said}.")
    found = {(each.task, each.strategy, each.designer, each.seed) for each in results}
    missing = [cell.name for cell in cells if (*cell[:3], cell.config.seed) not in found]
    if missing:
        notes.append(f"Without {len(missing)} of {count(len(cells), 'run')}: {one_line('; '.join(missing), 400)}.")
    rows += _overall(rows, len(tasks)) if len(tasks) > 1 else []
    return SuiteTable(rows=tuple(rows), notes=tuple(notes), runs=tuple(results))


def _budget_notes(cells: Sequence[Cell], rows: Sequence[SuiteRow]) -> list[str]:
    names = [name for name in RunConfig.model_fields if name in _BUDGET or name.startswith("max_")]
    unequal = _unequal(cells, names)
    counts = {(row.task, row.costs["candidates"]) for row in rows if row.costs}
    unequal += ["the number of candidates"] if len(counts) > len({task for task, _ in counts}) else []
    notes = [f"The budgets are not equal: rows differ in {', '.join(unequal)}."] if unequal else []
    if trained := _unequal(cells, _TRAINING):
        mixed = "`human` and `sparse` mix runs that trained them differently"
        notes.append(f"{mixed}: rows differ in {', '.join(trained)}.")
    return notes


def _unequal(cells: Sequence[Cell], names: Iterable[str]) -> list[str]:
    return [f"`{name}`" for name in names if len({getattr(cell.config, name) for cell in cells}) > 1]


def _task_rows(reference: tuple[str, str], results: Sequence[CellResult]) -> Iterable[SuiteRow]:
    task, baselines = results[0].task, {id: _baseline(id, results) for id in BASELINES}
    scale = human_scale({id: [value for values in groups for value in values] for id, groups in baselines.items()})
    groups: dict[tuple[str, str], list[CellResult]] = {}
    for result in results:
        groups.setdefault((result.strategy, result.designer), []).append(result)
    won = {name: [[*each.fitness.get(_WINNER, {}).values()] for each in group] for name, group in groups.items()}
    first = _scores(won[reference]) if reference in won else None
    for name, group in groups.items():
        (strategy, designer), compared = name, None if name == reference else first
        costs = {cost: complete_mean([result.costs[cost] for result in group]) for cost in group[0].costs}
        estimates = _estimates(won[name], scale, compared)
        yield SuiteRow(task=task, strategy=strategy, designer=designer, costs=costs, **estimates)
    for id, values in baselines.items():
        if any(values):
            yield SuiteRow(task=task, strategy=id, **_estimates(values, None, first))


def _baseline(id: str, results: Sequence[CellResult]) -> list[list[float]]:
    """Return the fitness of one of the task's own rewards by run seed: runs with one seed share their fresh seeds."""
    by_seed: dict[int, dict[int, float]] = {}
    for result in results:
        by_seed.setdefault(result.seed, {}).update(result.fitness.get(id, {}))
    return [[*values.values()] for values in by_seed.values()]


def _scores(values: Sequence[Sequence[float]]) -> list[float]:
    """Return the fitness of each run; minus infinity without a winner."""
    return [interquartile_mean(run) if run else float("-inf") for run in values]


def _estimates(
    values: Sequence[Sequence[float]], scale: tuple[float, float] | None, first: Sequence[float] | None
) -> Fields:
    won = [run for run in values if run]
    fitness = bootstrap_interval(won[0] if len(won) == 1 else _scores(won)) if won else None
    normalised = None
    if fitness and scale:
        bounds = {name: human_normalised(value, *scale) for name, value in fitness.model_dump().items()}
        normalised = None if None in bounds.values() else bounds
    improvement = improvement_probability(_scores(values), first) if first else None
    fields = {"runs": len(values), "won": len(won), "fitness": fitness, "improvement": improvement}
    return {**fields, "human_normalised": normalised}


def _overall(rows: Sequence[SuiteRow], tasks: int) -> list[SuiteRow]:
    """Return the mean probability of improvement of each strategy that every task has."""
    groups: dict[tuple[str, str], list[SuiteRow]] = {}
    for row in rows:
        groups.setdefault((row.strategy, row.designer), []).append(row)
    return [
        SuiteRow(
            task=ALL_TASKS,
            strategy=strategy,
            designer=designer,
            runs=sum(row.runs for row in group),
            won=sum(row.won for row in group),
            improvement=mean_probability([row.improvement for row in group if row.improvement]),
        )
        for (strategy, designer), group in groups.items()
        if sum(row.improvement is not None for row in group) == tasks
    ]
