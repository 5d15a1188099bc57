"""Finding and loading task files: by the name of a shipped one, or by path. Loads no torch before a task is loaded."""

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
from pathlib import Path
from types import ModuleType
from typing import Any

from rewardgen.core.errors import TaskError, did_you_mean, nearest
from rewardgen.core.files import write_atomic
from rewardgen.core.resources import shipped_task_files
from rewardgen.sim.faults import task_faults
from rewardgen.sim.variables import Var
from rewardgen.tasks.baselines import BASELINES
from rewardgen.tasks.metric_contract import METRIC
from rewardgen.tasks.protocol import Task
from rewardgen.tasks.registered import NAME, registered_tasks

EXPERT_SUFFIX = ".expert.npz"
_NOT_FOR_AUTHORS = ("declared", "default_words", "measured", "model_file", "model_files", "path", "read")
"""Members of base classes that no task file has a reason to write."""
_OPTIONAL = (*BASELINES, METRIC, "scripted")
"""Members of a task that no base class has."""


_GYM = re.compile(
    r"(?:gymnasium:)?(?P<env>(?:[\w.]+:)?[\w./-]+-v\d+|(?<=gymnasium:)\w[\w./:-]*|[A-Za-z_][\w.]*:[A-Za-z_]\w*)"
)
"""An environment by Gymnasium's id, with the module that registers it or without, or by module and class."""

_GYM_TASK = '''\
"""The environment {env} as it is. Copy this file to change the task: its description, variables, fitness, success."""

from rewardgen import GymTask


class Environment(GymTask):
    env = {env!r}
'''


def expert_file(task: Path) -> Path:
    """Where a task's expert policy is kept, if it has one: `hopper.expert.npz` beside `hopper.py`."""
    return task.with_suffix(EXPERT_SUFFIX)


def shipped_tasks() -> dict[str, Path]:
    """Name to path of the shipped task files."""
    return {path.stem: path for path in shipped_task_files()}


def resolve_task(reference: str) -> Path:
    """The file behind a task reference.

    Args:
        reference: Name of a shipped task or of one of an installed package, the path of a file ending in `.py`, or an
            environment: `Reacher-v5`, `my_package:MyEnv-v0`, `my_package.module:MyEnv`.

    Raises:
        TaskError: There is no such task or file.
    """
    tasks = shipped_tasks()
    if reference in tasks:
        return tasks[reference]
    if wanted := _GYM.fullmatch(reference):
        return _gym_task_file(wanted["env"])
    registered = registered_tasks(tasks) if NAME.fullmatch(reference) else []
    for each in registered:
        if each.name == reference:
            return each.file()
    path = Path(reference).expanduser()
    if path.suffix == ".py" or "/" in reference:
        if path.is_file():
            return path.resolve()
        close = nearest(path.name, [each.name for each in path.parent.glob("*.py")])
        hint = "give the path of an existing .py file, or see `rewardgen tasks list`"
        raise TaskError(
            f"there is no task file {reference}", f"did you mean `{path.with_name(close)}`?" if close else hint
        )
    if close := named_alike(reference) or (f"{reference}.py" if path.with_name(f"{path.name}.py").is_file() else ""):
        raise TaskError(f"unknown task `{reference}`", f"did you mean `{close}`?")
    if " " in reference.strip():
        drafted = f"`rewardgen run {shlex.quote(reference)} --robot hopper --model ...`"
        hint = f"have a task drafted, by naming the robot and a model: {drafted}"
        raise TaskError("a run needs a task that measures what is wanted, and these are words", hint)
    close = nearest(reference, [*tasks, *(each.name for each in registered if each.name)])
    hint = "see `rewardgen tasks list`, or give the path of a task file, or an environment such as `Reacher-v5`"
    raise TaskError(f"unknown task `{reference}`", f"did you mean `{close}`? {hint}" if close else hint)


def named_alike(reference: str) -> str:
    """What is meant by a name that differs in nothing but how it is written; empty if there is no such thing.

    That is a shipped task, or with a version the newest of Gymnasium's environments: `Reacher-v5` for `reacher v4`.

    Args:
        reference: What was asked for.
    """
    wanted = _letters(reference.removeprefix("gymnasium:"))
    plain = not re.search(r"v\d+$", reference.strip())
    if plain and (close := [each for each in shipped_tasks() if _letters(each) == wanted]):
        return close[0]
    try:
        from gymnasium import registry  # for an error alone: it takes a while
    except ImportError:
        return ""
    known = {each: spec.version or 0 for each, spec in registry.items() if _letters(each) == wanted}
    return max(known, key=lambda each: known[each], default="")


def _letters(name: str) -> str:
    """A name without what people write otherwise."""
    return re.sub(r"[\W_]", "", re.sub(r"[\W_]*v\d+$", "", name.strip().lower()))


def names_task(reference: str) -> bool:
    """Whether a reference can only mean a task: none of what is found by it is looked at."""
    if Path(reference).suffix == ".py" or reference in shipped_tasks():
        return True
    if _GYM.fullmatch(reference):
        return bool(re.search(r"^gymnasium:|-v\d+$", reference))
    return bool(NAME.fullmatch(reference)) and any(each.name == reference for each in registered_tasks())


def _require_installed(module: str) -> None:
    """Tell of a package that lies where the user is and that is not installed: workers run elsewhere."""
    here = Path(module)
    if not module or module in sys.modules or importlib.util.find_spec(module):
        return
    if (file := here.with_suffix(".py")).is_file():
        hint = f"{file} is a file here: name that in its place"
    elif here.is_dir():
        hint = f"{module}/ is a folder here: install its project, as by `pip install -e .`, or write `PYTHONPATH=$PWD`"
        hint += " before the command"
    else:
        return
    raise TaskError(f"no installed package has the module `{module}`", hint)


