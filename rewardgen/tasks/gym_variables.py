"""Variables and words of a Gymnasium environment: from its observation space, its `info` and its documentation."""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from gymnasium import spaces

from rewardgen.core.text import distinct
from rewardgen.sim.variables import Var

_MOST_SCALARS = 16
"""Entries of an observation that become variables of their own."""
_MOST_PARTS = 60
"""Parts of a vector in `info` that becomes a variable."""
_MOST_NUMBERS = 1000
"""Numbers of an entry of `info` that is kept."""
_LONGEST = 3000
"""Letters of a section of a documentation."""
_OWN_REWARD = re.compile(r"reward|rew\b|rew_|success|timelimit|episode|cost|score|return|fitness|penalt")
"""Keys of `info` about the environment's own reward or success."""
_PAYS = re.compile(r"reward|paid|pays|penal|points|score", re.IGNORECASE)
_SUCCESS = ("is_success", "success")


_LEGS = "hip_{0}_angle hip_{0}_speed knee_{0}_angle knee_{0}_speed leg_{0}_contact"
_DOCUMENTED = {
    "CartPoleEnv": "cart_position:m cart_velocity:m/s pole_angle:rad pole_angular_velocity:rad/s",
    "PendulumEnv": "cos_angle sin_angle angular_velocity:rad/s",
    "AcrobotEnv": "cos_angle_1 sin_angle_1 cos_angle_2 sin_angle_2 angular_velocity_1:rad/s angular_velocity_2:rad/s",
    "MountainCarEnv": "position:m velocity",
    "Continuous_MountainCarEnv": "position:m velocity",
    "LunarLander": "x y x_velocity y_velocity angle:rad angular_velocity right_leg_contact left_leg_contact",
    "BipedalWalker": "hull_angle hull_angular_velocity x_velocity y_velocity "
    f"{_LEGS.format(1)} {_LEGS.format(2)} {' '.join(f'lidar_{index}' for index in range(10))}",
}
"""Class of Gymnasium to the entries of its observation, in the words of its documentation, with units if it has any."""


def observation_variables(size: int, keyed: Mapping[str, int], kind: type = object) -> dict[str, Var]:
    """Return variables for the `size` entries of an observation of a kind; a dict observation has entries by key."""
    if keyed:
        names = distinct([_name(key) or "observed" for key in keyed])
        return {
            name: Var("1", f"`{key}` of the observation", tuple(f"{name}_{part}" for part in range(count)))
            for name, (key, count) in zip(names, keyed.items(), strict=True)
        }
    documented = _DOCUMENTED.get(kind.__name__, "").split() if kind.__module__.startswith("gymnasium.envs.") else []
    entries = documented if len(documented) == size else [f"obs_{index}" for index in range(size)]
    names = [entry.partition(":") for entry in entries]
    if size <= _MOST_SCALARS:
        return {
            name: Var(unit or "1", f"entry {index} of the observation") for index, (name, _, unit) in enumerate(names)
        }
    parts = tuple(name for name, *_ in names)
    return {"observation": Var("1", "the observation as the environment gives it", parts)}


def entries_of(variables: Mapping[str, Var]) -> dict[str, slice]:
    """Return the places of variables that make up an observation, one after another."""
    ends = [*accumulate(max(1, len(variable.parts)) for variable in variables.values())]
    return {name: slice(start, end) for name, start, end in zip(variables, [0, *ends], ends, strict=False)}


def is_picture(space: spaces.Space[Any]) -> bool:
    """Return whether a space holds a picture: bytes in two dimensions or more."""
    return isinstance(space, spaces.Box) and space.dtype == np.uint8 and len(space.shape) > 1


def info_variables(
    infos: Sequence[Mapping[str, Any]], rewards: Sequence[float], reserved: Iterable[str]
) -> dict[str, tuple[str, Any]]:
    """Return what can be read of `info`: variable name to key and first value, for numbers that every step has.

    Success, the environment's own reward and its parts are left out, by name and by value: a reward that read them
    would be the environment's.
    """
    paid = [values for values in ([*rewards], [*accumulate(rewards)]) if len({*values}) > 1]
    variables: dict[str, tuple[str, Any]] = {}
    for key, value in infos[0].items():
        name = _name(str(key))
        if not isinstance(key, str) or not name or name in {*reserved, *variables} or _OWN_REWARD.search(key.lower()):
            continue
        shapes = {number_shape(info.get(key)) for info in infos}
        if shapes == {()} and any(np.allclose([float(info[key]) for info in infos], values) for values in paid):
            continue
        shape = shapes.pop() if len(shapes) == 1 else None
        if shape == () or (shape is not None and len(shape) == 1 and 0 < shape[0] <= _MOST_PARTS):
            variables[name] = key, value
    return variables


def info_variable(key: str, value: Any) -> Var:
    """Return the variable of an entry of `info`."""
    parts = tuple(f"{key}_{index}" for index in range(len(value))) if np.ndim(value) else ()
    return Var("1", f"`{key}` as the environment's `info` has it", parts)


def kept_keys(infos: Sequence[Mapping[str, Any]]) -> dict[str, tuple[int, ...]]:
    """Return the keys of `info` at any step of an episode whose values are numbers, with their shapes."""
    shapes = {key: number_shape(value) for info in reversed(infos) for key, value in info.items()}
    return {key: shape for key, shape in shapes.items() if shape is not None and np.prod(shape) <= _MOST_NUMBERS}


def success_key(infos: Sequence[Mapping[str, Any]]) -> str:
    """Return the key of `info` for success, or an empty text."""
    return next((key for key in _SUCCESS if any(key in info for info in infos)), "")


def number_shape(value: Any) -> tuple[int, ...] | None:
    """Return the shape of a number or an array of numbers; None for anything else."""
    shape = getattr(value, "shape", () if isinstance(value, bool | int | float) else None)
    kind = getattr(getattr(value, "dtype", None), "kind", "f")
    return tuple(shape) if shape is not None and kind in "fiub" else None


def description(kind: type, name: str, choices: Sequence[int] = ()) -> str:
    """Return an environment's documentation on its task, observations and actions, without sentences on its reward."""
    text = inspect.cleandoc(kind.__doc__ or "")
    about = _section(text, "Description") or re.split(r"\n\s*\n|^#", text, maxsplit=1, flags=re.M)[0].strip()
    about = re.sub(r"```.*?(```|\Z)|</?\w[^<>]*>", "", about, flags=re.S)
    sentences = re.split(r"(?<=[.!?])\s+", about)
    paragraphs = [f"{name}. {' '.join(sentence for sentence in sentences if not _PAYS.search(sentence))}".strip()]
    titles = ("Observation Space", "Action Space")
    paragraphs += [f"{title}:\n{section}" for title in titles if (section := _section(text, title))]
    if choices:
        paragraphs.append("An action has one number for each option of a choice: 1 for the chosen one, 0 for the rest.")
    return "\n\n".join(paragraphs)


def _section(text: str, title: str) -> str:
    """Return the text under a heading of a documentation, without its links; empty without one."""
    section = re.search(rf"^#+ *{title}\s*\n(.*?)(?=^#|\Z)", text, re.M | re.S)
    return re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", section[1]).strip()[:_LONGEST] if section else ""


def _name(key: str) -> str:
    """Return a Python name for a key; empty if there is none."""
    for name in (key, re.sub(r"[^a-z0-9]+", "_", key.lower()).strip("_")):
        reserved = name in ("action", "torch", "math") or name.startswith(("prev_", "env_"))
        if name.isidentifier() and not keyword.iskeyword(name) and not reserved:
            return name
    return ""
