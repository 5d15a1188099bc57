"""The tasks that there are, by group, told from the text of their files: none of them is run for it."""

from __future__ import annotations

import ast
import re
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from rewardgen.core.extras import install_hint
from rewardgen.core.registry import Registry
from rewardgen.tasks.loading import shipped_tasks
from rewardgen.tasks.registered import registered_tasks


class Group(NamedTuple):
    """Shipped tasks that belong together: a folder of `envs/`.

    Attributes:
        title: What they are.
        module: What they need beside what rewardgen itself does; empty for nothing.
        extra: The extra of rewardgen that brings it; empty if none can.
    """

    title: str
    module: str = ""
    extra: str = ""


OWN_ENVIRONMENT = "it takes an environment of its own: see docs/environments.md"

GROUPS: Registry[Group] = Registry("group of tasks")
"""By the name of the folder in `envs/`."""
GROUPS.register("own", Group("On models of our own"))
GROUPS.register("gymnasium", Group("Gymnasium's MuJoCo tasks"))
GROUPS.register("dm_control", Group("DeepMind Control Suite", "dm_control", "dm-control"))
GROUPS.register("text2reward", Group("Novel skills of Text2Reward"))
GROUPS.register("classic_control", Group("Gymnasium's classic control"))
GROUPS.register("box2d", Group("Gymnasium's Box2D tasks", "Box2D", "box2d"))


class Listed(NamedTuple):
    """A task that there is.

    Attributes:
        name: Its name.
        group: Title of its group, or the package that it is from.
        about: What the robot should do: the last sentence of the first paragraph of its description.
        path: Its file; None if there is none.
        slow: Whether it is left out of tables of all tasks.
        problem: Why it cannot be run here; empty if it can.
        hint: What helps.
    """

    name: str
    group: str
    about: str
    path: Path | None
    slow: bool = False
    problem: str = ""
    hint: str = ""

    @property
    def is_shipped(self) -> bool:
        """Whether rewardgen itself has it, and no other package."""
        return any(self.group == each.title for each in GROUPS)

    @property
    def why(self) -> str:
        """Why it cannot be run here and what helps; empty if it can."""
        return "; ".join(each for each in (self.problem, self.hint) if each)


def listed_tasks() -> list[Listed]:
    """All shipped tasks by group, then those of installed packages."""
    tasks, found = shipped_tasks(), []
    for folder in GROUPS.names():
        group = GROUPS.get(folder)
        missing = bool(group.module) and find_spec(group.module) is None
        brings = install_hint(group.extra) if group.extra else OWN_ENVIRONMENT
        problem, hint = (f"needs {group.module}", brings) if missing else ("", "")
        paths = [path for path in tasks.values() if path.parent.name == folder]
        found += [_read(path.stem, group.title, path, problem, hint) for path in paths]
    for each in registered_tasks(tasks):
        problem = each.problem and f"of the package {each.package}: {each.problem}"
        found.append(_read(each.name, each.package, each.path, problem))
    return found


def _read(name: str, group: str, path: Path | None, problem: str = "", hint: str = "") -> Listed:
    """What the text of a task file says: of its last class with a description, and whether one says `slow = True`."""
    if path is None:
        return Listed(name, group, "", None, False, problem, hint)
    try:
        body = ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError) as error:
        return Listed(name, group, "", path, False, problem or f"cannot be read: {error}", hint)
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
    texts = [text for node in classes if (text := ast.get_docstring(node))]
    slow = any(ast.unparse(each) == "slow = True" for node in classes for each in node.body)
    return Listed(name, group, _command(texts[-1]) if texts else "", path, slow, problem, hint)


def _command(description: str) -> str:
    paragraph = " ".join(description.strip().partition("\n\n")[0].split())
    return re.split(r"(?<=[.!]) ", paragraph)[-1]
