"""`GymTask`: a task on any Gymnasium environment, the base class of task files without a MuJoCo model."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from rewardgen.core.config import Device
from rewardgen.core.errors import TaskError
from rewardgen.core.extras import install_hint
from rewardgen.sim.episodes import Episode
from rewardgen.sim.faults import neighbour
from rewardgen.sim.gym_env import (
    MOST_SEEN,
    ActionCoder,
    GymReading,
    GymVecEnv,
    env_faults,
    of_mujoco,
    one_number,
    readable,
)
from rewardgen.sim.variables import Var
from rewardgen.sim.vec_env import ENV_REWARD, ENV_SUCCESS
from rewardgen.tasks.gym_variables import (
    description,
    entries_of,
    info_variable,
    info_variables,
    is_picture,
    kept_keys,
    observation_variables,
    success_key,
)
from rewardgen.tasks.loading import nearest_task
from rewardgen.tasks.members import PACKAGE
from rewardgen.tasks.protocol import Task

if TYPE_CHECKING:
    from rewardgen.sim.quantities import Quantity

_DEFAULT_STEPS = 1000
"""Episode length of an environment without a time limit."""
LOOKED_AT = 6
"""Steps after which the numbers in `info` are known."""
MOST_LOOKED_AT = 1000
"""Steps of the first episode, at most."""
_MOST_STATES, _STARTS = 50, 5
"""States of the first episode, and starts of others, from which changing quantities are found."""
_STANDING = 1e-4
_SIMULATORS = {"gymnasium.envs.mujoco.": "gymnasium[mujoco]", "gymnasium.envs.box2d.": "gymnasium[box2d]"}
_EXTRAS = {"Box2D": "box2d", "mpe2": "pettingzoo"}
"""Extras by what the errors of environments name that lack them."""
_OF_MODELS = ("model", "reset", "observe", "terminated", "ends", "edit_model", "scripted", "metric")
"""Members of tasks on MuJoCo models, which nothing reads in a task on an environment."""


class Known(NamedTuple):
    """Facts from one look at an environment.

    Attributes:
        kind: Its class.
        space: Space of its observations.
        coder: Coder of its actions.
        variables: Variables from `info` and the observation, for a task that declares none.
        steps: Its own time limit, if known.
        control_step_s: Duration of a control step [s]; 1 if unknown.
        entries: Variable to its entries of the observation.
        keys: Variable to key of `info`.
        info: Key of `info` to the shape of its values.
        success: Key of `info` for success.
        threshold: Return from which it counts as solved, if it has one.
        model_file: File of its MuJoCo model, if quantities can be read off it.
        agents: Names of its agents, if there are several.
    """

    kind: type
    space: spaces.Space[Any]
    coder: ActionCoder
    variables: dict[str, Var]
    steps: int | None
    control_step_s: float
    entries: Mapping[str, slice] = {}
    keys: Mapping[str, str] = {}
    info: Mapping[str, tuple[int, ...]] = {}
    success: str = ""
    threshold: float | None = None
    model_file: Path | None = None
    agents: tuple[str, ...] = ()


class GymTask(Task):
    """A task on a Gymnasium environment. Subclass it in a task file; one line is enough: `env = "Reacher-v5"`.

    The class docstring is the description that the designer reads; the environment's documentation by default.
    Variables are those declared with `Var`, computed by `variables`; by default the numbers in `info` and the entries
    of the observation. The environment's own reward is the human reward, and its sum over an episode the fitness,
    unless the class has its own `human_reward` and `fitness`.
    """

    env: ClassVar[Any] = None
    """The environment: an id (with its module in front if needed), or a class or function that makes it."""
    env_options: ClassVar[Mapping[str, Any]] = {}
    """Keyword arguments to make it with."""
    episode_steps: ClassVar[int] = 0
    """Control steps of a full episode; by default the environment's own limit, or 1000."""
    control_step_s: ClassVar[float] = 0.0
    """Duration of a control step [s]; by default the environment's `dt`, or 1 / `render_fps`, or 1."""

    def __new__(cls) -> Self:
        """Make a task."""
        classes = [base for base in cls.__mro__ if not base.__module__.startswith(PACKAGE)]
        if unread := [name for name in _OF_MODELS if any(name in vars(base) for base in classes)]:
            message = f"`{unread[0]}` is a member of tasks on MuJoCo models, and this task is on an environment"
            hint = "leave it out, or let `env` be a function that puts a wrapper around the environment"
            raise TaskError(message, hint)
        if not cls.episode_steps:
            cls.episode_steps = cls.known().steps or _DEFAULT_STEPS
        return super().__new__(cls)

    @classmethod
    def known(cls) -> Known:
        """Return the facts from one look at the environment.

        Raises:
            TaskError: The environment cannot be made, or policies here cannot learn it.
        """
        return _look(cls)

    @classmethod
    def declared(cls) -> dict[str, Var]:
        """See `Task.declared`; by default what the environment offers.

        Raises:
            TaskError: There are no variables.
        """
        if variables := super().declared() or cls.known().variables:
            return variables
        env = f"`env = {cls.env.__name__ if inspect.isclass(cls.env) else repr(cls.env)}`"
        if inspect.isroutine(cls.env):
            env = "your `env`"
        raise TaskError(
            f"{cls.known().kind.__name__} offers no numbers that a reward could read: it observes pictures",
            f"write a task file with `class MyTask(GymTask):`, {env},"
            ' `height = Var("m", "...")`, and compute it in `variables(self, obs, info)`',
        )

    def variables(self, obs: Any, info: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Compute the declared variables after a control step, each (N,) or (N, k).

        Args:
            obs: Observations as the environment gives them, (N, ...); a dict or tuple of such where its space is one.
            info: Numbers in `info` by key, (N, ...).
        """
        raise TaskError("variables are declared and not computed", "write `variables(self, obs, info)`")

    def _offered(self, rows: Tensor, info: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Return the variables that the environment offers, from observations (N, O)."""
        facts = self.known()
        observed = {name: rows[:, place] for name, place in facts.entries.items()}
        observed = {name: value if facts.variables[name].parts else value[:, 0] for name, value in observed.items()}
        return {name: info[key] for name, key in facts.keys.items()} | observed

    def fitness(self, episode: Episode) -> Tensor:
        """The environment's own return: the sum of its rewards over the episode."""
        return episode.total(episode[ENV_REWARD])

    def success(self, episode: Episode) -> Tensor:
        """The environment's own success, in the last step of the episode."""
        if self.known().success:
            return episode.last(episode[ENV_SUCCESS]) > 0.5
        if self._threshold is not None:
            return episode.total(episode[ENV_REWARD]) >= self._threshold
        return torch.zeros_like(episode.terminated)

    @property
    def has_success(self) -> bool:
        """See `Task.has_success`."""
        is_inherited = type(self).success is GymTask.success
        known = not is_inherited or bool(self.known().success) or self._threshold is not None
        return self.has_fitness and known

    @property
    def _threshold(self) -> float | None:
        """Return from which the environment counts as solved; only of full episodes of its own length."""
        facts = self.known()
        return facts.threshold if self.episode_steps == facts.steps else None

    @staticmethod
    def human_reward(env_reward):  # noqa: ANN001, ANN205
        """The environment's own reward."""
        return {"env_reward": env_reward}

    def default_words(self, method: str) -> str:
        """See `Task.default_words`."""
        facts, name = self.known(), type(self).__dict__.get("env", "")
        if method == "":
            return description(facts.kind, name if isinstance(name, str) else facts.kind.__name__, facts.coder.choices)
        success = "The environment does not say when an episode is a success, so none is counted as one."
        if facts.success:
            success = f"What the environment itself calls success (`{facts.success}`), in the last step of the episode."
        elif self._threshold is not None:
            success = f"The environment's own return is at least {self._threshold:g}, from which it counts as solved."
        parts = facts.space.items() if isinstance(facts.space, spaces.Dict) else ()
        listed = ", ".join(f"{key} ({spaces.flatdim(part)})" for key, part in parts)
        order = f", in this order: {listed}" if listed else ""
        return {
            "reset": "As the environment itself begins an episode.",
            "observe": f"The environment's own observation, {spaces.flatdim(facts.space)} numbers{order}.",
            "terminated": "The environment itself may end an episode.",
            "success": success,
            "fitness": "The environment's own return: the sum of its rewards over the episode.",
        }.get(method, "")

    def make_envs(
        self, seeds: Sequence[int], envs_per_seed: int, *, device: Device = "cpu", pictures: bool = False
    ) -> GymVecEnv:
        """See `Task.make_envs`; environments are stepped one after another, on the CPU."""
        facts = self.known()
        options = {"episode_steps": self.episode_steps, "control_step_s": self.control_step_s or facts.control_step_s}
        make = lambda: _made(type(self), self.episode_steps, pictures=pictures)  # noqa: E731
        return GymVecEnv(self.path, make, self._reading(), facts.coder, seeds, envs_per_seed, **options)

    def _reading(self) -> GymReading:
        """Return what is read of the environment: the variables of the task file, or those on offer."""
        facts, declared = self.known(), self.declared()
        offered = not super().declared()
        if offered and not type(self).variables.__module__.startswith(PACKAGE):
            message = "`variables` is computed, and the class declares none, so nothing reads it"
            raise TaskError(message, 'declare what it returns: `height = Var("m", "height of the torso")`')
        quantities = _quantities(declared)
        if quantities and facts.model_file is None:
            name = next(iter(quantities))
            message = f"`{name}` is of a MuJoCo model, and {facts.kind.__name__} has none that stays as it is"
            raise TaskError(message, "compute it in `variables`")
        computed = self.variables if len(quantities) < len(declared) else lambda obs, info: {}
        read = self._offered if offered else computed
        return GymReading(declared, facts.info, read, offered, facts.success, quantities, facts.model_file or Path())

    def environment_id(self) -> str:
        """See `Task.environment_id`."""
        return self.env if isinstance(self.env, str) else ""

    def packages(self) -> list[str]:
        """See `Task.packages`."""
        distributions, requirements = packages_distributions(), set()
        for module in {base.__module__ for base in self.known().kind.__mro__} - {type(self).__module__}:
            name = module.partition(".")[0]
            requirements |= {package for place, package in _SIMULATORS.items() if module.startswith(place)}
            if name in distributions and name != "gymnasium":
                requirements.add(distributions[name][0])
            elif name not in (*sys.stdlib_module_names, *distributions):
                raise TaskError(f"the environment is in `{module}`, which no installed package has", "install it")
        return sorted(requirements)

    def sources(self) -> tuple[Path, ...]:
        """See `Task.sources`: the file of the environment's class."""
        try:
            return (Path(inspect.getfile(self.known().kind)).resolve(),)
        except (TaskError, TypeError, OSError):
            return ()


# Making an environment.


def _made(task: type[GymTask], steps: int | None = None, *, pictures: bool = False) -> gymnasium.Env[Any, Any]:
    """Make an environment of a task, with a time limit of at least `steps`."""
    env, options = task.env, dict(task.env_options)
    if pictures:
        options |= {"render_mode": "rgb_array"}
    if isinstance(env, gymnasium.Env):
        raise TaskError("`env` is an environment instance", "give a class or a function: `env = lambda: ...`")
    if not isinstance(env, str):
        return env(**options)
    module, _, name = env.rpartition(":")
    if module and not re.search(r"-v\d+$", name):
        return getattr(importlib.import_module(module), name)(**options)
    options |= {"max_episode_steps": steps} if steps else {}
    return gymnasium.make(env, disable_env_checker=True, **options)


def first_made(task: type[GymTask], make: Callable[[], Any]) -> Any:
    """Make a first environment of a task with `make`.

    Raises:
        TaskError: It cannot be made.
    """
    if task.env is None:
        raise TaskError("the task names no environment", 'write `env = "Reacher-v5"`, or a class that makes one')
    try:
        with env_faults(task.path):
            return make()
    except TaskError as error:
        cause = error.__cause__
        if isinstance(cause, gymnasium.error.DependencyNotInstalled | ModuleNotFoundError):
            extra = next((extra for word, extra in _EXTRAS.items() if word in str(cause)), "")
            found = neighbour(task.path, getattr(cause, "name", "") or "") or (install_hint(extra) if extra else "")
            hint = found or "install what it names by `pip install`"
            raise TaskError(f"{task.env} cannot be made: {cause}", hint) from cause
        if isinstance(cause, gymnasium.error.Error):
            close = nearest_task(str(task.env))
            hint = "for one that a package registers, name the package too: `my_package:MyEnv-v0`"
            hint = f"did you mean `{close}`? {hint}" if close else hint
            raise TaskError(f"there is no environment {task.env}: {cause}", hint) from cause
        raise


# The first look.


class _FirstEpisode(NamedTuple):
    infos: list[Mapping[str, Any]]
    rewards: list[float]
    states: list[np.ndarray]
    """States of its MuJoCo model, if it has one, here and at the start of other episodes."""
    truncated_at: int | None
    """Step at which the environment itself truncated it."""


@lru_cache(maxsize=8)
def _look(task: type[GymTask]) -> Known:
    env = first_made(task, lambda: _made(task))
    if hasattr(env, "possible_agents"):
        message = f"several agents act in {type(env).__name__}"
        raise TaskError(message, "write a task file on a base class for several agents: see docs/environments.md")
    with env_faults(task.path):
        kind, space, coder = type(env.unwrapped), readable(env.observation_space), ActionCoder(env.action_space)
        spec = getattr(env, "spec", None)
        first = _first_episode(env, seed=0)
        steps = getattr(spec, "max_episode_steps", None)
        # Some truncate where a body leaves its bounds: a limit is the same for another episode.
        if steps is None and first.truncated_at and _first_episode(env, seed=1).truncated_at == first.truncated_at:
            steps = first.truncated_at
        infos, rewards = first.infos[:LOOKED_AT], first.rewards[:LOOKED_AT]
        step_s = step_seconds(env.unwrapped)
        file = loaded.model_file(env) if (loaded := of_mujoco()) else None
        env.close()
    if (size := spaces.flatdim(space)) > MOST_SEEN:
        message = f"{kind.__name__} observes {size} numbers: no policy here learns from so many"
        hint = "wrap it in a task file, as by `gymnasium.wrappers.ResizeObservation` and `GrayscaleObservation`"
        raise TaskError(message, hint)
    keyed = dict(space.items()) if isinstance(space, spaces.Dict) else {}
    observed = observation_variables(size, {key: spaces.flatdim(part) for key, part in keyed.items()}, kind)
    pictures = [*map(is_picture, keyed.values())] if keyed else [is_picture(space)] * len(observed)
    entries = entries_of(observed)
    observed = {name: var for (name, var), picture in zip(observed.items(), pictures, strict=True) if not picture}
    offered = info_variables(infos, rewards, observed)
    variables: dict[str, Var] = {name: info_variable(key, value) for name, (key, value) in offered.items()}
    if file is not None:
        variables |= _model_variables(file, first.states, {*variables, *observed})
    return Known(
        kind=kind,
        space=space,
        coder=coder,
        variables=variables | observed,
        entries={name: entries[name] for name in observed},
        keys={name: key for name, (key, _) in offered.items()},
        info=kept_keys(first.infos),
        success=success_key(first.infos),
        steps=steps,
        threshold=getattr(spec, "reward_threshold", None),
        control_step_s=step_s,
        model_file=file,
    )


def step_seconds(env: Any) -> float:
    """Return the duration of a control step of an environment [s]; 1 if it does not tell."""
    step_s = getattr(env, "dt", None)
    if isinstance(step_s, float | int | np.number):  # some environments have a method of that name
        return float(step_s)
    fps = (getattr(env, "metadata", None) or {}).get("render_fps")
    return 1.0 / fps if fps else 1.0


def _first_episode(env: gymnasium.Env[Any, Any], seed: int) -> _FirstEpisode:
    """Run an episode with random actions, and check what the environment returns."""
    space = readable(env.observation_space)
    _require_form("reset", env.reset(seed=seed), 2, space, "return `observation, info`, where `info` is a dict")
    env.action_space.seed(seed)
    first = _FirstEpisode([], [], [], None)
    for number in range(1, MOST_LOOKED_AT + 1):
        step: Any = env.step(env.action_space.sample())
        _require_form("step", step, 5, space, "return `observation, reward, terminated, truncated, info`")
        first.infos.append(step[4])
        first.rewards.append(one_number(step[1]))
        if not np.isfinite(first.rewards[-1]):
            message = f"`step` returns the reward {first.rewards[-1]}"
            hint = "fix the environment's own reward: its sum is the fitness unless a task has another"
            raise TaskError(message, hint)
        if len(first.states) < _MOST_STATES and (state := _state_of(env)) is not None:
            first.states.append(state)
        if step[2] or step[3]:
            first = first._replace(truncated_at=number if step[3] and not step[2] else None)
            break
    for seed in range(1, _STARTS if first.states else 0):
        env.reset(seed=seed)
        first.states.extend(state for state in [_state_of(env)] if state is not None)
    return first


def _require_form(method: str, returned: Any, count: int, space: spaces.Space[Any], hint: str) -> None:
    """Refuse results of `reset` or `step` that have another form than Gymnasium's, or do not fit the space."""
    if not (isinstance(returned, tuple | list) and len(returned) == count and isinstance(returned[-1], Mapping)):
        kind = f"{len(returned)} things" if isinstance(returned, tuple | list) else type(returned).__name__
        raise TaskError(f"`{method}` returns {kind}, expected {count}, the last a dict", hint)
    if misfit := _misfit(returned[0], space):
        hint = "change one of the two; `gymnasium.utils.env_checker.check_env` looks for more of this kind"
        raise TaskError(f"`{method}` returns what does not fit `observation_space`: {misfit}", hint)


def _misfit(observation: Any, space: spaces.Space[Any], name: str = "the observation") -> str:
    if isinstance(space, spaces.Dict):
        if not isinstance(observation, Mapping):
            return f"{name} is {type(observation).__name__}, the space a Dict"
        return next(filter(None, (_misfit(observation[key], part, f"`{key}`") for key, part in space.items())), "")
    if isinstance(space, spaces.Box) and np.size(observation) != np.prod(space.shape):
        return f"{name} has shape {np.shape(observation)}, the space {space.shape}"
    if isinstance(space, spaces.Box) and not np.isfinite(np.asarray(observation, dtype=np.float32)).all():
        return f"{name} has numbers that are not finite as float32"
    return ""


# Quantities of its MuJoCo model, where MuJoCo is loaded.


def _quantities(declared: Mapping[str, Var]) -> dict[str, Any]:
    if not of_mujoco():
        return {}
    from rewardgen.sim.quantities import Quantity

    return {name: variable for name, variable in declared.items() if isinstance(variable, Quantity)}


def _state_of(env: gymnasium.Env[Any, Any]) -> np.ndarray | None:
    return loaded.state_of(env) if (loaded := of_mujoco()) else None


def _model_variables(file: Path, states: Sequence[np.ndarray], reserved: set[str]) -> dict[str, Quantity]:
    """Return a few quantities of a MuJoCo model that change in the course of an episode."""
    from rewardgen.sim.gym_model import ModelReader
    from rewardgen.sim.model import compile_model
    from rewardgen.tasks.catalogue import outline

    quantities = outline(compile_model(file, lambda spec: None))
    quantities = {name: quantity for name, quantity in quantities.items() if name not in reserved}
    try:
        values = ModelReader(file, quantities, len(states)).read(states)
    except TaskError:  # do without: they are only on offer
        return {}
    return {name: quantities[name] for name, value in values.items() if value.std(0).max() > _STANDING}
