"""The task contract: variables, the `MujocoTask` base class, and loading a task from its file.

A task file holds one class. Everything in it is batched over N worlds: tensors are torch, batch first, in SI units. It
imports torch itself; this module does not, so that the command line can name tasks without loading it.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rewardgen.core.errors import TaskError, did_you_mean
from rewardgen.core.resources import shipped
from rewardgen.store.records import TrainSettings

if TYPE_CHECKING:
    from torch import Tensor

    from rewardgen.sim.view import Draws, SimView


@dataclass(frozen=True)
class Var:
    """Declares a variable of a task that rewards may read.

    Args:
        unit: SI unit, `rad`, or `1` for a pure number.
        meaning: What it is, with its frame and sign convention.
        parts: Names of the entries of a vector variable, in order; empty for a scalar per world.
    """

    unit: str
    meaning: str
    parts: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape without the world axis: () or (k,)."""
        return (len(self.parts),) if self.parts else ()


Setting = float | tuple[float, ...]
"""A value of a variable; a single number stands for every part of a vector."""


@dataclass(frozen=True)
class Pair:
    """Two situations of which a reward must not prefer the second: the critic tries them on recorded states.

    The named variables are set, and their `prev_` with them, as if nothing had moved; everything else stays as
    recorded. Only rewards that read a variable in which the two differ are asked, and to like both alike is allowed.
    Set what decides along with what differs, such as a velocity to 0, so that no sound reward has a reason to disagree.

    Args:
        name: In words, such as "upright beats fallen".
        better: Variable or `action` to its value where more reward is due.
        worse: The same variables where less is due.
        graded: Whether there should still be something to gain on the second half of the way from worse to better.
    """

    name: str
    better: Mapping[str, Setting]
    worse: Mapping[str, Setting]
    graded: bool = False


@dataclass(frozen=True)
class Shift:
    """Declares that nothing changes when variables are moved together, now and one step earlier.

    Args:
        variables: One variable, or several such as the positions of a hand and of what it reaches for.
        amount: By how much, one number or one per part.
    """

    variables: str | tuple[str, ...]
    amount: Setting
    kind: Literal["shift"] = "shift"


@dataclass(frozen=True)
class Flip:
    """Declares that a quaternion and its negative mean the same.

    Args:
        variables: One variable or several; each is flipped by itself.
    """

    variables: str | tuple[str, ...]
    kind: Literal["flip"] = "flip"


@dataclass(frozen=True)
class Wrap:
    """Declares an angle in (-pi, pi] that goes on from one end to the other.

    Args:
        variables: One variable or several; each is wrapped by itself.
    """

    variables: str | tuple[str, ...]
    kind: Literal["wrap"] = "wrap"


Invariance = Shift | Flip | Wrap


def variables_of(invariance: Invariance) -> tuple[str, ...]:
    """The variables that a declared invariance is about."""
    named = invariance.variables
    return (named,) if isinstance(named, str) else tuple(named)


class Episode(Mapping[str, "Tensor"]):
    """Whole episodes of N worlds, as `fitness` and `success` get them.

    `episode["height"]` is (T, N) or (T, N, k): the variable after each control step, and `episode["action"]` the action
    of that step. Steps after a world's end are padding: use `mask`, or `mean`, `last` and `total`, which heed it.

    Args:
        values: Variable name to tensor (T, N, ...).
        lengths: Control steps that each world lived, (N,) int64, at least 1.
        terminated: Whether each world ended by a termination condition, (N,) bool.
        control_step_s: Duration of a control step [s].
        max_steps: Control steps of a full episode; T may be smaller if every world ended before.
    """

    def __init__(
        self,
        values: Mapping[str, Tensor],
        lengths: Tensor,
        terminated: Tensor,
        control_step_s: float,
        max_steps: int,
    ) -> None:
        self._values = values
        self.lengths = lengths
        self.terminated = terminated
        self.control_step_s = control_step_s
        self.max_steps = max_steps

    def __getitem__(self, name: str) -> Tensor:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def mask(self) -> Tensor:
        """(T, N) bool: the steps that each world lived."""
        import torch

        steps = next(iter(self._values.values())).shape[0]
        return torch.arange(steps, device=self.lengths.device)[:, None] < self.lengths

    def of_worlds(self, part: slice) -> Episode:
        """The episodes of some of the worlds."""
        values = {name: each[:, part] for name, each in self._values.items()}
        return Episode(values, self.lengths[part], self.terminated[part], self.control_step_s, self.max_steps)

    def total(self, values: Tensor) -> Tensor:
        """Sum of (T, N) over the steps lived, (N,)."""
        return (values * self.mask).sum(0)

    def mean(self, values: Tensor) -> Tensor:
        """Mean of (T, N) over the steps lived, (N,)."""
        return self.total(values) / self.lengths

    def share(self, condition: Tensor) -> Tensor:
        """Share of a full episode's steps at which (T, N) holds; steps not lived count as False, (N,)."""
        return self.total(condition.float()) / self.max_steps

    def last(self, values: Tensor) -> Tensor:
        """Value of (T, N, ...) at each world's last step, (N, ...)."""
        import torch

        return values[self.lengths - 1, torch.arange(len(self.lengths), device=self.lengths.device)]


