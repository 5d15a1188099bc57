"""Environments over any `gymnasium.Env`, stepped one after another in one process."""

from __future__ import annotations

import hashlib
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from rewardgen.core.errors import TaskError
from rewardgen.sim.contract import Named, mapping_problems, require, variable_problems
from rewardgen.sim.episodes import with_previous
from rewardgen.sim.faults import hint_for, task_faults
from rewardgen.sim.variables import Var
from rewardgen.sim.vec_env import ENDED, ENV_REWARD, ENV_SUCCESS, Step, VecEnv

if TYPE_CHECKING:
    from rewardgen.sim.quantities import Quantity

_NUMBERS = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary, spaces.Tuple, spaces.Dict)
MOST_SEEN = 4096
"""Largest size of an observation."""
_UNBOUNDED = 1.0
"""Bound of an action entry that the environment does not bound."""


class ActionCoder:
    """Converts the numbers that policies return into actions of a space; its entries may have names.

    A choice among n options is n numbers, of which the largest wins; rewards read 1 for the winner, else 0. Raises a
    TaskError if the space is no `Box`, `Discrete`, `MultiDiscrete` or `MultiBinary`.
    """

    def __init__(self, space: spaces.Space[Any], names: Sequence[str] = ()) -> None:
        self._space = space
        if isinstance(space, spaces.Box):
            low, high = space.low.astype(np.float64).ravel(), space.high.astype(np.float64).ravel()
            some_low = np.where(np.isfinite(high), high - 2 * _UNBOUNDED, -_UNBOUNDED)
            some_high = np.where(np.isfinite(low), low + 2 * _UNBOUNDED, _UNBOUNDED)
            self.low = np.where(np.isfinite(low), low, some_low)
            self.high = np.where(np.isfinite(high), high, some_high)
            self.choices: tuple[int, ...] = ()
            plain = [f"action_{number}" for number in range(len(low))]
        elif isinstance(space, spaces.Discrete | spaces.MultiDiscrete):
            counts = [space.n] if isinstance(space, spaces.Discrete) else space.nvec.ravel().tolist()
            self.choices = tuple(int(count) for count in counts)
            plain = [f"choice_{option}" for option in range(sum(self.choices))]
            if len(self.choices) > 1:
                plain = [
                    f"choice_{group}_{option}" for group, size in enumerate(self.choices) for option in range(size)
                ]
        elif isinstance(space, spaces.MultiBinary):
            self.choices = ()
            plain = [f"switch_{number}" for number in range(int(np.prod(space.shape)))]
        else:
            what = f"its action space is {type(space).__name__}"
            raise TaskError(what, "Box, Discrete, MultiDiscrete and MultiBinary can be learned: wrap the environment")
        if not isinstance(space, spaces.Box):
            self.low, self.high = np.zeros(len(plain)), np.ones(len(plain))
        self.parts = tuple(names) if len(names) == len(plain) else tuple(plain)

    def taken(self, action: np.ndarray) -> np.ndarray:
        """Return actions (N, A) as rewards read them: 1 for a winning option, 0 for the others."""
        if isinstance(self._space, spaces.MultiBinary):
            return (action > 0.5).astype(np.float32)
        if not self.choices:
            return action
        chosen, start = np.zeros_like(action), 0
        for count in self.choices:
            best = action[:, start : start + count].argmax(1)
            chosen[np.arange(len(action)), start + best] = 1.0
            start += count
        return chosen

    def decoded(self, taken: np.ndarray) -> Any:
        """Return the action of one environment, from the numbers that rewards read, (A,)."""
        whole = isinstance(self._space, spaces.Box) and np.issubdtype(self._space.dtype, np.integer)
        return spaces.unflatten(self._space, taken.round() if whole else taken.copy())


