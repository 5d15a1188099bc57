"""The expert policy beside a task file, and the worker jobs that look at it: `transitions` and `check`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from rewardgen.core.errors import RunFolderError, TaskError, did_you_mean
from rewardgen.sim.contract import Problem
from rewardgen.sim.episodes import Policy
from rewardgen.sim.transitions import save_transitions
from rewardgen.tasks.card import measure_task
from rewardgen.tasks.check import check_task, noted
from rewardgen.tasks.loading import expert_file, load_task
from rewardgen.tasks.protocol import Task
from rewardgen.tasks.record_transitions import record_transitions
from rewardgen.training.policies import load_policy, misfit


def transitions_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The worker job `transitions`: {"task": reference, "path": .npz file} to a `MeasuredTask`; writes the file.

    Raises:
        TaskError: The task breaks its contract, or there is an expert policy beside it that is not one for it.
    """
    task = load_task(payload["task"])
    save_transitions(Path(payload["path"]), record_transitions(task, load_expert(task)))
    return measure_task(task, payload["task"]).model_dump(mode="json")


def check_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The worker job `check`: {"task": reference, "trainers": names} to {"problems": [...], "measured": {...}}.

    A problem has `what` and `hint`.
    """
    problems: list[Problem] = []
    measured: dict[str, Any] = {}
    with noted(problems):
        task = load_task(payload["task"])
        found, measured = check_task(task)
        problems += found
        if not found:
            problems += _unknown_trainers(task, payload["trainers"])
            load_expert(task)
    return {"problems": [problem._asdict() for problem in problems], "measured": measured}


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
