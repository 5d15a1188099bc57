"""The packages that environments of Gymnasium come from: which, and whether what is installed suits them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, files, packages_distributions, requires, version

from rewardgen.core.errors import TaskError

_SIMULATORS = {"gymnasium.envs.mujoco.": "mujoco", "gymnasium.envs.box2d.": "gymnasium[box2d]"}
"""Where Gymnasium's own environments are, to what they need."""


def packages_of(kind: type, own: str) -> list[str]:
    """What has to be installed for an environment besides Gymnasium, as requirements.

    Args:
        kind: Its class.
        own: The module of the task, which goes where the task goes.

    Raises:
        TaskError: It is in a module that no installed package has.
    """
    known, found = packages_distributions(), set()
    for module in {each.__module__ for each in kind.__mro__}:
        name = module.partition(".")[0]
        found |= {needed for place, needed in _SIMULATORS.items() if module.startswith(place)}
        if name in known and name != "gymnasium":
            found.add(_owner(module, known[name]))
        elif name not in (*sys.stdlib_module_names, *known) and module != own:
            raise TaskError(f"the environment is in `{module}`, which no installed package has", "install it")
    return sorted(found)


def unfit(module: str) -> str:
    """What the package of a module needs that is missing or of another version, in words; empty if there is nothing.

    Args:
        module: Such as the part of an environment's id before the colon.
    """
    try:
        from packaging.requirements import InvalidRequirement, Requirement
    except ImportError:  # Stable-Baselines3 brings it; an exported environment may lie where that is not
        return ""
    package = _owner(module, packages_distributions().get(module.partition(".")[0], []))
    told = []
    for each in (requires(package) or []) if package else []:
        with suppress(InvalidRequirement):
            needed = Requirement(each)
            asked = needed.marker is None or needed.marker.evaluate({"extra": ""})
            have = _installed(needed.name)
            if asked and not (have and needed.specifier.contains(have, prereleases=True)):
                told.append(f"`{needed.name}{needed.specifier}`, and {have or 'none'} is installed")
    return f"{package} needs {'; '.join(told)}: install that, or another release of {package}" if told else ""


def _owner(module: str, packages: Sequence[str]) -> str:
    """Which of some packages has a module, where several share its namespace; empty without any."""
    path = module.replace(".", "/")
    for each in packages if len(packages) > 1 else ():
        if {f"{path}.py", f"{path}/__init__.py"} & {file.as_posix() for file in files(each) or ()}:
            return each
    return next(iter(packages), "")


def _installed(package: str) -> str:
    """The version that is installed; empty if it is not."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
