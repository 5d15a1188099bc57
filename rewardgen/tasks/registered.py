"""Tasks of installed packages: what they have under the entry-point group `rewardgen.tasks`. Runs none of their code.

A package registers a task by a name and a value: a module, a module and its class, or the path of a file of the
package. In its `pyproject.toml`: `[project.entry-points."rewardgen.tasks"]` with `hover = "my_package.hover:Hover"`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from configparser import ConfigParser
from importlib.machinery import PathFinder
from importlib.metadata import Distribution, distributions
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from rewardgen.core.errors import TaskError

GROUP = "rewardgen.tasks"
NAME = re.compile(r"(?!latest$|.*-v\d+$)\w[\w-]*")
"""Of a task that is not named by a path: none that means a run or an environment."""
_VALUE = re.compile(r"(?P<module>\w+(?:\.\w+)*)(?::(?P<kind>\w+))?")


class Registered(NamedTuple):
    """A task that an installed package has, or fails to have.

    Attributes:
        name: The name by which it is run; empty if not even that can be read.
        package: Name of the package.
        path: The task file; None if there is none.
        problem: Why it cannot be run; empty if it can.
    """

    name: str
    package: str
    path: Path | None
    problem: str = ""

    def file(self) -> Path:
        """The task file.

        Raises:
            TaskError: There is none.
        """
        if self.path is None or self.problem:
            what = f"the task `{self.name}` of the installed package {self.package} is broken: {self.problem}"
            raise TaskError(what, f"install another version of {self.package}, or tell its authors")
        return self.path


def registered_tasks(taken: Iterable[str] = ()) -> list[Registered]:
    """The tasks of all installed packages, by package and name; those that are broken say so.

    Args:
        taken: Names that no package may give.
    """
    seen: set[str] = set()
    found: list[Registered] = []
    for dist in distributions():
        try:
            if GROUP not in (dist.read_text("entry_points.txt") or ""):
                continue
            package = dist.metadata["Name"]
            known = package.lower()
        except Exception:  # a damaged package raises nearly anything
            continue
        if known not in seen:  # the first on the path is the one that Python imports
            seen.add(known)
            found += _of_package(package, dist)
    owners = dict.fromkeys(taken, "rewardgen")
    told = []
    for each in sorted(found, key=lambda each: (each.package, each.name)):
        if each.name and (owner := owners.setdefault(each.name, each.package)) != each.package:
            each = each._replace(problem=f"{owner} has a task of that name")
        told.append(each)
    return told


def _of_package(package: str, dist: Distribution) -> Iterator[Registered]:
    # Not by `dist.entry_points`: another library's finder may have found it, whose entries let one spoil all others.
    parser = ConfigParser(delimiters="=", interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[method-assign]
    try:
        parser.read_string(dist.read_text("entry_points.txt") or "")
        entries = dict(parser[GROUP]) if GROUP in parser else {}
    except Exception as error:
        yield Registered("", package, None, f"its entry points cannot be read: {error}")
        return
    for name, value in entries.items():
        try:
            yield Registered(name, package, _file(name, value, dist))
        except (TaskError, ImportError, OSError, SyntaxError, ValueError) as error:
            yield Registered(name, package, None, str(error))


def _file(name: str, value: str, dist: Distribution) -> Path:
    if not NAME.fullmatch(name):
        raise TaskError(
            "its name is not one word of letters, digits, `_` and `-`, or it is that of a run or an environment"
        )
    if value.endswith(".py"):
        path = Path(str(dist.locate_file(value)))
        if not path.is_file():
            raise TaskError(f"there is no file {value} in it")
        return path.resolve()
    wanted = _VALUE.fullmatch(value.strip())
    if wanted is None:
        raise TaskError(f"`{value}` is no `module`, no `module:Class` and no file ending in .py")
    path, kind = _module_file(wanted["module"]), wanted["kind"]
    body = ast.parse(path.read_bytes(), path.name).body if kind else []
    if kind and kind not in {node.name for node in body if isinstance(node, ast.ClassDef)}:
        raise TaskError(f"`{wanted['module']}` has no class `{kind}`")
    return path.resolve()


def _module_file(module: str) -> Path:
    """Where a module is; not by importing the package that it is in, which may do anything."""
    top, *rest = module.split(".")
    spec = find_spec(top)
    for part in rest:
        places = spec.submodule_search_locations if spec else None
        spec = PathFinder.find_spec(f"{spec.name}.{part}", places) if spec and places else None
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        raise TaskError(f"there is no Python file of the module `{module}`")
    return Path(spec.origin)
