"""Docstrings of a task that go on its card."""

from __future__ import annotations

import inspect

from rewardgen.core.errors import TaskError
from rewardgen.sim.contract import Problem
from rewardgen.tasks.protocol import Task

WORDED = ("reset", "observe", "terminated", "success", "fitness")
"""Methods whose docstrings' first paragraphs go on the task card."""

MEASURED_HINT = {
    "fitness": "write `def fitness(self, episode):` with a number for each episode, (N,), higher is better",
    "success": "write `def success(self, episode):` with a yes or no for each episode, (N,) bool",
}


def description(task: Task) -> str:
    """Return the class docstring.

    Raises:
        TaskError: The class has none.
    """
    text = inspect.cleandoc(type(task).__doc__ or "") or task.default_words("")
    if not text:
        hint = "say what the robot is, what it should do, and in which frame: the designer of rewards reads it"
        raise TaskError(f"class {type(task).__name__} has no docstring", hint)
    return text


def first_paragraph(task: Task, method: str) -> str:
    """Return the first paragraph of a method's docstring on one line.

    Raises:
        TaskError: The task does not define the method, or gives it no docstring.
    """
    owner = next((base for base in type(task).__mro__ if method in vars(base)), Task)
    if owner.__module__.startswith("rewardgen."):
        if words := task.default_words(method):
            return words
        raise TaskError(f"{task.path.name} does not define `{method}`", MEASURED_HINT.get(method, ""))
    text = inspect.cleandoc(getattr(owner, method).__doc__ or "").split("\n\n")[0]
    if not text:
        hint = "say in a sentence what it does: the designer of rewards reads its first paragraph, and never its code"
        raise TaskError(f"`{method}` has no docstring", hint)
    return " ".join(text.split())


def wording_problems(task: Task) -> list[Problem]:
    """Find every docstring that the task card lacks."""
    problems = []
    for method in ("", *WORDED):
        try:
            first_paragraph(task, method) if method else description(task)
        except TaskError as error:
            problems.append(Problem(error.message, error.hint))
    return problems
