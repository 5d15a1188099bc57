"""`GymTask`: a task on any Gymnasium environment, the base class of task files without a MuJoCo model."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from rewardgen.core.config import Device
from rewardgen.core.errors import TaskError, nearest
from rewardgen.sim.episodes import Episode
from rewardgen.sim.faults import neighbour
from rewardgen.sim.gym_env import (
    MOST_SEEN,
    ActionCoder,
    GymReading,
    GymVecEnv,
    env_faults,
    is_large_picture,
    of_mujoco,
    one_number,
    readable,
    seen_size,
)
from rewardgen.sim.variables import Var
from rewardgen.sim.vec_env import ENV_REWARD, ENV_SUCCESS
from rewardgen.tasks.gym_contract import one_step, require_reset
from rewardgen.tasks.gym_names import (
    action_names,
    description,
    info_variables,
    number_shape,
    observation_variables,
)
from rewardgen.tasks.gym_packages import packages_of, unfit
from rewardgen.tasks.loading import named_alike
from rewardgen.tasks.protocol import Task

if TYPE_CHECKING:
    from rewardgen.sim.quantities import Quantity

_DEFAULT_STEPS = 1000
"""Of an episode of an environment that has no time limit."""
LOOKED_AT = 6
"""Control steps after which it is known what numbers `info` holds."""
MOST_LOOKED_AT = 1000
"""Control steps at most after which it is known whether its last one tells of success."""
_MOST_NUMBERS = 1000
"""Of an entry of `info` that is kept."""
_MOST_STATES, _STARTS = 50, 5
"""Of an episode, and of others, that are looked at to tell what changes."""
_STANDING = 1e-4
_WHITE, _LEAST_SIDE = 255, 16
"""The brightest value of a picture; rows and columns of one whose brightest is 1."""
_SUCCESS = ("is_success", "success")
_REGISTERED = re.compile(r"-v\d+$")
OF_MODELS = (
    *("model", "simulator", "frame_skip", "needs_contact_forces", "current_fields", "keyframe", "start", "start_noise"),
    *("sees_place", "ends", "edit_model", "reset", "read", "observe", "terminated", "metric", "scripted"),
    *("model_file", "make_simulator"),
)
"""Members of `MujocoTask` and of no other, which nothing reads in a task on an environment."""


class Known(NamedTuple):
    """What one look at an environment tells.

    Attributes:
        kind: Its class.
        space: Of its observations.
        coder: Of its actions.
        variables: Derived from `info` and the observation, for a task that declares none.
        entries: Variable to the entries of the observation that are its numbers.
        keys: Variable to key of `info`.
        info: Key of `info` to the shape of its values.
        success: Key of `info` that tells of success.
        steps: Its own time limit, if it has one.
        threshold: Return from which it counts as solved, if it says so.
        control_step_s: Duration of a control step [s]; 1 where nothing tells.
        model_file: Of its MuJoCo model, where it has one off which things can be read.
        agents: Names of those that act in it, if there are several.
    """

    kind: type
    space: spaces.Space[Any]
    coder: ActionCoder
    variables: dict[str, Var]
    entries: dict[str, slice]
    keys: dict[str, str]
    info: dict[str, tuple[int, ...]]
    success: str
    steps: int | None
    threshold: float | None
    control_step_s: float
    model_file: Path | None = None
    agents: tuple[str, ...] = ()


class GymTask(Task):
    """A task on a Gymnasium environment. Subclass it in a task file; one line is enough: `env = "Reacher-v5"`.

    The class docstring is the description that the designer reads; without one, the environment's documentation is.
    Variables are those declared with `Var`, which `variables` then computes; without any, the numbers in `info` and the
    entries of the observation are. The environment's own reward is the human reward, and its sum over an episode the
    fitness, unless the class has its own `human_reward` and `fitness`.
    """

    env: ClassVar[Any]
    """The environment.

    Its id, `module:id` for one that a module registers, `module:Class`, or a function or class that makes it.
    """
    env_options: ClassVar[Mapping[str, Any]] = {}
    """Keyword arguments with which it is made."""
    episode_steps: ClassVar[int] = 0
    """Control steps of a full episode; the environment's own limit, or 1000, if not given."""
    control_step_s: ClassVar[float] = 0.0
    """Duration of a control step [s]; the environment's `dt`, or by its `render_fps`, or 1, if not given."""

    def __new__(cls) -> Self:
        """A task; refuses what belongs to tasks of another kind, which would be ignored and told to the designer.

        Raises:
            TaskError: It has such a member.
        """
        own = [each for each in cls.__mro__ if not each.__module__.startswith("rewardgen.")]
        if unread := [name for name in OF_MODELS if any(name in vars(each) for each in own)]:
            what = f"`{unread[0]}` is a member of tasks on a MuJoCo file: an environment does it by itself"
            hint = "leave it out, or change the environment: `env` may be a function that puts a wrapper around one"
            raise TaskError(what, hint)
        if not cls.episode_steps:
            cls.episode_steps = cls.known().steps or _DEFAULT_STEPS
        return super().__new__(cls)

    @classmethod
    def known(cls) -> Known:
        """What one look at the environment tells.

        Raises:
            TaskError: It cannot be made, or not be learned.
        """
        return _look(cls)

    @classmethod
    def declared(cls) -> dict[str, Var]:
        """See `Task.declared`; what the environment offers if the class declares none.

        Raises:
            TaskError: Neither has any.
        """
        if found := super().declared() or cls.known().variables:
            return found
        raise TaskError(
            f"{cls.known().kind.__name__} offers no numbers that a reward could read: it observes pictures",
            f"write a task file with `class MyTask({cls._kind()}):`, `env = {env_name(cls)}`,"
            ' `height = Var("m", "...")`, and compute it in `variables(self, obs, info)`',
        )

    @classmethod
    def _kind(cls) -> str:
        """The class of this package that it derives from."""
        return next(each.__name__ for each in cls.__mro__ if each.__module__.startswith("rewardgen."))

    def variables(self, obs: Any, info: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """The variables after a control step, each (N,) or (N, k).

        Args:
            obs: Observations as the environment gives them, (N, ...); a dict or tuple of such where its space is one.
            info: Numbers in `info` by key, (N, ...).
        """
        raise TaskError("variables are declared and not computed", "write `variables(self, obs, info)`")

    def _offered(self, rows: Tensor, info: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """What the environment offers of itself; `rows` are its observations as numbers, (N, O)."""
        known = self.known()
        seen = {name: rows[:, place] for name, place in known.entries.items()}
        seen = {name: each if known.variables[name].parts else each[:, 0] for name, each in seen.items()}
        return {name: info[key] for name, key in known.keys.items()} | seen

    def fitness(self, episode: Episode) -> Tensor:
        """The environment's own return: the sum of its rewards over the episode."""
        return episode.total(episode[ENV_REWARD])

    def success(self, episode: Episode) -> Tensor:
        """What the environment itself calls success, in the last step of the episode."""
        known = self.known()
        if known.success:
            return episode.last(episode[ENV_SUCCESS]) > 0.5
        if self._threshold is not None:
            return episode.total(episode[ENV_REWARD]) >= self._threshold
        return torch.zeros_like(episode.terminated)

    @property
    def _threshold(self) -> float | None:
        """Return from which the environment counts as solved, which is one of its own full episodes."""
        known = self.known()
        return known.threshold if self.episode_steps == known.steps else None

    @staticmethod
    def human_reward(env_reward):  # noqa: ANN001, ANN205
        """The environment's own reward."""
        return {"env_reward": env_reward}

    def default_words(self, method: str) -> str:
        """See `Task.default_words`."""
        known, name = self.known(), type(self).__dict__.get("env", "")
        if method == "":
            return description(known.kind, name if isinstance(name, str) else known.kind.__name__, known.coder.choices)
        success = "The environment does not say when an episode is a success, so none is counted as one."
        if known.success:
            success = f"What the environment itself calls success (`{known.success}`), in the last step of the episode."
        elif self._threshold is not None:
            success = f"The environment's own return is at least {self._threshold:g}, from which it counts as solved."
        return {
            "reset": "As the environment itself begins an episode.",
            "observe": _observed(known.space),
            "terminated": "The environment itself may end an episode.",
            "success": success,
            "fitness": "The environment's own return: the sum of its rewards over the episode.",
        }.get(method, "")

    def make_envs(
        self,
        seeds: Sequence[int],
        envs_per_seed: int,
        *,
        threads: int = 1,
        device: Device = "cpu",
        pictures: bool = False,
    ) -> GymVecEnv:
        """Environments, stepped one after another; see `Task.make_envs`.

        Args:
            seeds: One seed per group of environments.
            envs_per_seed: Environments of each seed.
            threads: Not used.
            device: Not used: environments run on the CPU.
            pictures: Whether they are asked for pictures.

        Raises:
            TaskError: An environment cannot be made, or makes no pictures.
        """
        known = self.known()
        options = {"episode_steps": self.episode_steps, "control_step_s": self.control_step_s or known.control_step_s}
        make = lambda: _made(type(self), self.episode_steps, pictures=pictures)  # noqa: E731
        return GymVecEnv(self.path, make, self._reading(), known.coder, seeds, envs_per_seed, **options)

    def _reading(self) -> GymReading:
        """What is read of the environment: the variables of the task file, or else what is offered.

        Raises:
            TaskError: A variable is of a MuJoCo model, and there is none.
        """
        known, declared = self.known(), self.declared()
        offered = not super().declared()
        ours = __name__.removesuffix("gym_task")  # elsewhere in an exported environment
        if offered and not type(self).variables.__module__.startswith(ours):
            what = "`variables` is computed, and the class declares none, so nothing reads it"
            raise TaskError(what, 'declare what it returns: `height = Var("m", "height of the torso")`')
        model = _of_a_model(declared)
        if model and known.model_file is None:
            what = f"`{next(iter(model))}` is of a MuJoCo model, and {known.kind.__name__} has none that stays as it is"
            raise TaskError(what, "compute it in `variables`")
        read = self._offered if offered else self.variables if len(model) < len(declared) else lambda obs, info: {}
        return GymReading(declared, known.info, read, offered, known.success, model, known.model_file or Path())

    def packages(self) -> list[str]:
        """What has to be installed for the environment besides Gymnasium, as requirements.

        Raises:
            TaskError: It is in a module that no installed package has.
        """
        return packages_of(self.known().kind, type(self).__module__)

    def model_files(self) -> tuple[Path, ...]:
        """The file of the environment's class: if it changes, the task has changed."""
        try:
            return (Path(inspect.getfile(self.known().kind)).resolve(),)
        except (TaskError, TypeError, OSError):
            return ()


def _made(task: type[GymTask], steps: int | None = None, *, pictures: bool = False) -> gymnasium.Env[Any, Any]:
    """A new environment of a task, with its time limit no shorter than wanted."""
    env, options = task.env, dict(task.env_options)
    if "max_episode_steps" in options:
        raise TaskError("`env_options` has `max_episode_steps`", "write `episode_steps = ...` in the class")
    if options.get("render_mode") == "human":
        raise TaskError(
            "`env_options` asks for a window", 'leave out `render_mode="human"`: `rewardgen film` has films'
        )
    if pictures:
        options |= {"render_mode": "rgb_array"}
    if isinstance(env, gymnasium.Env):
        raise TaskError(
            "`env` is an environment that is made already", "give what makes one: a class, or `lambda: ...`"
        )
    if not isinstance(env, str):
        return env(**options)
    module, _, name = env.rpartition(":")
    if module and not _REGISTERED.search(name):
        owner = importlib.import_module(module)
        modules = {each.name for each in pkgutil.iter_modules(getattr(owner, "__path__", ()))}
        if name in modules and not callable(getattr(owner, name, None)):
            hint = f"name what makes one in it, as in `{module}.{name}:MyEnv`, or `{module}.{name}:parallel_env`"
            raise TaskError(f"{module}.{name} is a module, no environment", hint)
        return getattr(owner, name)(**options)
    return gymnasium.make(env, disable_env_checker=True, **({"max_episode_steps": steps} if steps else {}), **options)


def first_made(task: type[GymTask], make: Callable[[], Any]) -> Any:
    """An environment to look at.

    Args:
        task: Its task.
        make: Makes one.

    Raises:
        TaskError: There is none.
    """
    if not getattr(task, "env", None):
        raise TaskError("the task names no environment", 'write `env = "Reacher-v5"`, or a class that makes one')
    try:
        with env_faults(task.path):
            return make()
    except TaskError as error:
        cause = error.__cause__
        if isinstance(cause, gymnasium.error.DependencyNotInstalled | ModuleNotFoundError):
            missing = getattr(cause.__cause__ or cause, "name", "") or ""
            hint = "its successor is Gymnasium: `gymnasium:...`" if missing == "gym" else "install what it names"
            hint += f", such as by `pip install {missing}`" if missing not in ("", "gym") and "." not in missing else ""
            raise TaskError(f"{task.env} cannot be made: {cause}", neighbour(task.path, missing) or hint) from cause
        if isinstance(cause, TypeError) and (lacking := re.search(r"missing .* argument.*: '(\w+)'", str(cause))):
            hint = f'give it in the class: `env_options = {{"{lacking[1]}": ...}}`, with `env = ...` of a `GymTask`'
            raise TaskError(error.message, hint) from cause
        if isinstance(cause, gymnasium.error.Error) and hasattr(sys.modules.get(task.__module__), str(task.env)):
            raise TaskError(f"`env` is a text, {task.env!r}", f"leave out the quotes: `env = {task.env}`") from cause
        if isinstance(cause, gymnasium.error.Error):
            close = named_alike(str(task.env)) or nearest(str(task.env), gymnasium.registry, sure=True)
            hint = "for one that a package registers, name the package too: `my_package:MyEnv-v0`"
            hint = f"did you mean `{close}`? {hint}" if close else hint
            raise TaskError(f"there is no environment {task.env}: {cause}", hint) from cause
        raise


@lru_cache(maxsize=8)
def _look(task: type[GymTask]) -> Known:
    try:
        return _looked(task)
    except TaskError as error:
        if error.__cause__ is None:
            raise
        module = task.env.rpartition(":")[0] if isinstance(task.env, str) else ""
        if misfits := unfit(module):
            raise TaskError(error.message, misfits) from error
        raise


def _looked(task: type[GymTask]) -> Known:
    env = first_made(task, lambda: _made(task))
    if hasattr(env, "possible_agents"):
        what = f"several agents act in {type(env).__name__}"
        raise TaskError(what, "write a task file on a base class for several agents: see docs/tasks.md")
    with env_faults(task.path):
        kind, space = type(env.unwrapped), readable(env.observation_space)
        words = kind.__doc__ or ""
        plain = ActionCoder(env.action_space)
        coder = ActionCoder(env.action_space, action_names(words, len(plain.parts)))
        spec = getattr(env, "spec", None)
        limit = getattr(spec, "max_episode_steps", None)
        first = _first_episode(env, limited=limit is not None)
        infos, rewards = first.infos[:LOOKED_AT], first.rewards[:LOOKED_AT]
        fps = (getattr(env.unwrapped, "metadata", None) or {}).get("render_fps")
        step_s = getattr(env.unwrapped, "dt", None)
        if not isinstance(step_s, float | int | np.number):  # some have a method of that name
            step_s = 1.0 / fps if fps else 1.0
        file = loaded.model_file(env) if (loaded := of_mujoco()) else None
        env.close()
    if (size := seen_size(space)) > MOST_SEEN:
        raise TaskError(
            f"{kind.__name__} observes {size} numbers: no policy here learns from so many",
            "wrap the environment in a task file, so that it observes fewer",
        )
    keyed = dict(space.items()) if isinstance(space, spaces.Dict) else {}
    observed = observation_variables(words, size, {key: seen_size(each) for key, each in keyed.items()})
    entries = entries_of(observed)
    pictures = [*map(is_picture, keyed.values())] if keyed else [is_picture(space)] * len(observed)
    if len(pictures) == len(observed):  # a documentation may name entries, not keys
        observed = {name: each for (name, each), picture in zip(observed.items(), pictures, strict=True) if not picture}
        entries = {name: entries[name] for name in observed}
    told = info_variables(infos, rewards, observed)
    variables: dict[str, Var] = {name: info_variable(key, value) for name, (key, value) in told.items()}
    if file is not None:
        variables |= _of_model(file, first.states, {*variables, *observed})
    variables |= observed
    return Known(
        kind=kind,
        space=space,
        coder=coder,
        variables=variables,
        entries=entries,
        keys={name: key for name, (key, _) in told.items()},
        info=kept_keys(first.infos),
        success=success_key(first.infos),
        steps=limit or first.truncated_at,
        threshold=getattr(spec, "reward_threshold", None),
        control_step_s=float(step_s),
        model_file=file,
    )


def _observed(space: spaces.Space[Any]) -> str:
    parts = space.values() if isinstance(space, spaces.Dict) else [space]
    smaller = ", of pictures the shades of a smaller one" if any(map(is_large_picture, parts)) else ""
    return f"The environment's own observation, {seen_size(space)} numbers{smaller}."


def env_name(task: type[GymTask]) -> str:
    """How a task file names its environment."""
    return task.env.__name__ if inspect.isclass(task.env) else repr(task.env)


def is_picture(space: spaces.Space[Any]) -> bool:
    """Whether a space is that of a picture, or of one that was made smaller. Bytes in a row are none."""
    if not isinstance(space, spaces.Box):
        return False
    if space.dtype == np.uint8:
        return len(space.shape) > 1
    large = len(space.shape) in (2, 3) and sum(side >= _LEAST_SIDE for side in space.shape) > 1
    white = (space.high == _WHITE).all() or (large and (space.high == 1.0).all())
    return bool(white and (space.low == 0).all())


def entries_of(observed: Mapping[str, Var]) -> dict[str, slice]:
    """Where the numbers of variables are that make up an observation, one after another."""
    ends = [*accumulate(max(1, len(each.parts)) for each in observed.values())]
    return {name: slice(start, end) for name, start, end in zip(observed, [0, *ends], ends, strict=False)}


def kept_keys(infos: Sequence[Mapping[str, Any]]) -> dict[str, tuple[int, ...]]:
    """Keys of the `info` of any step of an episode whose values are numbers, with their shapes."""
    shapes = {key: number_shape(value) for info in reversed(infos) for key, value in info.items()}
    return {key: shape for key, shape in shapes.items() if shape is not None and np.prod(shape) <= _MOST_NUMBERS}


def success_key(infos: Sequence[Mapping[str, Any]]) -> str:
    """The key of `info` that tells of success; empty if none of them has one.

    Raises:
        TaskError: What is under it is neither a bool nor a number.
    """
    key = next((key for key in _SUCCESS if any(key in info for info in infos)), "")
    for value in (info[key] for info in infos if key in info):
        if value is not None and number_shape(value) is None:
            raise TaskError(f"`info` has {value!r} under `{key}`", "make it True or False")
    return key


class _FirstEpisode(NamedTuple):
    infos: list[Mapping[str, Any]]
    rewards: list[float]
    states: list[np.ndarray]
    """Of its MuJoCo model, where it has one, and where other episodes begin."""
    truncated_at: int | None
    """Where the environment itself cut it off, or another one, if it did."""


def _first_episode(env: gymnasium.Env[Any, Any], limited: bool) -> _FirstEpisode:
    """An episode with random actions, as far as it is looked at; `limited` if it is known how long one is."""
    space = readable(env.observation_space)
    require_reset(env.reset(seed=0), space)
    env.action_space.seed(0)
    infos, rewards, states, truncated_at = [], [], [], None
    for number in range(1, MOST_LOOKED_AT + 1):
        told = one_step(env.step(env.action_space.sample()), space)
        infos.append(told[4])
        rewards.append(one_number(told[1]))
        if len(states) < _MOST_STATES and (state := _state_of(env)) is not None:
            states.append(state)
        if told[2] or told[3]:
            truncated_at = number if told[3] and not told[2] else None
            break
    for seed in range(1, _STARTS if states else 0):
        env.reset(seed=seed)
        states += [state for state in [_state_of(env)] if state is not None]
    for seed in range(_STARTS if len(infos) < MOST_LOOKED_AT and not limited else 0):
        truncated_at = truncated_at or _truncated_at(env, _STARTS + seed)
    return _FirstEpisode(infos, rewards, states, truncated_at)


def _truncated_at(env: gymnasium.Env[Any, Any], seed: int) -> int | None:
    """Where the environment itself cuts off an episode with random actions; None if it ends in another way."""
    env.reset(seed=seed)
    for number in range(1, MOST_LOOKED_AT + 1):
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            return None if terminated else number
    return None


def _of_a_model(declared: Mapping[str, Var]) -> dict[str, Any]:
    """The variables that are read off a MuJoCo model; there are none where MuJoCo is not loaded."""
    if not of_mujoco():
        return {}
    from rewardgen.sim.quantities import Quantity

    return {name: each for name, each in declared.items() if isinstance(each, Quantity)}


def _state_of(env: gymnasium.Env[Any, Any]) -> np.ndarray | None:
    return loaded.state_of(env) if (loaded := of_mujoco()) else None


def _of_model(file: Path, states: Sequence[np.ndarray], taken: set[str]) -> dict[str, Quantity]:
    """What a designer is offered of a MuJoCo model: a few quantities that change in the course of an episode."""
    from rewardgen.sim.gym_model import ModelReader
    from rewardgen.sim.model import compile_model
    from rewardgen.tasks.catalogue import outline

    found = {name: each for name, each in outline(compile_model(file, lambda spec: None)).items() if name not in taken}
    try:
        seen = ModelReader(file, found, len(states)).read(states)
    except TaskError:  # what is only offered must not be in the way
        return {}
    return {name: found[name] for name, values in seen.items() if values.std(0).max() > _STANDING}


def info_variable(key: str, value: Any) -> Var:
    """The variable of an entry of `info`."""
    parts = tuple(f"{key}_{number}" for number in range(len(value))) if np.ndim(value) else ()
    return Var("1", f"`{key}` as the environment's `info` has it", parts)
