"""`rewardgen suite`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from rewardgen.cli.failures import INTERRUPTED
from rewardgen.cli.output import Json, next_steps, print_json, with_runs_dir
from rewardgen.cli.run import Yes, require_consent, watch
from rewardgen.core.errors import UsageError
from rewardgen.core.files import write_atomic
from rewardgen.search.suite import CellResult, Runs, SuiteTable, measure, plan, read_suite, suite_table
from rewardgen.store.journal import SilentListener
from rewardgen.ui.console import messages, results
from rewardgen.ui.suite import suite_csv, suite_markdown, suite_page


def suite(
    file: Annotated[Path, Parameter(help="A TOML file with tasks, seeds, strategies and designers: docs/suite.md.")],
    /,
    *,
    yes: Yes = False,
    runs_dir: Annotated[
        Path | None, Parameter(help="Folder of its runs and tables; the file's name without `.toml`, beside it.")
    ] = None,
    json: Json = False,
) -> int:
    """Set strategies and designers side by side, or go on with that."""
    asked = read_suite(file)
    if runs_dir is None and file.suffix != ".toml":
        raise UsageError(f"{file} has no name ending in `.toml`", "rename it, or name a folder with `--runs-dir`")
    place = runs_dir or file.with_suffix("")
    cells = plan(asked, place)
    require_consent([cell.config for cell in cells], yes)
    runs = Runs(place)
    measured: list[CellResult] = []
    table = SuiteTable()
    options = [*([] if runs_dir is None else ["--runs-dir", str(runs_dir)]), *["--yes"] * yes]
    again = shlex.join(["suite", str(file), *options])
    for number, cell in enumerate(cells, start=1):
        if runs.is_finished(cell):
            outcome = runs.work(cell, SilentListener())
        else:
            messages().print(f"run {number} of {len(cells)}: {cell.name}", soft_wrap=True)
            outcome = watch(lambda shown, cell=cell: runs.work(cell, shown, shown.confirm(yes)), place, again)
        if outcome is None:
            return INTERRUPTED
        measured.append(measure(cell, outcome.history))
        table = suite_table(cells, measured)
        write_atomic(place / "table.md", suite_markdown(table))
        write_atomic(place / "table.csv", suite_csv(table))
        write_atomic(place / "table.json", table.model_dump_json(indent=1))
    if json:
        print_json(table.model_dump(mode="json"))
    else:
        results().print(suite_page(table))
        messages().print(f"\ntable: {place / 'table.md'}, also as table.csv and table.json", soft_wrap=True)
        next_steps((with_runs_dir("runs list", place), "the runs behind it"))
    return 0 if any(each.winner for each in measured) else 1