class GymReading(NamedTuple):
    """Values to read from an environment."""

    declared: Mapping[str, Var]
    info: Mapping[str, tuple[int, ...]]  # shapes of the keys to read; a key that a step lacks keeps its value
    read: Callable[[Any, Mapping[str, Tensor]], Mapping[str, Any]]  # from observations and infos (N, ...) to variables
    rows: bool = False  # `read` takes flat observations (N, O) instead of the environment's own
    success: str = ""  # key of `info`, if any
    model: Mapping[str, Quantity] = {}  # by name
    model_file: Path = Path()


class GymVecEnv(VecEnv):
    """The `VecEnv` of Gymnasium environments, made with a time limit of at least `episode_steps`.

    An environment may have several rows of tensors, as for the agents of a game. Raises a TaskError if an environment
    raises, or the variables break their contract.
    """

    device = torch.device("cpu")
    causes: tuple[str, ...] = (ENDED,)

    def __init__(
        self,
        path: Path,
        make: Callable[[], Any],
        reading: GymReading,
        coder: ActionCoder,
        seeds: Sequence[int],
        envs_per_seed: int,
        *,
        episode_steps: int,
        control_step_s: float,
        rows_per_env: int = 1,
    ) -> None:
        self._each = rows_per_env
        per_seed = -(-envs_per_seed // rows_per_env)
        self.num_envs = len(seeds) * per_seed * rows_per_env
        self.episode_steps, self.control_step_s = episode_steps, control_step_s
        self.action_low = torch.from_numpy(coder.low).float()
        self.action_high = torch.from_numpy(coder.high).float()
        self.action_size, self.action_parts = len(coder.parts), coder.parts
        self.choices = coder.choices
        self.variables = (*reading.declared, ENV_REWARD, ENV_SUCCESS)
        self._path, self._reading, self._coder = path, reading, coder
        with env_faults(path):
            self._envs: list[Any] = [make() for _ in range(len(seeds) * per_seed)]
        model = (reading.model_file, reading.model, self.num_envs)
        self._model = of_mujoco().ModelReader(*model) if reading.model else None
        self.observation_size = self._observed()
        self._seeds = np.repeat(np.array(list(seeds), dtype=np.int64), per_seed)
        self._index = np.tile(np.arange(per_seed), len(seeds))
        self._per_seed = per_seed
        self._episode = np.zeros(len(self._envs), dtype=np.int64)
        self._episode_step = np.zeros(len(self._envs), dtype=np.int64)
        self._awake = np.ones(len(self._envs), dtype=bool)
        self._raw: list[Any] = [None] * self.num_envs
        self._flat = np.zeros((self.num_envs, self.observation_size), dtype=np.float32)
        self._info = {key: np.zeros((self.num_envs, *shape)) for key, shape in reading.info.items()}
        self._start_info = {key: np.full_like(values, np.nan) for key, values in self._info.items()}
        self._at_start = np.ones(len(self._envs), dtype=bool)
        self._reward = np.zeros(self.num_envs)
        self._success = np.zeros(self.num_envs)
        self._ended = np.zeros((2, self.num_envs), dtype=bool)
        self._previous: dict[str, Tensor] = {}
        self._checked = False

    def reset(self, *, staggered: bool = False, anew: bool = False) -> Tensor:
        """See `VecEnv.reset`."""
        self._awake[:] = True
        if anew:
            self._episode[:] = 0
        with env_faults(self._path):
            for index in range(len(self._envs)):
                self._begin(index)
        if staggered:
            self._episode_step = self._index * self.episode_steps // self._per_seed
        return torch.from_numpy(self._flat.copy())

    def variables_now(self) -> dict[str, Tensor]:
        """See `VecEnv.variables_now`."""
        starts = np.repeat(self._at_start, self._each)
        info = {
            key: np.where(starts.reshape(-1, *[1] * (values.ndim - 1)), self._start_info[key], values)
            for key, values in self._info.items()
        }
        with task_faults(self._path, "variables"):
            return self._read(info)

    def picture(self, index: int) -> np.ndarray:
        """See `VecEnv.picture`."""
        with env_faults(self._path):
            env = self._envs[index // self._each]
            if loaded := of_mujoco():
                loaded.render_fast(env)
            rendered: Any = env.render()
        pixels = np.asarray(rendered)
        if pixels.dtype != np.uint8 or pixels.shape[2:] != (3,):
            raise TaskError("its `render` returns no picture", "return an array (H, W, 3) uint8")
        return pixels

    def rest(self, which: Tensor) -> None:
        """See `VecEnv.rest`."""
        self._awake &= ~which.numpy().reshape(-1, self._each).all(1)

    def step(self, action: Tensor) -> Step:
        """See `VecEnv.step`."""
        # Outputs beyond the range would tie, and the first of them win.
        within = action.float() if self.choices else action.float().clamp(self.action_low, self.action_high)
        taken = self._coder.taken(within.numpy())
        with env_faults(self._path):
            for index in np.flatnonzero(self._awake).tolist():
                self._advance(index, taken[self._rows(index)])
        self._episode_step += self._awake
        self._at_start &= ~self._awake
        with task_faults(self._path, "variables"):
            variables = self._read(self._info)
        ended = self._ended.any(0).reshape(-1, self._each).all(1)
        over = self._awake & (ended | (self._episode_step >= self.episode_steps))
        terminated = np.repeat(over, self._each) & self._ended[0]
        truncated = np.repeat(over, self._each) & ~terminated
        current = variables | {
            ENV_REWARD: torch.from_numpy(self._reward).float(),
            ENV_SUCCESS: torch.from_numpy(self._success).float(),
            "action": torch.from_numpy(taken.copy()),
        }
        steps = torch.from_numpy(np.repeat(self._episode_step, self._each))
        inputs = with_previous(current, self._previous or current, steps == 1)
        self._previous = current
        final = torch.from_numpy(self._flat.copy())
        with env_faults(self._path):
            for index in np.flatnonzero(over).tolist():
                self._begin(index)
        return Step(
            observation=torch.from_numpy(self._flat.copy()),
            final_observation=final,
            inputs=inputs,
            terminated=torch.from_numpy(terminated),
            truncated=torch.from_numpy(truncated),
            causes={ENDED: torch.from_numpy(terminated)},
            episode_step=steps,
        )

    def _rows(self, index: int) -> slice:
        return slice(index * self._each, (index + 1) * self._each)

    def _observed(self) -> int:
        self._space = readable(self._envs[0].observation_space)
        return spaces.flatdim(self._space)

    def _advance(self, index: int, taken: np.ndarray) -> None:
        """Step one environment, with actions as rewards read them, (rows, A)."""
        step: Any = self._envs[index].step(self._coder.decoded(taken[0]))
        observation, reward, terminated, truncated, info = step
        self._see(index, observation)
        self._ended[:, index] = terminated, truncated
        self._take(index, reward, info)

    def _take(self, row: int, reward: Any, info: Mapping[str, Any]) -> None:
        self._reward[row] = one_number(reward)
        self._success[row] = float(np.asarray(info.get(self._reading.success, 0.0)).any())
        keep_info(self._info, row, info)

    def _begin(self, index: int) -> None:
        """Begin the next episode of one environment; only the seed, its index and the episode number decide it."""
        seed = start_seed(self._seeds[index], self._index[index], self._episode[index])
        self._ended[:, self._rows(index)] = False
        for values, unknown in [(self._start_info, np.nan), (self._info, 0.0)]:
            for kept in values.values():
                kept[self._rows(index)] = unknown
        self._reset(index, seed)
        self._episode[index] += 1
        self._episode_step[index] = 0
        self._at_start[index] = True

    def _reset(self, index: int, seed: int) -> None:
        observation, info = self._envs[index].reset(seed=seed)
        self._see(index, observation)
        keep_info(self._start_info, index, info)

    def _see(self, index: int, observation: Any) -> None:
        self._raw[index] = observation
        self._flat[index] = np.asarray(spaces.flatten(self._space, observation))

    def _read(self, info: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
        infos = {key: torch.from_numpy(values.copy()).float() for key, values in info.items()}
        seen = torch.from_numpy(self._flat.copy()) if self._reading.rows else _stacked(self._raw)
        variables = self._reading.read(seen, Named("info", infos))
        require(mapping_problems("variables", variables))
        if self._model:
            states = [state for env in self._envs if (state := of_mujoco().state_of(env)) is not None]
            variables = {**variables, **self._model.read(states)}
        if not self._checked:
            require(variable_problems(self._reading.declared, variables, self.num_envs))
            self._checked = True
        return {name: variables[name].float() for name in self._reading.declared}


def keep_info(kept: Mapping[str, np.ndarray], row: int, info: Mapping[str, Any]) -> None:
    """Store the values of a row's info; a key that is missing, or has another shape, keeps its value."""
    for key, values in kept.items():
        value = np.asarray(info.get(key, values[row]), dtype=np.float64)
        values[row] = value if value.shape == values[row].shape else values[row]


def of_mujoco() -> Any:
    """Return the module `gym_model`; None if no environment loaded MuJoCo, which exports may lack."""
    if sys.modules.get("mujoco") is None:
        return None
    from rewardgen.sim import gym_model

    return gym_model


def one_number(reward: Any) -> float:
    """Return an environment's reward as one number, else raise `TaskError`."""
    numbers = np.asarray(reward)
    if numbers.size != 1:
        hint = "sum them in a task file: `env = lambda: gymnasium.wrappers.TransformReward(gymnasium.make(...), sum)`"
        raise TaskError(f"its reward has {numbers.size} parts", hint)
    return float(numbers.item())


def start_seed(seed: int, index: int, episode: int) -> int:
    """Return the seed of an episode by the group's seed, the environment's index in it and the episode number."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{index}/{episode}".encode()).digest()[:4], "big") >> 1


@contextmanager
def env_faults(path: Path) -> Iterator[None]:
    """Turn an environment's exception into a `TaskError`, with the line if the task file defines the environment."""
    try:
        yield
    except TaskError:
        raise
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        where = f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}"
        if any(frame.filename == str(path) for frame in frames):
            with task_faults(path, "env"):
                raise
        what = f"{type(error).__name__} ({where}): {error}".rstrip(": ")
        hint = hint_for(error, path) or "run it by itself: make it, reset it, and step it with random actions"
        if "display" in what.lower():
            hint = "a worker has no display: ask for none at the top of a task file, with pyglet by"
            hint += ' `import pyglet; pyglet.options["headless"] = True`, with SDL by'
            hint += ' `import os; os.environ["SDL_VIDEODRIVER"] = "dummy"`'
        raise TaskError(f"the environment of {path.name} raised {what}", hint) from error


def readable(space: spaces.Space[Any]) -> spaces.Space[Any]:
    """Return a numeric observation space, or the numeric entries of a dict space; else raise `TaskError`."""
    if isinstance(space, spaces.Dict):
        parts: dict[str, spaces.Space[Any]] = {key: part for key, part in space.items() if isinstance(part, _NUMBERS)}
        if parts:
            return spaces.Dict(parts)
    elif isinstance(space, _NUMBERS):
        return space
    raise TaskError(f"its observations are {type(space).__name__}", "wrap the environment so that it observes numbers")


def _stacked(raw: Sequence[Any]) -> Any:
    """Stack observations of N environments: a tensor (N, ...), or a dict or tuple of tensors, as in the space."""
    first = raw[0]
    if isinstance(first, str):
        return list(raw)
    if isinstance(first, Mapping):
        return {key: _stacked([observation[key] for observation in raw]) for key in first}
    if isinstance(first, tuple):
        return tuple(_stacked(parts) for parts in zip(*raw, strict=True))
    return torch.from_numpy(np.stack([np.asarray(observation) for observation in raw]).astype(np.float32))
