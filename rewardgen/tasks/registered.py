"""Tasks of installed packages, from the entry-point group `rewardgen.tasks`. Runs none of their code.

A package registers a task by a name and a module, or a module and its class. In its `pyproject.toml`:
`[project.entry-points."rewardgen.tasks"]` with `hover = "my_package.hover:Hover"`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.machinery import PathFinder
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from rewardgen.core.errors import TaskError

GROUP = "rewardgen.tasks"
NAME = re.compile(r"(?!latest$|.*-v\d+$)\w[\w-]*")
"""Pattern of the name of a task; it excludes names of runs and environments."""


class Registered(NamedTuple):
    """A task of an installed package.

    Attributes:
        name: Its name.
        package: Name of the package.
        path: The task file; None if there is none.
        problem: Reason why it cannot be run; empty if it can.
    """

    name: str
    package: str
    path: Path | None
    problem: str = ""

    def file(self) -> Path:
        """Return the task file.

        Raises:
            TaskError: The entry is broken.
        """
        if self.path is None or self.problem:
            what = f"the task `{self.name}` of the installed package {self.package} is broken: {self.problem}"
            raise TaskError(what, f"install another version of {self.package}, or report it to its authors")
        return self.path


def registered_tasks(reserved: Iterable[str] = ()) -> list[Registered]:
    """Return the tasks of all installed packages, by package and name, broken ones included."""
    entries = {(_package(entry), entry.name, entry.value) for entry in entry_points(group=GROUP)}
    owners = dict.fromkeys(reserved, "rewardgen")
    tasks = []
    for package, name, value in sorted(entry for entry in entries if entry[0]):
        path = _module_file(value.partition(":")[0].strip())
        problem = "" if path else f"there is no Python file of the module `{value.partition(':')[0]}`"
        if not NAME.fullmatch(name):
            problem = "its name is not one word, or it is the name of a run or an environment"
        elif owners.setdefault(name, package) != package:
            problem = f"{owners[name]} has a task of that name"
        tasks.append(Registered(name, package, path, problem))
    return tasks


def _package(entry: EntryPoint) -> str:
    """Return the name of an entry's package; empty for the remains of a removed one."""
    try:
        return entry.dist.name if entry.dist else ""
    except (KeyError, TypeError):
        return ""


def _module_file(module: str) -> Path | None:
    """Return the file of a module without importing the packages that it lies in."""
    top, *rest = module.split(".")
    try:
        spec = find_spec(top)
        for part in rest:
            places = spec.submodule_search_locations if spec else None
            spec = PathFinder.find_spec(f"{spec.name}.{part}", places) if spec and places else None
    except (ImportError, ValueError):
        return None
    return Path(spec.origin).resolve() if spec and spec.origin and spec.origin.endswith(".py") else None
