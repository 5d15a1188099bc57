"""The expert policy beside a task file, and the worker jobs that load it: `transitions` and `check`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from torch import Tensor

from rewardgen.core.errors import RunFolderError, TaskError, did_you_mean
from rewardgen.sim.contract import Problem, noted
from rewardgen.sim.transitions import save_transitions
from rewardgen.tasks.card import measure_task
from rewardgen.tasks.check import Checked, check_task
from rewardgen.tasks.loading import expert_file, load_task
from rewardgen.tasks.protocol import Task
from rewardgen.tasks.record_transitions import record_transitions
from rewardgen.training.policies import load_policy, misfit

_MOST_PRINTED = 1000
"""Characters kept of a task's printing."""


def transitions_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Record a task's transitions in the file `path`; return its `MeasuredTask`."""
    task = load_task(payload["task"])
    save_transitions(Path(payload["path"]), record_transitions(task, load_expert(task)))
    return measure_task(task, payload["task"]).model_dump(mode="json")


def check_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Check a task file; `payload` names the `task` and the known `trainers`; `quick` leaves out whole episodes.

    Returns:
        `problems` and `notes`: {what, hint} each. `measured`: see `check_task`. `printed`: the beginning of the text
        that the task's own code printed.
    """
    problems: list[Problem] = []
    checked = Checked([], [], {})
    printed = StringIO()
    with noted(problems), redirect_stdout(printed):
        task = load_task(payload["task"])
        checked = check_task(task, lambda part: report({"part": part}), quick=payload.get("quick", False))
        problems += checked.problems
        if not problems:
            for name in sorted(task.training.keys() - {*payload["trainers"]}):
                what = f"`training` has settings for the trainer `{name}`, which is unknown"
                problems.append(Problem(what, did_you_mean(name, payload["trainers"])))
            load_expert(task)
    answer: dict[str, Any] = {"measured": checked.measured, "printed": printed.getvalue()[:_MOST_PRINTED]}
    for kind, items in (("problems", problems), ("notes", checked.notes)):
        answer[kind] = [item._asdict() for item in items]
    return answer


def load_expert(task: Task) -> Callable[[Tensor], Tensor] | None:
    """Return the actions of the expert policy beside a task file, if any; raise a TaskError if it does not fit."""
    path = expert_file(task.path)
    if not path.exists():
        return None
    hint = f"make it again with `rewardgen tasks expert {task.path}`, or delete it"
    try:
        policy = load_policy(path)
    except RunFolderError as error:
        raise TaskError(error.message, hint) from error
    if problem := misfit(policy, task.make_envs([0], 1)):
        raise TaskError(f"{path} is an expert policy for another task: {problem}", hint)
    return policy.act
