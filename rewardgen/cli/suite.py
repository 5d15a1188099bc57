"""`rewardgen suite`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from rewardgen.cli.baselines import OwnRewards, own_rewards
from rewardgen.cli.completion import task_names
from rewardgen.cli.failures import INTERRUPTED
from rewardgen.cli.output import Json, next_steps, print_json, with_runs_dir
from rewardgen.cli.run import Yes, require_consent, watch
from rewardgen.core.errors import UsageError
from rewardgen.core.files import write_atomic
from rewardgen.core.formatting import count
from rewardgen.search.suite import CellResult, Runs, SuiteTable, measure, plan, read_suite, suite_table
from rewardgen.store.journal import SilentListener
from rewardgen.ui.console import messages, results
from rewardgen.ui.suite import suite_csv, suite_markdown, suite_page


def suite(
    *names: Annotated[
        str,
        Parameter(
            help="A TOML file with tasks, seeds, strategies and designers: docs/suite.md. With `--rewards`, tasks;"
            " without any, all shipped ones that are not slow.",
            completer=task_names,
        ),
    ],
    rewards: Annotated[
        str | None, Parameter(help="The tasks' own rewards to train, `human,sparse`, instead of strategies.")
    ] = None,
    options: Annotated[OwnRewards, Parameter(name="*")] = OwnRewards(),  # noqa: B008
    markdown: Annotated[Path | None, Parameter(help="File for the table of `--rewards`, as a page.")] = None,
    yes: Yes = False,
    runs_dir: Annotated[
        Path | None,
        Parameter(
            help="Folder of its runs and tables; the file's name without `.toml`, beside it. Of the trainings of"
            " `--rewards`; `trainings/` where you are."
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Set strategies and designers side by side, or the own rewards of tasks, or go on with that."""
    if rewards is not None:
        return own_rewards(names, rewards, options, markdown=markdown, folder=runs_dir, json=json)
    if len(names) != 1 or options != OwnRewards() or markdown:
        raise UsageError(
            "a suite is one TOML file", "with `--rewards human,sparse`, it is the named tasks' own rewards"
        )
    return _of_file(Path(names[0]), yes=yes, runs_dir=runs_dir, json=json)


def _of_file(file: Path, *, yes: bool, runs_dir: Path | None, json: bool) -> int:
    asked = read_suite(file)
    if runs_dir is None and file.suffix != ".toml":
        raise UsageError(f"{file} has no name ending in `.toml`", "rename it, or name a folder with `--runs-dir`")
    place = runs_dir or file.with_suffix("")
    cells = plan(asked, place)
    require_consent([cell.config for cell in cells], yes)
    runs = Runs(place)
    if left_over := runs.left_over(cells):
        told = f"{count(len(left_over), 'run')} in {place} of no cell of this suite: {', '.join(left_over)}"
        messages().print(told, soft_wrap=True)
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
