"""What a task says of itself in words: the docstrings that go on its card."""

from __future__ import annotations

import inspect
from contextlib import suppress

from rewardgen.core.errors import TaskError
from rewardgen.sim.contract import Problem
from rewardgen.tasks.protocol import Task

WORDED = ("reset", "observe", "terminated", "success", "fitness")
"""Methods whose docstrings' first paragraphs go on the task card."""

_FEW_LETTERS = 40
"""In which nobody says what is wanted."""

MEASURED_HINT = {
    "fitness": "write `def fitness(self, episode):` with a number for each episode, (N,), higher is better",
    "success": "write `def success(self, episode):` with a yes or no for each episode, (N,) bool",
}
"""How to define what measures a task."""


def description(task: Task) -> str:
    """The class docstring.

    Raises:
        TaskError: The class has none.
    """
    text = inspect.cleandoc(type(task).__doc__ or "") or task.default_words("")
    if not text:
        hint = "say what the robot is, what it should do, and in which frame: the designer of rewards reads it"
        raise TaskError(f"class {type(task).__name__} has no docstring", hint)
    return text


def wordless_notes(task: Task) -> list[Problem]:
    """That a designer would be told no more of a task than its name."""
    with suppress(TaskError):
        if len(text := description(task)) < _FEW_LETTERS:
            what = f"all that the designer is told of what is wanted is `{text}`"
            return [Problem(what, "say in the class's docstring what it is and what it should do, or with `--goal`")]
    return []


def first_paragraph(task: Task, method: str) -> str:
    """The first paragraph of a method's docstring, on one line.

    Raises:
        TaskError: The task does not define the method, or gives it no docstring.
    """
    base = next((each for each in type(task).__mro__ if method in vars(each)), Task)
    if base.__module__.startswith("rewardgen."):
        if words := task.default_words(method):
            return words
        raise TaskError(f"{task.path.name} does not define `{method}`", MEASURED_HINT.get(method, ""))
    text = inspect.cleandoc(getattr(base, method).__doc__ or "").split("\n\n")[0]
    if not text:
        hint = "say in a sentence what it does: the designer of rewards reads its first paragraph, and never its code"
        raise TaskError(f"`{method}` has no docstring", hint)
    return " ".join(text.split())


def wording_problems(task: Task) -> list[Problem]:
    """Every docstring that the task card lacks."""
    problems = []
    for method in ("", *WORDED):
        try:
            first_paragraph(task, method) if method else description(task)
        except TaskError as error:
            problems.append(Problem(error.message, error.hint))
    return problems
