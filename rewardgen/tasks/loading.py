"""Find and load task files, by the name of a task, an environment or a path. Loads no torch before a task.

Installed packages register tasks in the entry-point group `rewardgen.tasks`, by a name and a module, or a module and
its class: `hover = "my_package.hover:Hover"`. None of their code runs to list them.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import importlib.util
import os
import re
import shlex
import sys
from collections.abc import Iterable
from importlib.machinery import PathFinder
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from rewardgen.core.errors import RunFolderError, TaskError, did_you_mean, nearest
from rewardgen.core.files import write_atomic
from rewardgen.core.resources import shipped_task_files
from rewardgen.sim.faults import task_faults
from rewardgen.sim.variables import Var
from rewardgen.tasks.protocol import Task

GROUP = "rewardgen.tasks"
NAME = re.compile(r"(?!latest$|.*-v\d+$)\w[\w-]*")
"""Pattern of the name of a task; it excludes names of runs and environments."""
EXPERT_SUFFIX = ".expert.npz"
_GYM = re.compile(
    r"(?:gymnasium:)?(?P<env>(?:[\w.]+:)?[\w./-]+-v\d+|(?<=gymnasium:)\w[\w./:-]*|[A-Za-z_][\w.]*:[A-Za-z_]\w*)"
)
"""An environment by Gymnasium's id, with or without the module that registers it, or by module and class."""

_GYM_TASK = '''\
"""The environment {env} as it is. Copy this file to change the task: its description, variables, fitness, success."""

from rewardgen import GymTask


class Environment(GymTask):
    env = {env!r}
'''


def expert_file(task: Path) -> Path:
    """Return the path of a task's expert policy: `hopper.expert.npz` beside `hopper.py`."""
    return task.with_suffix(EXPERT_SUFFIX)


def shipped_tasks() -> dict[str, Path]:
    """Return the shipped task files by name."""
    return {path.stem: path for path in shipped_task_files()}


def resolve_task(reference: str) -> Path:
    """Return the file of a task.

    Args:
        reference: Name of a shipped task or of one of an installed package, path of a file ending in `.py`, or an
            environment: `Reacher-v5`, `my_package:MyEnv-v0`, `my_package.module:MyEnv`.

    Raises:
        TaskError: The task or file is unknown.
    """
    tasks = shipped_tasks()
    if reference in tasks:
        return tasks[reference]
    if gym := _GYM.fullmatch(reference):
        return _gym_task_file(gym["env"])
    registered = registered_tasks(tasks) if NAME.fullmatch(reference) else []
    for task in registered:
        if task.name == reference:
            return task.file()
    path = Path(reference).expanduser()
    if path.suffix == ".py" or "/" in reference:
        if path.is_file():
            return path.resolve()
        close = nearest(path.name, [file.name for file in path.parent.glob("*.py")])
        hint = "give the path of an existing .py file, or see `rewardgen tasks list`"
        hint += "; a run whose folder has moved needs a link at the old place"
        hint = f"did you mean `{path.with_name(close)}`?" if close else hint
        raise TaskError(f"there is no task file {reference}", hint)
    if Path(f"{path}.py").is_file():
        raise TaskError(f"unknown task `{reference}`", f"did you mean `{reference}.py`?")
    close = nearest_task(reference, [task.name for task in registered])
    if " " in reference.strip() and not close:
        hint = f"name the robot and a model: `rewardgen run {shlex.quote(reference)} --robot hopper --model ...`"
        raise TaskError("these are words, and a run needs a task that measures them", hint)
    hint = "see `rewardgen tasks list`, or give the path of a task file, or an environment such as `Reacher-v5`"
    raise TaskError(f"unknown task `{reference}`", f"did you mean `{close}`? {hint}" if close else hint)


def nearest_task(reference: str, others: Iterable[str] = ()) -> str:
    """Return the shipped task, other task or Gymnasium id that is spelled nearly like a reference, or an empty text."""
    names = [*shipped_tasks(), *others]
    if "gymnasium" in sys.modules or importlib.util.find_spec("gymnasium"):
        names += importlib.import_module("gymnasium").registry  # for an error alone: the import takes a while
    return nearest(reference, names, sure=True) or ""


