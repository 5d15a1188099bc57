"""Members of a task file that others read: docstrings for the task card, and its programs in the reward language."""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import Any, Literal, NamedTuple

from rewardgen.core.errors import TaskError
from rewardgen.reward.signature import ENTRY
from rewardgen.sim.contract import Problem, noted
from rewardgen.tasks.protocol import BASELINES, Baseline, Task

PACKAGE = __name__.removesuffix("tasks.members")
"""Prefix of this package's modules, also where they are copied into an export."""
WORDED = ("reset", "observe", "terminated", "success", "fitness")
"""Methods whose docstrings' first paragraphs go on the task card."""

MEASURED_HINT = {
    "fitness": "write `def fitness(self, episode):` with a number for each episode, (N,), higher is better; or"
    " `fitness = None` if only people or models can judge it",
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
    """Return the first paragraph of a method's docstring on one line; empty for a fitness that the task does not have.

    Raises:
        TaskError: The task does not define the method, or gives it no docstring.
    """
    if method in MEASURED_HINT and not task.has_fitness:
        return ""
    owner = next((base for base in type(task).__mro__ if method in vars(base)), Task)
    if owner.__module__.startswith(PACKAGE):
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
    problems: list[Problem] = []
    for method in ("", *WORDED):
        with noted(problems):
            words = first_paragraph(task, method) if method else description(task)
            if words.startswith("TODO"):
                name = f"`{method}`" if method else "the class"
                problems.append(Problem(f"the docstring of {name} is still `{words[:40]}`", "write the docstring"))
    return problems


_PLACE = re.compile(r"^line \d+[,:] ")


class OwnProgram(NamedTuple):
    """A static method of a task file, renamed to `compute_reward`; `first_line` is its line in the file."""

    name: str
    file: str
    source: str
    first_line: int

    def fault(self, line: int | None, message: str, hint: str) -> TaskError:
        """Return an error with the method and the line in the task file, without the code of that line.

        A fault in training is shown to the designer, who must not see the code of a metric.
        """
        at = f" at line {self.first_line + line - 1}" if line else ""
        code = self.source.splitlines()[line - 1].strip()[:120] if line else ""
        text = _PLACE.sub("", message).removeprefix(f"`{code}`: ").replace(f"`{ENTRY}`", f"`{self.name}`")
        hint = hint.replace(f"`{ENTRY}`", f"`{self.name}`") or f"fix it in {self.file}"
        return TaskError(f"`{self.name}` of {self.file}{at}: {text}", hint)


def own_program(task: Task, name: Baseline | Literal["metric"]) -> OwnProgram | None:
    """Return the program of one of the task's own rewards or of its metric, or None without one.

    Raises:
        TaskError: The member is not a static method written with `def`.
    """
    member: Any = inspect.getattr_static(type(task), name)
    if member is None:
        return None
    if not isinstance(member, staticmethod):
        raise TaskError(f"`{name}` is not a static method", "put `@staticmethod` above it")
    lines, line = inspect.getsourcelines(member.__func__)
    text = textwrap.dedent("".join(lines))
    start = re.search(rf"^def {name}\b", text, re.MULTILINE)
    if start is None:
        raise TaskError(f"`{name}` is not a plain function", f"write it as `def {name}(...):`")
    source = text[start.start() :].replace(f"def {name}", f"def {ENTRY}", 1)
    return OwnProgram(name, task.path.name, source, line + text[: start.start()].count("\n"))


def baseline_sources(task: Task) -> dict[str, str]:
    """Return the sources of the task's own rewards by `human` and `sparse`; none without a fitness to compare by."""
    names = BASELINES if task.has_fitness else ()
    programs = {name.removesuffix("_reward"): own_program(task, name) for name in names}
    return {name: program.source for name, program in programs.items() if program}
