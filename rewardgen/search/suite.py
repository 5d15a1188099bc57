"""Suites: strategies and designers compared over many tasks, each cell an ordinary run.

The runs are the suite's memory: a run belongs to the cell with its configuration. A suite that was killed, or got more
tasks, strategies or seeds, continues with the runs it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from rewardgen.core.config import BUILTIN, RunConfig
from rewardgen.core.errors import UsageError, did_you_mean
from rewardgen.core.schema import Frozen, read_toml, validated
from rewardgen.core.statistics import (
    Interval,
    bootstrap_interval,
    human_normalised,
    improvement_probability,
    interquartile_mean,
    mean_probability,
)
from rewardgen.search.assembly import make_roles
from rewardgen.search.finals import human_scale
from rewardgen.search.inspect_rewards import read_reward
from rewardgen.search.lifecycle import Confirm, EndedRun, Resume, agreed, foreign_config, lasting, resume, start
from rewardgen.store.history import History
from rewardgen.store.journal import Listener
from rewardgen.store.records import BASELINES
from rewardgen.store.run_folder import RunFolder, list_runs
from rewardgen.tasks.fingerprint import changed

Fields = dict[str, Any]

ALL_TASKS = "all tasks"
_WINNER = "winner"
_AXES = ("task", "seed")
"""Fields that the suite's lists set."""
_FOR_SPEED = {"workers": None, "concurrency": 1}
"""Fields that change no result: a run belongs to a cell with any value."""
_EXAMPLE = 'the smallest suite is a file with `tasks = ["hopper"]`; docs/suite.md has an example with all tables'
_BUDGET = ("seeds", "leaders", "leader_seeds", "env_steps")


class Suite(Frozen):
    """A suite's file. Each table takes any field of a run's configuration but `task` and `seed`."""

    noun = "a suite"

    tasks: tuple[str, ...] = Field(min_length=1)
    seeds: tuple[Annotated[int, Field(ge=0, strict=True)], ...] = Field(default=(0,), min_length=1)
    """Seeds of whole runs; `[run]` sets the number of training seeds within a run."""
    run: Fields = {}
    """Fields for all runs."""
    strategies: dict[str, Fields] = {}
    """By name, which is the strategy's unless the table sets `strategy`. Others are compared with the first."""
    designers: dict[str, Fields] = {}
    """By name, which is the model's unless the table sets `model`."""


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
    """Read a suite's file.

    Raises:
        UsageError: The file cannot be read, or is no suite.
    """
    return validated(Suite, read_toml(file, _EXAMPLE), f"{file}", _EXAMPLE)


def plan(suite: Suite, runs_dir: Path) -> list[Cell]:
    """All cells in the order of running: the first seed of all, then the next.

    Args:
        suite: The suite.
        runs_dir: Folder of its runs.

    Raises:
        RewardgenError: A run could not start: an unknown key, value, task, strategy or model, or a missing key.
    """
    strategies = suite.strategies or {suite.run.get("strategy", RunConfig.model_fields["strategy"].default): {}}
    designers = suite.designers or {suite.run.get("model", BUILTIN): {}}
    _check_keys("run", suite.run)
    for kind, tables in (("strategies", strategies), ("designers", designers)):
        for name, fields in tables.items():
            _check_keys(f"{kind}.{name}", fields)
    cells: list[Cell] = []
    for seed, task, designer, strategy in product(suite.seeds, suite.tasks, designers, strategies):
        fields = {**suite.run, "model": designer, **designers[designer], "strategy": strategy, **strategies[strategy]}
        places = {"task": Path(task).stem, "strategy": strategy, "seed": seed}
        fields |= {name: _filled(fields.get(name), places) for name in ("model", "critic_model")}
        config = validated(RunConfig, {**fields, "task": task, "seed": seed}, f"{strategy} with {designer}", _EXAMPLE)
        if "patience" not in fields:  # for equal budgets, no plateau ends a run early
            config = config.model_copy(update={"patience": config.generations})
        cells.append(Cell(task, strategy, designer, lasting(config, runs_dir)))
    for cell in cells[: len(designers) * len(strategies)]:  # other tasks and seeds have the same names
        make_roles(RunFolder(runs_dir / "none"), cell.config)
        if cell.config.init:
            read_reward(Path(cell.config.init))
    first: dict[RunConfig, Cell] = {}
    for cell in cells:
        if (other := first.setdefault(_decisive(cell.config), cell)) is not cell:
            raise UsageError(f"the same run twice: {other.name}; and {cell.name}", "remove one, or change its fields")
    return cells


