"""`rewardgen doctor`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter
from rich.table import Table
from rich.text import Text

from rewardgen.cli import machine as checks
from rewardgen.cli.machine import Check
from rewardgen.cli.output import Json, RunsDir, next_steps, print_json
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR
from rewardgen.ui.console import messages, results

_STYLES = {"ok": "green", "warn": "yellow", "fail": "red"}


def doctor(
    *,
    model: Annotated[str | None, Parameter(help="Also say whether this model string can be used.")] = None,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
    json: Json = False,
) -> int:
    """Look at this machine."""
    found = checks.examine(runs_dir, model)
    failed = any(each.state == "fail" for each in found)
    if json:
        print_json({"healthy": not failed, "checks": [each._asdict() for each in found]})
        return 1 if failed else 0
    results().print(_report(found))
    if failed:
        messages().print("\nfix what failed, then run `rewardgen doctor` again")
    else:
        next_steps(("run cartpole", "searches for a reward, without a language model"))
    return 1 if failed else 0


def _report(found: Sequence[Check]) -> Table:
    table = Table.grid(padding=(0, 2))
    for each in found:
        text = Text(each.detail)
        text.append(f"\nhint: {each.hint}" if each.hint else "", "dim")
        table.add_row(Text(each.state, _STYLES[each.state]), Text(each.name, no_wrap=True), text)
    return table
