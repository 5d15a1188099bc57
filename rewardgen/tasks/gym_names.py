"""Names for what a Gymnasium environment observes and does, from the tables of its documentation."""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from rewardgen.sim.variables import Var

_MOST_SCALARS = 60
"""Documented entries of an observation that become variables of their own."""
_MOST_PLAIN = 16
"""Entries without a name of which each becomes a variable of its own."""
_LONGEST = 1500
"""Letters of a description."""
_FILLERS = frozenset({"the", "of", "a", "an", "in", "along", "to", "and", "on", "at", "its", "with", "for", "is"})
_TELLING = re.compile(r"reward|rew\b|rew_|success|timelimit|episode|cost|score|return|fitness|penalt")
"""Names of what an environment pays, and of what it calls success."""
_PAYING = re.compile(r"reward|paid|pays|penal|points|score", re.IGNORECASE)
_ASIDE = re.compile(r"\bgifs?\b|\bheuristic\b|\bPhD\b|described in Example", re.IGNORECASE)
"""In sentences of a documentation that say nothing of the task."""
_UNIT = re.compile(r"\(([^()]*)\)")
_UNITS = {
    **{unit: unit for unit in ("m", "m/s", "rad", "rad/s", "s", "kg")},
    **{"angle": "rad", "radians": "rad", "position": "m", "n": "N", "newton": "N", "n m": "N m", "nm": "N m"},
}
"""As documentations write them, to the unit; any other is taken for a pure number."""


def table(documentation: str, title: str, size: int) -> list[dict[str, str]]:
    """The rows of a Markdown table of a documentation whose second column has a title, if it has as many as wanted.

    Args:
        documentation: Of an environment's class.
        title: Such as `Observation`.
        size: Rows with a number that there must be.
    """
    heads: list[str] = []
    rows: list[dict[str, str]] = []
    for line in [*documentation.splitlines(), ""]:
        cells = [each.strip() for each in line.strip().strip("|").split("|")] if "|" in line else []
        if not cells:
            if len(rows) == size:
                return rows
            heads, rows = [], []
        elif not heads:
            heads = [each.lower() for each in cells]
            if len(heads) < 2 or title.lower() not in heads[1]:
                heads = []
        elif re.fullmatch(r"\d+", cells[0]):
            rows.append(dict(zip(heads, cells, strict=False)))
    return []


def observation_variables(documentation: str, size: int, keyed: Mapping[str, int]) -> dict[str, Var]:
    """Variables for the entries of an observation: by the documentation, by the keys of a dict, or by number.

    Args:
        documentation: Of the environment's class.
        size: Entries, O.
        keyed: Key to entries of an observation that is a dict.
    """
    rows = table(documentation, "observation", size) if size <= _MOST_SCALARS else []
    if rows:
        texts = [list(row.values())[1] for row in rows]
        units = [next((text for head, text in row.items() if "unit" in head), "") for row in rows]
        names = distinct([_slug(text) or f"obs_{number}" for number, text in enumerate(texts)])
        found = zip(names, texts, units, strict=True)
        return {name: Var(_unit(unit), text) for name, text, unit in found}
    if keyed:
        names = distinct([_key_name(key) or "observed" for key in keyed])
        return {
            name: Var("1", f"`{key}` of the observation", tuple(f"{name}_{part}" for part in range(count)))
            for name, (key, count) in zip(names, keyed.items(), strict=True)
        }
    if size <= _MOST_PLAIN:
        return {f"obs_{number}": Var("1", f"entry {number} of the observation") for number in range(size)}
    parts = tuple(f"obs_{number}" for number in range(size))
    return {"observation": Var("1", "the observation as the environment gives it", parts)}


def action_names(documentation: str, size: int) -> tuple[str, ...]:
    """Names of the entries of an action, as far as the documentation has them; empty if it has not."""
    rows = table(documentation, "action", size)
    texts = [next((text for head, text in row.items() if head.startswith("name")), "") for row in rows]
    names = [_slug(text) for text in texts]
    return tuple(distinct(names)) if all(names) else ()