def _filled(model: object, places: Fields) -> object:
    """A model string with `{task}`, `{strategy}` and `{seed}` filled in: a mailbox or recording of each run's own."""
    for name, value in places.items() if isinstance(model, str) else ():
        model = str(model).replace(f"{{{name}}}", str(value))
    return model


def _check_keys(table: str, fields: Fields) -> None:
    valid = RunConfig.model_fields.keys() - _AXES
    for key in (key for key in fields if key not in valid):
        hint = f"set the list `{key}s` at the top of the file" if key in _AXES else did_you_mean(key, valid)
        raise UsageError(f"unknown key `{key}` in [{table}]", hint)


def _decisive(config: RunConfig) -> RunConfig:
    return config.model_copy(update=_FOR_SPEED)


class Runs:
    """The runs in a suite's folder by configuration, the latest of each; runs whose task file changed do not count.

    Args:
        runs_dir: The folder.

    Raises:
        RunFolderError: A run cannot be read.
    """

    def __init__(self, runs_dir: Path) -> None:
        self._runs_dir = runs_dir
        self._runs: dict[RunConfig, tuple[RunFolder, bool]] = {}
        for folder in list_runs(runs_dir):
            history = History.load(folder)
            if history.config and not changed(history.task_files):
                self._runs[_decisive(history.config)] = folder, history.summary is not None

    def left_over(self, cells: Iterable[Cell]) -> list[str]:
        """Ids of runs that belong to none of the cells."""
        wanted = [_decisive(cell.config) for cell in cells]
        return [folder.id for config, (folder, _) in self._runs.items() if config not in wanted]

    def is_finished(self, cell: Cell) -> bool:
        """True if the cell's run is finished."""
        return self._runs.get(_decisive(cell.config), (None, False))[1]

    def work(self, cell: Cell, listener: Listener, confirm: Confirm = agreed) -> EndedRun:
        """Start or resume the cell's run and finish it.

        Raises:
            RewardgenError: As `start` and `resume`.
            KeyboardInterrupt: Likewise.
        """
        folder, _ = self._runs.get(_decisive(cell.config), (None, False))
        if folder is None:
            return start(cell.config, self._runs_dir, listener, confirm)
        # The run has the configuration that the suite asks for, whoever started it.
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
    """Fitness of `winner`, `human` and `sparse` on the fresh seeds; empty where a training failed."""
    candidates: int
    search_steps: int
    """Control steps of the candidates' trainings in the search."""
    calls: int
    tokens: int
    cost_usd: float | None
    minutes: float


def measure(cell: Cell, history: History) -> CellResult:
    """Result of a cell.

    Args:
        cell: The cell.
        history: State of its finished run.
    """
    winner, usage = history.summary.chosen if history.summary else None, history.usage
    ids = {**({_WINNER: winner} if winner else {}), **dict(zip(BASELINES, BASELINES, strict=True))}
    results = {name: history.result("final", id) for name, id in ids.items()}
    return CellResult(
        task=cell.task,
        strategy=cell.strategy,
        designer=cell.designer,
        seed=cell.config.seed,
        run_id=history.run_id,
        winner=winner,
        fitness={name: result.by_seed if result else {} for name, result in results.items()},
        candidates=len(history.ids()),
        search_steps=history.search_steps,
        calls=usage.calls,
        tokens=usage.tokens,
        cost_usd=usage.cost_usd,
        minutes=history.elapsed_s / 60,
    )


class SuiteRow(Frozen):
    """One row of a suite's table: a strategy with a designer on a task, or one of the task's own rewards.

    Candidates, steps, calls, tokens, price and time are means over the runs; None for the task's own rewards.
    """

    task: str
    strategy: str
    designer: str = ""
    runs: int
    won: int
    """Runs that ended with a winner."""
    fitness: Interval | None = None
    """Interquartile mean over the runs of their winners' fitness on fresh seeds; of a single run, over its seeds."""
    human_normalised: Interval | None = None
    improvement: Interval | None = None
    """Probability that a run does better than one of the task's first row; None for that row."""
    candidates: float | None = None
    search_steps: float | None = None
    calls: float | None = None
    tokens: float | None = None
    cost_usd: float | None = None
    minutes: float | None = None


class SuiteTable(Frozen):
    """Results of a suite so far."""

    rows: tuple[SuiteRow, ...] = ()
    notes: tuple[str, ...] = ()
    """Cautions for a reader."""
    runs: tuple[CellResult, ...] = ()


