"""`rewardgen check`: the critic's gates on reward files, without a run."""

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
    """Check reward files."""
    if not files:
        raise UsageError("no reward file is given", f"`rewardgen check {task} my_reward.py`")
    verdicts, not_available = check_rewards(task, {str(each): read_reward(each) for each in files})
    passed = all(each.accepted for each in verdicts.values())
    if json:
        data = [each.model_dump(mode="json") | {"accepted": each.accepted} for each in verdicts.values()]
        files_data = dict(zip(verdicts, data, strict=True))
        print_json({"passed": passed, "files": files_data, "not_available": not_available})
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
