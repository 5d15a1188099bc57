"""List all tasks by group, from the text of their files: no task file is run."""

from __future__ import annotations

import ast
import re
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from rewardgen.core.extras import install_hint
from rewardgen.core.registry import Registry
from rewardgen.tasks.loading import registered_tasks, shipped_tasks


class Group(NamedTuple):
    """Shipped tasks in a folder of `envs/`."""

    title: str
    module: str = ""
    """Module that the tasks need besides rewardgen's own dependencies."""
    extra: str = ""
    """Extra of rewardgen that brings the module."""


GROUPS: Registry[Group] = Registry("group of tasks")
"""Groups by their folder in `envs/`."""
GROUPS.register("own", Group("On models of our own"))
GROUPS.register("gymnasium", Group("Gymnasium's MuJoCo tasks"))
GROUPS.register("dm_control", Group("DeepMind Control Suite", "dm_control", "dm-control"))
GROUPS.register("text2reward", Group("Novel skills of Text2Reward"))
GROUPS.register("classic_control", Group("Gymnasium's classic control"))
GROUPS.register("box2d", Group("Gymnasium's Box2D tasks", "Box2D", "box2d"))


class Listed(NamedTuple):
    """A task in the list."""

    name: str
    group: str
    """Title of its group, or its package."""
    about: str
    """The goal: last sentence of the first paragraph of its description."""
    path: Path | None
    slow: bool = False
    problem: str = ""
    """Reason why the task cannot be run here, with the fix; empty if it can."""
    is_shipped: bool = False


def listed_tasks() -> list[Listed]:
    """Return all shipped tasks by group, then those of installed packages."""
    shipped, tasks = shipped_tasks(), []
    for folder in GROUPS.names():
        group = GROUPS.get(folder)
        problem = ""
        if group.module and find_spec(group.module) is None:
            fix = install_hint(group.extra) if group.extra else "see docs/environments.md"
            problem = f"needs {group.module}; {fix}"
        paths = [path for path in shipped.values() if path.parent.name == folder]
        tasks += [_listed(path.stem, group.title, path, problem, is_shipped=True) for path in paths]
    for entry in registered_tasks(shipped):
        problem = entry.problem and f"of the package {entry.package}: {entry.problem}"
        tasks.append(_listed(entry.name, entry.package, entry.path, problem))
    return tasks


def _listed(name: str, group: str, path: Path | None, problem: str, *, is_shipped: bool = False) -> Listed:
    """Read in the text of a task file the goal of its last described class, and `slow = True`."""
    try:
        body = ast.parse(path.read_bytes()).body if path else []
    except (OSError, SyntaxError, ValueError) as error:
        body, problem = [], problem or f"cannot be read: {error}"
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
    texts = [text for node in classes if (text := ast.get_docstring(node))]
    slow = any(ast.unparse(line) == "slow = True" for node in classes for line in node.body)
    return Listed(name, group, _goal(texts[-1]) if texts else "", path, slow, problem, is_shipped)


def _goal(description: str) -> str:
    paragraph = " ".join(description.strip().partition("\n\n")[0].split())
    return re.split(r"(?<=[.!]) ", paragraph)[-1]