class MujocoTask:
    """A task on a MuJoCo model. Subclass it in a task file; the class docstring is the description the designer reads.

    The first paragraph of the docstrings of `reset`, `observe`, `terminated`, `success` and `fitness` goes on the task
    card in those words, so write them for the designer. The code of `fitness` and `success` is never shown.

    Declare variables as class attributes: `height = Var("m", "height of the torso above the ground")`.
    """

    model: ClassVar[str]
    """MJCF file, relative to the task file, or `gymnasium:hopper.xml` for one of Gymnasium's assets."""
    frame_skip: ClassVar[int] = 1
    """Physics steps per control step."""
    episode_steps: ClassVar[int] = 1000
    """Control steps of a full episode; then it is truncated."""
    success_terminates: ClassVar[bool] = False
    training: ClassVar[TrainSettings] = TrainSettings()
    needs_contact_forces: ClassVar[bool] = False
    """Whether `cfrc_ext` is read, which costs an extra pass per control step."""
    pairs: ClassVar[tuple[Pair, ...]] = ()
    """Situations that a sound reward tells apart: `Pair("near beats far", better={"distance": 0.1}, worse=...)`."""
    invariances: ClassVar[tuple[Invariance, ...]] = ()
    """What a sound reward does not notice, such as `Shift("x_position", 3.0)`."""
    reads: ClassVar[tuple[str, ...]] = ()
    """Files and folders that it reads besides those in its own folder and what its model includes, relative to the task
    file: `("../meshes", "/data/terrain.npy")`. The sandbox keeps its code from all others once it is loaded."""
    path: ClassVar[Path]
    """The task file; set by the loader."""

    def reset(self, sim: SimView, draw: Draws) -> tuple[Tensor, Tensor]:
        """Draw the initial state of n worlds.

        Args:
            sim: The simulator; `sim.qpos0 (nq,)` is the model's reference pose.
            draw: Random numbers, one independent stream per world: `draw.uniform(low, high, size)` is (n, size).

        Returns:
            Positions (n, nq) and velocities (n, nv).
        """
        raise NotImplementedError

    def variables(self, sim: SimView) -> dict[str, Tensor]:
        """The declared variables after a control step, each (N,) or (N, k)."""
        raise NotImplementedError

    def observe(self, sim: SimView, variables: Mapping[str, Tensor]) -> Tensor:
        """What the policy sees, (N, observation size)."""
        raise NotImplementedError

    def terminated(self, sim: SimView, variables: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Causes that end an episode early: name of the cause to (N,) bool. The docstring tells the designer."""
        return {}

    def fitness(self, episode: Episode) -> Tensor:
        """The task's own number per episode, (N,), higher is better."""
        raise NotImplementedError

    def success(self, episode: Episode) -> Tensor:
        """The task's own yes or no per episode, (N,) bool."""
        raise NotImplementedError

    # Optional: `human_reward` and `sparse_reward`, static methods in the reward contract, and
    # `scripted(self, sim, variables)`, the actions (N, A) of a simple controller that gets somewhere: the critic then
    # tries rewards on its transitions too. It has no memory, so that it acts alike whenever it is asked.

    @classmethod
    def declared(cls) -> dict[str, Var]:
        """The declared variables by name, in the order of declaration, base classes first."""
        found: dict[str, Var] = {}
        for each in reversed(cls.__mro__):
            found.update({name: value for name, value in vars(each).items() if isinstance(value, Var)})
        return found

    @classmethod
    def fingerprint(cls) -> str:
        """Hash of the task file and, if they are files beside it, the model and the expert policy: 16 hex digits."""
        digest = hashlib.sha256(cls.path.read_bytes())
        for beside in (cls.path.parent / cls.model, expert_file(cls.path)):
            if beside.is_file():
                digest.update(beside.read_bytes())
        return digest.hexdigest()[:16]


Task = MujocoTask
"""What the rest of the package calls a task."""

EXPERT_SUFFIX = ".expert.npz"


def expert_file(task: Path) -> Path:
    """Where a task's expert policy is kept, if it has one: `hopper.expert.npz` beside `hopper.py`."""
    return task.with_suffix(EXPERT_SUFFIX)


def shipped_tasks() -> dict[str, Path]:
    """Name to path of the shipped task files."""
    return {path.stem: path for path in sorted(shipped("envs").glob("*.py")) if not path.stem.startswith("_")}


def resolve_task(reference: str) -> Path:
    """The file behind a task reference.

    Args:
        reference: Name of a shipped task, or the path of a file ending in `.py`.

    Raises:
        TaskError: There is no such task or file.
    """
    tasks = shipped_tasks()
    if reference in tasks:
        return tasks[reference]
    path = Path(reference).expanduser()
    if path.suffix == ".py" or "/" in reference:
        if path.is_file():
            return path.resolve()
        raise TaskError(
            f"there is no task file {reference}", "give the path of an existing .py file, or see `rewardgen tasks list`"
        )
    raise TaskError(f"unknown task `{reference}`", did_you_mean(reference, tasks))


def load_task(reference: str) -> Task:
    """Load a task file by path and make its task.

    Args:
        reference: Name of a shipped task, or the path of a task file.

    Raises:
        TaskError: The file is missing, raises, or does not hold exactly one task class.
    """
    path = resolve_task(reference)
    with _told(path):
        module = _module(path, hashlib.sha256(path.read_bytes()).hexdigest())
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, MujocoTask) and value.__module__ == module.__name__
    ]
    leaves = [each for each in classes if not any(each in other.__mro__[1:] for other in classes)]
    if len(leaves) != 1:
        raise TaskError(
            f"{path.name} holds {len(leaves)} task classes, expected one",
            "define one class that derives from `rewardgen.tasks.task.MujocoTask`",
        )
    leaves[0].path = path
    with _told(path):
        return leaves[0]()


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


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turn an exception of a task file that is being loaded into a `TaskError` with the line."""
    try:
        yield
    except TaskError:
        raise
    except Exception as error:
        raise task_error(path, path.name, _line_in(path, error), error) from error


def task_error(path: Path, where: str, line: str, error: Exception) -> TaskError:
    """The `TaskError` for an exception out of task code.

    Args:
        path: The task file.
        where: What was running.
        line: ` at line N`, or empty if that is not known.
        error: What was raised. A file that the sandbox refused is told as that: else nothing would explain why a file
            that is there and may be read cannot be opened.
    """
    refused = _refused(error)
    if refused is not None:
        hint = f"if the task needs it, name it or its folder in the class: `reads = ({refused!r},)`"
        return TaskError(f"the sandbox keeps {where}{line} from {refused}", hint)
    return TaskError(f"{where} raised {type(error).__name__}{line}: {error}", f"mend {path}")


def _refused(error: BaseException | None) -> str | None:
    """The file that could not be opened though its modes, which are all that `access` looks at, allow it."""
    while error is not None:
        if isinstance(error, PermissionError) and error.errno == errno.EACCES:
            name = error.filename
            if isinstance(name, str) and os.access(name, os.R_OK):
                return os.path.abspath(name)
        error = error.__cause__ or error.__context__
    return None


def _line_in(path: Path, error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f" at line {error.lineno}"
    lines = []
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    return f" at line {lines[-1]}" if lines else ""