def names_task(reference: str) -> bool:
    """Return whether a reference can only mean a task, and not a run."""
    if Path(reference).suffix == ".py" or reference in shipped_tasks():
        return True
    if _GYM.fullmatch(reference):
        return bool(re.search(r"^gymnasium:|-v\d+$", reference))
    return bool(NAME.fullmatch(reference)) and any(task.name == reference for task in registered_tasks())


def _require_installed(module: str) -> None:
    """Refuse a module that lies in the current folder and is not installed: workers run elsewhere."""
    if not module or module in sys.modules or importlib.util.find_spec(module):
        return
    here = "write `PYTHONPATH=$PWD` before the command"
    for path, hint in (
        (Path(f"{module}.py"), f"{here}, or name the file {module}.py if it holds one environment"),
        (Path(module), f"install its project, as by `pip install -e .`, or {here}"),
    ):
        if path.exists():
            raise TaskError(f"{path} is here, and no installed package has the module `{module}`", hint)


def _gym_task_file(env: str) -> Path:
    """Return the task file of an environment; it is written to the user's data folder if missing."""
    _require_installed(env.rpartition(":")[0].partition(".")[0])
    text = _GYM_TASK.format(env=env)
    base = Path(os.environ.get("XDG_DATA_HOME", ""))
    name = re.sub(r"[^\w.-]+", "-", env)
    folder = (base if base.is_absolute() else Path.home() / ".local" / "share") / "rewardgen" / "tasks"
    path = folder / hashlib.sha256(text.encode()).hexdigest()[:12] / f"{name}.py"
    if not path.is_file() or path.read_text() != text:
        try:
            write_atomic(path, text)
        except RunFolderError as error:
            raise TaskError(error.message, "name a folder that you may write: `export XDG_DATA_HOME=...`") from error
    return path.resolve()


def lasting_reference(reference: str) -> str:
    """Return a shipped task by name, any other by absolute path, so that the reference holds in any folder.

    Raises:
        TaskError: The task or file is unknown.
    """
    return reference if reference in shipped_tasks() else str(resolve_task(reference))


def load_task(reference: str) -> Task:
    """Load a task file by path and make its task.

    Raises:
        TaskError: The file is missing, raises, or does not hold exactly one task class.
    """
    path = resolve_task(reference)
    with task_faults(path):
        module = _module(path, hashlib.sha256(path.read_bytes()).hexdigest())
    return task_in(module, path)


def shipped_task(name: str) -> Any:
    """Return the class of a shipped task, to build on: `class Mine(shipped_task("hopper"))`.

    Raises:
        TaskError: No such task is shipped.
    """
    if name not in shipped_tasks():
        raise TaskError(f"no task `{name}` is shipped", did_you_mean(name, shipped_tasks()))
    return type(load_task(name))


def task_in(module: ModuleType, path: Path) -> Task:
    """Make the task of an executed task file.

    Raises:
        TaskError: The file does not hold exactly one task class, or that cannot be made.
    """
    classes = [kind for kind in _defined(module) if Task in kind.__mro__]
    leaves = _leaves(classes) or _around_envs(module)
    if len(leaves) != 1:
        names = f": {_listed(leaf.__name__ for leaf in leaves)}" if leaves else ""
        hint = "define one class that derives from `rewardgen.MujocoTask`, `GymTask` or `gymnasium.Env`"
        if leaves and not classes:
            hint = f"choose one of the environments: `class MyTask(GymTask): env = {leaves[0].__name__}`"
        raise TaskError(f"{path.name} holds {len(leaves)} task classes{names}, expected one", hint)
    leaves[0].path = path
    _require_known_members(leaves[0], path.read_text(errors="replace"))
    with task_faults(path):
        return leaves[0]()


def _defined(module: ModuleType) -> list[Any]:
    return [kind for kind in vars(module).values() if isinstance(kind, type) and kind.__module__ == module.__name__]


def _leaves(classes: list[Any]) -> list[Any]:
    return [kind for kind in classes if not any(kind in other.__mro__[1:] for other in classes)]


