"""`rewardgen check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.text import Text

from rewardgen.cli.output import Json, TaskName, next_steps, print_json
from rewardgen.core.errors import UsageError
from rewardgen.search.inspect_rewards import check_rewards, read_reward
from rewardgen.store.records import Verdict
from rewardgen.ui.console import results
from rewardgen.ui.show import findings_text


def check(
    task: TaskName,
    /,
    *files: Annotated[Path, Parameter(help="Python files, each with a `compute_reward`.")],
    json: Json = False,
) -> int:
    """Check reward files without training."""
    if not files:
        raise UsageError("no reward file is named", f"`rewardgen check {task} my_reward.py`")
    verdicts, not_available = check_rewards(task, {str(file): read_reward(file) for file in files})
    passed = all(verdict.accepted for verdict in verdicts.values())
    if json:
        data = {
            file: verdict.model_dump(mode="json") | {"accepted": verdict.accepted} for file, verdict in verdicts.items()
        }
        print_json({"passed": passed, "files": data, "not_available": not_available})
        return 0 if passed else 1
    for file, verdict in verdicts.items():
        results().print(_verdict_text(file, verdict))
    if not_available:
        results().print(Text(f"not available for {task}: {', '.join(not_available)}", "dim"))
    next_steps((f"tasks show {task}", "the variables that a reward may read"))
    return 0 if passed else 1


def _verdict_text(file: str, verdict: Verdict) -> Text:
    state = ("accepted", "green") if verdict.accepted else ("rejected", "red")
    text = Text.assemble((file, "bold"), ": ", state)
    return text.append("\n").append_text(findings_text(verdict.findings)) if verdict.findings else text
