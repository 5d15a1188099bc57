"""What a task file has in the reward language, as programs of their own: its rewards, and its metric.

So its rewards train on the same road as candidates.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import Any, Literal, NamedTuple

from rewardgen.core.errors import TaskError
from rewardgen.reward.signature import ENTRY
from rewardgen.tasks.protocol import Task

Baseline = Literal["human_reward", "sparse_reward"]
BASELINES: tuple[Baseline, ...] = ("human_reward", "sparse_reward")
_PLACE = re.compile(r"^line \d+[,:] ")


class OwnProgram(NamedTuple):
    """A static method of a task file as a program of its own.

    Attributes:
        name: The method's name.
        file: Name of the task file.
        source: Defines `compute_reward`.
        first_line: Line of the task file at which its first line stands.
    """

    name: str
    file: str
    source: str
    first_line: int

    def fault(self, line: int | None, message: str, hint: str) -> TaskError:
        """What is wrong with the program, told of the method and the line in the task file.

        Without the code of the line: what fails in a training is told to the designer, who must not see a metric's.

        Args:
            line: Line of `source`, if there is one.
            message: What is wrong.
            hint: What to write instead.
        """
        at = f" at line {self.first_line + line - 1}" if line else ""
        code = self.source.splitlines()[line - 1].strip()[:120] if line else ""
        told = _PLACE.sub("", message).removeprefix(f"`{code}`: ").replace(f"`{ENTRY}`", f"`{self.name}`")
        hint = hint.replace(f"`{ENTRY}`", f"`{self.name}`") or f"fix it in {self.file}"
        return TaskError(f"`{self.name}` of {self.file}{at}: {told}", hint)


def own_program(task: Task, name: Baseline | Literal["metric"]) -> OwnProgram | None:
    """The program of one of the task's own rewards or of its metric, or None if it has none.

    Args:
        task: The task.
        name: The static method.

    Raises:
        TaskError: It is not a static method written with `def`.
    """
    found: Any = inspect.getattr_static(type(task), name, None)
    if found is None:
        return None
    if not isinstance(found, staticmethod):
        raise TaskError(f"`{name}` is not a static method", "put `@staticmethod` above it")
    lines, line = inspect.getsourcelines(found.__func__)
    text = textwrap.dedent("".join(lines))
    start = re.search(rf"^def {name}\b", text, re.MULTILINE)
    if start is None:
        raise TaskError(f"`{name}` is not a plain function", f"write it as `def {name}(...):`")
    source = text[start.start() :].replace(f"def {name}", f"def {ENTRY}", 1)
    return OwnProgram(name, task.path.name, source, line + text[: start.start()].count("\n"))


def baseline_sources(task: Task) -> dict[str, str]:
    """Source of the task's own rewards, `human` and `sparse`, as far as it has them.

    Raises:
        TaskError: As for `own_program`.
    """
    programs = {name.removesuffix("_reward"): own_program(task, name) for name in BASELINES}
    return {name: program.source for name, program in programs.items() if program}