def _around_envs(module: ModuleType) -> list[Any]:
    """Return a task class around each Gymnasium environment that a file defines."""
    if "gymnasium" not in sys.modules:
        return []
    from gymnasium import Env

    from rewardgen.tasks.gym_task import GymTask

    envs = _leaves([kind for kind in _defined(module) if issubclass(kind, Env)])
    return [type(env.__name__, (GymTask,), {"env": env, "__module__": module.__name__}) for env in envs]


def unread_members(task: type[Task], source: str) -> tuple[dict[str, Any], set[str]]:
    """Return the public members of a task file's classes that nothing reads, and the names that a task may define."""
    kinds = [kind for kind in task.__mro__ if kind.__module__ == task.__module__]
    bases = [kind for kind in task.__mro__ if kind not in kinds]
    names = {name for base in bases for name in (*vars(base), *vars(base).get("__annotations__", ())) if name[0] != "_"}
    members = {name: value for kind in kinds for name, value in vars(kind).items() if name not in names}
    return {
        name: value
        for name, value in members.items()
        if not (name.startswith("_") or isinstance(value, Var) or re.search(rf"\.{name}\b", source))
    }, names


def _require_known_members(task: type[Task], source: str) -> None:
    """Refuse a public member that nothing reads and that is spelled nearly like a known one."""
    unread, names = unread_members(task, source)
    nearest_names = {name: difflib.get_close_matches(name, names, n=1, cutoff=0.85) for name in unread}
    misspelled = {name: close[0] for name, close in nearest_names.items() if close}
    if misspelled:
        message = f"the task has {_listed(misspelled)}, which nothing reads"
        hint = f"did you mean {_listed(misspelled.values())}? begin names of your own with `_`"
        raise TaskError(message, hint)


def _listed(names: Iterable[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


@functools.lru_cache(maxsize=16)
def _module(path: Path, content: str) -> Any:
    """Execute a task file, once per process and content, which is given by its hash."""
    name = f"rewardgen_task_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TaskError(f"cannot load {path}", "a task file is a Python file ending in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    # Bypass the loader: its cached bytecode misses an edit of the same length within a second.
    exec(compile(path.read_bytes(), str(path), "exec", dont_inherit=True), vars(module))
    return module


# Tasks of installed packages.


class Registered(NamedTuple):
    """A task of an installed package."""

    name: str
    package: str
    path: Path | None
    problem: str = ""
    """Reason why the task cannot be run; empty if it can."""

    def file(self) -> Path:
        """Return the task file."""
        if self.path is None or self.problem:
            message = f"the task `{self.name}` of the installed package {self.package} is broken: {self.problem}"
            raise TaskError(message, f"install another version of {self.package}, or report it to its authors")
        return self.path


def registered_tasks(reserved: Iterable[str] = ()) -> list[Registered]:
    """Return the tasks of all installed packages, by package and name, broken ones included."""
    entries = {(entry.dist.name, entry.name, entry.value) for entry in entry_points(group=GROUP) if entry.dist}
    owners = dict.fromkeys(reserved, "rewardgen")
    tasks = []
    for package, name, value in sorted(entries):
        path = _module_file(value.partition(":")[0].strip())
        problem = "" if path else f"there is no Python file of the module `{value.partition(':')[0]}`"
        if not NAME.fullmatch(name):
            problem = "its name is not one word, or it is the name of a run or an environment"
        elif owners.setdefault(name, package) != package:
            problem = f"{owners[name]} has a task of that name"
        tasks.append(Registered(name, package, path, problem))
    return tasks


def _module_file(module: str) -> Path | None:
    """Return the file of a module without importing the packages that it lies in."""
    top, *rest = module.split(".")
    try:
        spec = importlib.util.find_spec(top)
        for part in rest:
            places = spec.submodule_search_locations if spec else None
            spec = PathFinder.find_spec(f"{spec.name}.{part}", places) if spec and places else None
    except (ImportError, ValueError):
        return None
    return Path(spec.origin).resolve() if spec and spec.origin and spec.origin.endswith(".py") else None