def description(kind: type, name: str, choices: Sequence[int] = ()) -> str:
    """What an environment is, in the words of its documentation, without those on its reward.

    Args:
        kind: Its class.
        name: What it was asked for by.
        choices: Among how many an action chooses, for each choice.
    """
    text = inspect.cleandoc(kind.__doc__ or "")
    told = _section(text, "Description") or re.split(r"\n\s*\n|^#", text, maxsplit=1, flags=re.M)[0].strip()
    told = re.sub(r"```.*?(```|\Z)|</?\w[^<>]*>", "", told, flags=re.S)
    sentences = re.split(r"(?<=[.!?])\s+", told)
    told = " ".join(each for each in sentences if not _PAYING.search(each) and not _ASIDE.search(each))
    parts = [f"{name}. {told[:_LONGEST]}".strip()]
    for title in ("Observation Space", "Action Space"):
        section = _section(text, title)
        if section and "|" not in section:  # a table has become names
            parts.append(f"{title}: {section[: _LONGEST // 2]}")
    if choices:
        parts.append("Here an action has one number for each thing that can be chosen: 1 for what is, 0 for the rest.")
    return "\n\n".join(parts)


def _section(text: str, title: str) -> str:
    """The text under a heading of a documentation, without its links; empty if there is none."""
    found = re.search(rf"^#+ *{title}\s*\n(.*?)(?=^#|\Z)", text, re.M | re.S)
    return re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", found[1]).strip() if found else ""


def info_variables(
    infos: Sequence[Mapping[str, Any]], rewards: Sequence[float], taken: Iterable[str]
) -> dict[str, tuple[str, Any]]:
    """What can be read of `info`: variable name to key and first value, for what every step has as numbers.

    The environment's own reward and its parts are left out, by name and by value, and what tells of success: a reward
    that read them would be the environment's.

    Args:
        infos: Of some steps of an episode from its beginning.
        rewards: Of the same steps.
        taken: Names that are used already.
    """
    paid = [each for each in ([*rewards], [*accumulate(rewards)]) if len({*each}) > 1]
    found: dict[str, tuple[str, Any]] = {}
    for key, value in infos[0].items():
        name = _key_name(str(key))
        if not isinstance(key, str) or not name or name in {*taken, *found} or _is_telling(key):
            continue
        shapes = {number_shape(info.get(key)) for info in infos}
        if shapes == {()} and any(np.allclose([float(info[key]) for info in infos], each) for each in paid):
            continue
        shape = shapes.pop() if len(shapes) == 1 else None
        if shape == () or (shape is not None and len(shape) == 1 and 0 < shape[0] <= _MOST_SCALARS):
            found[name] = key, value
    return found


def distinct(names: Sequence[str]) -> list[str]:
    """The names, with a number after those that have come before."""
    found: list[str] = []
    for name in names:
        number, own = 2, name
        while own in found:
            own, number = f"{name}_{number}", number + 1
        found.append(own)
    return found


def _is_telling(key: str) -> bool:
    return bool(_TELLING.search(key.lower()))


def number_shape(value: Any) -> tuple[int, ...] | None:
    """Shape of what is a number or an array of numbers; None for anything else."""
    shape = getattr(value, "shape", () if isinstance(value, bool | int | float) else None)
    kind = getattr(getattr(value, "dtype", None), "kind", "f")
    return tuple(shape) if shape is not None and kind in "fiub" else None


def _key_name(key: str) -> str:
    """The name of what is under a key: the key itself where it can be one, for its author knows it by that."""
    return key if _is_usable(key) else _slug(key)


def _slug(text: str) -> str:
    """A name of a few words that can stand for a text in Python; empty if there is none."""
    function = re.match(r"\s*(sin|cos|sine|cosine)\s*\(([^)]*)\)", text.lower())
    bare = " ".join(function.groups()) if function else re.sub(r"\([^)]*\)", " ", text.lower())
    words = [each for each in re.findall(r"[a-z0-9]+", bare) if each not in _FILLERS]
    name = "_".join(words[:6])
    return name if _is_usable(name) else ""


def _is_usable(name: str) -> bool:
    usable = name.isidentifier() and not keyword.iskeyword(name) and not name.startswith(("prev_", "env_"))
    return usable and name not in ("action", "torch", "math")


def _unit(told: str) -> str:
    inside = _UNIT.findall(told)
    unit = (inside[-1] if inside else told).strip().lower()
    return _UNITS.get(unit, "1")