def suite_table(cells: Sequence[Cell], results: Sequence[CellResult]) -> SuiteTable:
    """Build the table of a suite from the results so far."""
    rows = tabulate(results)
    return SuiteTable(rows=tuple(rows), notes=tuple(budget_notes(cells, rows)), runs=tuple(results))


def tabulate(results: Sequence[CellResult]) -> list[SuiteRow]:
    """The table: by task its strategies with their designers, then its own rewards; then all tasks together."""
    tasks = list(dict.fromkeys(each.task for each in results))
    rows = [row for task in tasks for row in _task_rows([each for each in results if each.task == task])]
    return rows + (_overall(rows, len(tasks)) if len(tasks) > 1 else [])


def budget_notes(cells: Sequence[Cell], rows: Sequence[SuiteRow]) -> list[str]:
    """Sentences on budgets that differ between strategies or designers."""
    names = [name for name in RunConfig.model_fields if name in _BUDGET or name.startswith("max_")]
    apart = [f"`{name}`" for name in names if len({getattr(cell.config, name) for cell in cells}) > 1]
    planned = {(row.task, row.candidates) for row in rows if row.candidates}
    apart += ["the number of candidates"] if len(planned) > len({task for task, _ in planned}) else []
    return [f"The budgets are not equal: rows differ in {', '.join(apart)}."] if apart else []


def _task_rows(results: Sequence[CellResult]) -> Iterable[SuiteRow]:
    task, of_baselines = results[0].task, {id: _baseline(id, results) for id in BASELINES}
    scale = human_scale({id: [each for values in found for each in values] for id, found in of_baselines.items()})
    groups: dict[tuple[str, str], list[CellResult]] = {}
    for each in results:
        groups.setdefault((each.strategy, each.designer), []).append(each)
    first: list[float] | None = None
    for (strategy, designer), cells in groups.items():
        values = [[*each.fitness.get(_WINNER, {}).values()] for each in cells]
        names = {"task": task, "strategy": strategy, "designer": designer}
        yield SuiteRow(**names, **_estimates(values, scale, first), **_costs(cells))
        first = first or _scores(values)
    for id, values in of_baselines.items():
        if any(values):
            yield SuiteRow(task=task, strategy=id, **_estimates(values, None, first))


def _baseline(id: str, results: Sequence[CellResult]) -> list[list[float]]:
    """Fitness of one of the task's own rewards, by the seed of the run: runs of one seed have the same fresh seeds."""
    by_seed: dict[int, dict[int, float]] = {}
    for each in results:
        by_seed.setdefault(each.seed, {}).update(each.fitness.get(id, {}))
    return [[*values.values()] for values in by_seed.values()]


def _scores(values: Sequence[Sequence[float]]) -> list[float]:
    """Fitness of each run; minus infinity without a winner."""
    return [interquartile_mean(each) if each else float("-inf") for each in values]


def _estimates(
    values: Sequence[Sequence[float]], scale: tuple[float, float] | None, first: Sequence[float] | None
) -> Fields:
    won = [each for each in values if each]
    fitness = bootstrap_interval(won[0] if len(won) == 1 else _scores(won)) if won else None
    normalised = None
    if fitness and scale:
        bounds = {name: human_normalised(value, *scale) for name, value in fitness.model_dump().items()}
        normalised = None if None in bounds.values() else bounds
    improvement = improvement_probability(_scores(values), first) if first else None
    found = {"runs": len(values), "won": len(won), "fitness": fitness, "improvement": improvement}
    return {**found, "human_normalised": normalised}


def _costs(cells: Sequence[CellResult]) -> Fields:
    def mean(name: str) -> float | None:
        values = [getattr(each, name) for each in cells]
        return None if None in values else sum(values) / len(values)

    return {name: mean(name) for name in ("candidates", "search_steps", "calls", "tokens", "cost_usd", "minutes")}


def _overall(rows: Sequence[SuiteRow], tasks: int) -> list[SuiteRow]:
    """Probability of improvement over all tasks, for strategies that every task has."""
    groups: dict[tuple[str, str], list[SuiteRow]] = {}
    for row in rows:
        groups.setdefault((row.strategy, row.designer), []).append(row)
    return [
        SuiteRow(
            task=ALL_TASKS,
            strategy=strategy,
            designer=designer,
            runs=sum(row.runs for row in each),
            won=sum(row.won for row in each),
            improvement=mean_probability([row.improvement for row in each if row.improvement]),
        )
        for (strategy, designer), each in groups.items()
        if sum(row.improvement is not None for row in each) == tasks
    ]
