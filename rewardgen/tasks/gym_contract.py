"""What the methods of a Gymnasium environment must return, and every breach of it with a hint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from rewardgen.core.errors import TaskError

_OF_RESET = "return `observation, info`, where `info` is a dict, perhaps an empty one"
_OF_STEP = "return `observation, reward, terminated, truncated, info`; `shimmy` wraps what the old `gym` has"


def require_reset(told: Any, space: spaces.Space[Any]) -> None:
    """Refuse what `reset` returned if Gymnasium asks for something else.

    Args:
        told: What it returned.
        space: The part of the observation space that is read.

    Raises:
        TaskError: It is not what Gymnasium asks for.
    """
    if not (isinstance(told, tuple | list) and len(told) == 2 and isinstance(told[1], Mapping)):
        raise TaskError(f"`reset` returns {_kind(told)}, expected an observation and a dict", _OF_RESET)
    _require_fit("reset", told[0], space)


def one_step(told: Any, space: spaces.Space[Any]) -> tuple[Any, Any, Any, Any, Mapping[str, Any]]:
    """Observation, reward, terminated, truncated and info of what `step` returned.

    Args:
        told: What it returned.
        space: The part of the observation space that is read.

    Raises:
        TaskError: It is not what Gymnasium asks for.
    """
    if not (isinstance(told, tuple | list) and len(told) == 5 and isinstance(told[4], Mapping)):
        raise TaskError(f"`step` returns {_kind(told)}, expected five things, the last a dict", _OF_STEP)
    _require_fit("step", told[0], space)
    if np.ndim(told[1]) == 0 and not np.isfinite(np.float64(told[1])):
        hint = "mend the environment's own reward: its sum is the fitness where a task declares none"
        raise TaskError(f"`step` returns the reward {told[1]}", hint)
    return tuple(told)


def _require_fit(method: str, observation: Any, space: spaces.Space[Any]) -> None:
    if misfit := _misfit(observation, space, "the observation"):
        hint = "change one of the two; `gymnasium.utils.env_checker.check_env` looks for more of this kind"
        raise TaskError(f"`{method}` returns what does not fit `observation_space`: {misfit}", hint)


def _misfit(observation: Any, space: spaces.Space[Any], what: str) -> str:
    """Where an observation is not of its space; empty if its keys are, and how many numbers there are."""
    if isinstance(space, spaces.Dict):
        if not isinstance(observation, Mapping):
            return f"{what} is {type(observation).__name__}, the space a Dict"
        for key, own in space.items():
            if key not in observation:
                return f"{what} has no `{key}`, the space has"
            if found := _misfit(observation[key], own, f"`{key}`"):
                return found
    elif isinstance(space, spaces.Box) and np.size(observation) != np.prod(space.shape):
        return f"{what} has shape {np.shape(observation)}, the space {space.shape}"
    elif isinstance(space, spaces.Box) and not np.isfinite(np.asarray(observation, dtype=np.float32)).all():
        return f"{what} has numbers that are not finite as float32"
    elif isinstance(space, spaces.Discrete) and not space.contains(np.asarray(observation).reshape(-1)[:1].squeeze()):
        return f"{what} is {observation!r}, the space {space}"
    return ""


def _kind(told: Any) -> str:
    if not isinstance(told, tuple | list):
        return f"{type(told).__name__}"
    return f"{len(told)} things ({', '.join(type(each).__name__ for each in told)})"
