"""Programs of a task file in the reward language: its own rewards and its metric, so that they run like candidates."""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import Any, Literal, NamedTuple

from rewardgen.core.errors import TaskError
from rewardgen.reward.signature import ENTRY
from rewardgen.tasks.protocol import BASELINES, Baseline, Task

_PLACE = re.compile(r"^line \d+[,:] ")


class OwnProgram(NamedTuple):
    """A static method of a task file as a program.

    Attributes:
        name: Name of the method.
        file: Name of the task file.
        source: Defines `compute_reward`.
        first_line: Line of the task file where `source` begins.
    """

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
    """Return the sources of the task's own rewards by `human` and `sparse`.

    Raises:
        TaskError: As for `own_program`.
    """
    programs = {name.removesuffix("_reward"): own_program(task, name) for name in BASELINES}
    return {name: program.source for name, program in programs.items() if program}
