"""`rewardgen suite`."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from rewardgen.cli.consent import confirm_price, require_consent, require_consent_to_file
from rewardgen.cli.failures import INTERRUPTED, report
from rewardgen.cli.output import Json, next_steps, print_json, with_runs_dir
from rewardgen.cli.run import Yes
from rewardgen.cli.watching import Memory, watch
from rewardgen.core.config import RunConfig
from rewardgen.core.errors import ModelError, UsageError, WorkerError
from rewardgen.core.files import write_atomic
from rewardgen.search.lifecycle import EndedRun
from rewardgen.search.suite import (
    Cell,
    CellResult,
    Runs,
    SuiteTable,
    measure,
    plan,
    read_suite,
    require_tasks,
    suite_table,
)
from rewardgen.store.journal import SilentListener
from rewardgen.ui.console import messages, results
from rewardgen.ui.show import suite_markdown, suite_page

File = Annotated[Path, Parameter(help="A TOML file with tasks, seeds, strategies and designers: docs/suite.md.")]
Folder = Annotated[
    Path | None, Parameter(help="Folder of the runs and tables; default: the file's name without `.toml`.")
]
_MODEL = "Model of all runs, in place of the file's designers; `{task}`, `{strategy}` and `{seed}` are filled in."
Model = Annotated[str | None, Parameter(help=_MODEL)]


def suite(file: File, /, *, model: Model = None, yes: Yes = False, runs_dir: Folder = None, json: Json = False) -> int:
    """Compare strategies and designers over many tasks; continues where it stopped.

    A run whose model or training fails does not keep the others from running.
    """
    suite_config = read_suite(file)
    if model is not None:
        suite_config = suite_config.model_copy(update={"designers": {model: {}}})
    if runs_dir is None and file.suffix != ".toml":
        raise UsageError(f"{file} has no name ending in `.toml`", "rename it, or name a folder with `--runs-dir`")
    folder = runs_dir or file.with_suffix("")
    cells = plan(suite_config, folder)
    if not yes:
        require_consent_to_file(file, [cell.config for cell in cells], RunConfig.model_fields)
    require_consent([cell.config for cell in cells], yes)
    runs = Runs(folder)
    if outdated := [cell.name for cell in cells if runs.is_outdated(cell)]:
        messages().print(f"runs again, as the task file has changed: {'; '.join(outdated)}", soft_wrap=True)
    if not yes:
        confirm_price([cell.config for cell in cells if not runs.is_finished(cell)])
    require_tasks(cell for cell in cells if not runs.is_finished(cell))
    measured: list[CellResult] = []
    failed: list[str] = []
    table = SuiteTable()
    given = {"--model": model, "--runs-dir": runs_dir and str(runs_dir)}
    options = [part for name, value in given.items() if value is not None for part in (name, value)] + ["--yes"] * yes
    again = shlex.join(["suite", str(file), *options])
    for number, cell in enumerate(cells, start=1):
        try:
            if runs.is_finished(cell):
                outcome = runs.work(cell, SilentListener())
            else:
                messages().print(f"run {number} of {len(cells)}: {cell.name}", soft_wrap=True)
                outcome = watch(partial(_work, runs, cell, yes), folder, again)
        except (ModelError, WorkerError) as error:
            report(error)
            failed.append(cell.name)
            continue
        if outcome is None:
            return INTERRUPTED
        measured.append(measure(cell, outcome.history))
        table = suite_table(cells, measured)
        write_atomic(folder / "table.md", suite_markdown(table))
        write_atomic(folder / "table.json", table.model_dump_json(indent=1))
    if json:
        print_json(table.model_dump(mode="json"))
    elif measured:
        results().print(suite_page(table))
        messages().print(f"\ntable: {folder / 'table.md'}, also as table.json", soft_wrap=True)
        next_steps((with_runs_dir("runs list", folder), "lists the runs behind it"))
    if failed:
        messages().print(f"failed: {'; '.join(failed)}", soft_wrap=True)
        next_steps((again, "tries them again"))
    won = {result.task for result in measured if result.winner}
    return 0 if won == {*suite_config.tasks} and not failed else 1


def _work(runs: Runs, cell: Cell, yes: bool, memory: Memory) -> EndedRun:
    return runs.work(cell, memory, memory.confirm(yes))