def _gym_task_file(env: str) -> Path:
    """The task file of an environment; it is written where the user's data lies if it is not there."""
    _require_installed(env.rpartition(":")[0].partition(".")[0])
    text = _GYM_TASK.format(env=env)
    base = Path(os.environ.get("XDG_DATA_HOME", ""))
    name = re.sub(r"[^\w.-]+", "-", env)
    try:
        folder = (base if base.is_absolute() else Path.home() / ".local" / "share") / "rewardgen" / "tasks"
        path = folder / hashlib.sha256(text.encode()).hexdigest()[:12] / f"{name}.py"
        if not path.is_file() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, text)
        return path.resolve()
    except (OSError, RuntimeError) as error:
        what = f"no task file can be kept for {env}: {error}"
        raise TaskError(what, f"write one: `class MyTask(GymTask): env = {env!r}`, and name the file") from error


def lasting_reference(reference: str) -> str:
    """A shipped task by name, any other by absolute path, so that it is found from elsewhere too.

    Raises:
        TaskError: There is no such task or file.
    """
    return reference if reference in shipped_tasks() else str(resolve_task(reference))


def load_task(reference: str) -> Task:
    """Load a task file by path and make its task.

    Args:
        reference: Name of a shipped task, or the path of a task file.

    Raises:
        TaskError: The file is missing, raises, or does not hold exactly one task class.
    """
    path = resolve_task(reference)
    with task_faults(path):
        try:
            module = _module(path, hashlib.sha256(path.read_bytes()).hexdigest())
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("rewardgen."):
                raise
            hint = "import from the package itself: `from rewardgen import MujocoTask, Var`"
            raise TaskError(f"{path.name} imports `{error.name}`, which does not exist", hint) from error
    return task_in(module, path)


def shipped_task(name: str) -> Any:
    """The class of a shipped task, for another to build on: `class Mine(shipped_task("hopper"))`.

    Args:
        name: Of the task.

    Raises:
        TaskError: No such task is shipped.
    """
    if name not in shipped_tasks():
        raise TaskError(f"no task `{name}` is shipped", did_you_mean(name, shipped_tasks()))
    return type(load_task(name))


def task_in(module: ModuleType, path: Path) -> Task:
    """Make the task of an executed task file.

    Args:
        module: The file as a module.
        path: The file.

    Raises:
        TaskError: It does not hold exactly one task class, or that cannot be made.
    """
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and Task in value.__mro__ and value.__module__ == module.__name__
    ]
    leaves = [each for each in classes if not any(each in other.__mro__[1:] for other in classes)] or _around(module)
    if len(leaves) != 1:
        told = f": {_listed(each.__name__ for each in leaves)}" if leaves else ""
        hint = "define one that derives from `rewardgen.MujocoTask` or `GymTask`, or from `gymnasium.Env`"
        if leaves and not classes:
            hint = f"say which of the environments is meant: `class MyTask(GymTask): env = {leaves[0].__name__}`"
        raise TaskError(f"{path.name} holds {len(leaves)} task classes{told}, expected one", hint)
    leaves[0].path = path
    _require_known_members(leaves[0], path.read_text(errors="replace"))
    with task_faults(path):
        return leaves[0]()


def _require_known_members(task: type[Task], source: str) -> None:
    """Refuse a task with a public member that nothing reads and that is nearly one that is read."""
    own = [each for each in task.__mro__ if each.__module__ == task.__module__]
    bases = [each for each in task.__mro__ if each not in own]
    known = {*_OPTIONAL, *(name for each in bases for name in (*vars(each), *vars(each).get("__annotations__", ())))}
    known = {name for name in known if not name.startswith("_")}
    found = {}
    for name, value in ((name, value) for each in own for name, value in vars(each).items()):
        if name.startswith("_") or name in known or isinstance(value, Var) or re.search(rf"\.{name}\b", source):
            continue
        if close := difflib.get_close_matches(name, known.difference(_NOT_FOR_AUTHORS), n=1, cutoff=0.85):
            found[name] = close[0]
    if found:
        what = f"the task has {_listed(found)}, which nothing reads"
        hint = f"did you mean {_listed(found.values())}? begin the name of what is your own with `_`"
        raise TaskError(what, hint)


def _listed(names: Iterable[str]) -> str:
    quoted = [f"`{each}`" for each in names]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def _around(module: Any) -> list[type[Task]]:
    """A task around each environment that a file defines, if it defines any."""
    if "gymnasium" not in sys.modules:
        return []
    from gymnasium import Env

    from rewardgen.tasks.gym_task import GymTask

    found = [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, Env)]
    own = [each for each in found if each.__module__ == module.__name__]
    leaves = [each for each in own if not any(each in other.__mro__[1:] for other in own)]
    return [type(each.__name__, (GymTask,), {"env": each, "__module__": module.__name__}) for each in leaves]


@functools.lru_cache(maxsize=16)
def _module(path: Path, content: str) -> Any:
    """Execute a task file, once in each process as long as its content, given by a hash, stays the same."""
    name = f"rewardgen_task_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TaskError(f"cannot load {path}", "a task file is a Python file ending in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    # Not by its loader: Python's kept bytecode takes an edit of the same length within a second for none.
    exec(compile(path.read_bytes(), str(path), "exec", dont_inherit=True), vars(module))
    return module
