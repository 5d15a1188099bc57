"""The expert policy beside a task file, and the worker jobs that look at it: `transitions` and `check`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from rewardgen.core.errors import RunFolderError, TaskError, did_you_mean
from rewardgen.sim.contract import Problem
from rewardgen.sim.episodes import Policy
from rewardgen.sim.transitions import save_transitions
from rewardgen.tasks.card import measure_task
from rewardgen.tasks.check import Checked, check_task, noted
from rewardgen.tasks.loading import expert_file, load_task
from rewardgen.tasks.protocol import Task
from rewardgen.tasks.record_transitions import record_transitions
from rewardgen.training.policies import load_policy, misfit

_MOST_PRINTED = 1000
"""Characters of what a task prints."""


def transitions_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The worker job `transitions`: {"task": reference, "path": .npz file} to a `MeasuredTask`; writes the file.

    Raises:
        TaskError: The task breaks its contract, or there is an expert policy beside it that is not one for it.
    """
    task = load_task(payload["task"])
    save_transitions(Path(payload["path"]), record_transitions(task, load_expert(task)))
    return measure_task(task, payload["task"]).model_dump(mode="json")


def check_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The worker job `check`: {"task": reference, "trainers": names} to what was found.

    `problems` and `notes` hold {what, hint}; `measured` is as `check_task` says; `printed` is the beginning of what the
    task's own code printed, which is shown nowhere else.
    """
    problems: list[Problem] = []
    found = Checked([], [], {})
    printed = _Beginning()
    with noted(problems), redirect_stdout(printed):
        task = load_task(payload["task"])
        found = check_task(task)
        problems += found.problems
        if not problems:
            problems += _unknown_trainers(task, payload["trainers"])
            load_expert(task)
    told = {"problems": problems, "notes": found.notes}
    listed = {kind: [each._asdict() for each in several] for kind, several in told.items()}
    return {**listed, "measured": found.measured, "printed": printed.getvalue()}


class _Beginning(StringIO):
    """Keeps the beginning of what is written."""

    def write(self, text: str, /) -> int:
        super().write(text[: max(_MOST_PRINTED - self.tell(), 0)])
        return len(text)


def _unknown_trainers(task: Task, known: Collection[str]) -> list[Problem]:
    return [
        Problem(f"`training` has settings for the trainer `{each}`, which does not exist", did_you_mean(each, known))
        for each in task.training
        if each not in known
    ]


def load_expert(task: Task) -> Policy | None:
    """The expert policy that is kept beside a task file, or None if there is none.

    Args:
        task: The task.

    Raises:
        TaskError: The file is no policy, or not one for this task as it is now.
    """
    path = expert_file(task.path)
    if not path.exists():
        return None
    try:
        policy = load_policy(path)
    except RunFolderError as error:
        raise TaskError(error.message, _hint(task)) from error
    problem = misfit(policy, task.make_envs([0], 1))
    if problem:
        raise TaskError(f"{path} is an expert policy for another task: {problem}", _hint(task))
    return policy.act


def _hint(task: Task) -> str:
    return f"make it again with `rewardgen tasks expert {task.path}`, or delete it"
