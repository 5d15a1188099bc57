"""Entry of a library: a reward that solved its task, with the task in words and the evidence."""

from __future__ import annotations

from rewardgen.core.schema import Frozen
from rewardgen.core.statistics import Interval
from rewardgen.store.measurements import Count, Share


class EntryVariable(Frozen):
    """One variable of an entry's task, without measured ranges."""

    name: str
    unit: str
    meaning: str
    parts: tuple[str, ...] = ()


class LibraryEntry(Frozen):
    """A reward that solved its task. It holds no code of the task; docs/library.md explains the fields."""

    noun = "a library entry"

    name: str
    """Name of its folder, after `shipped:` that of a shipped one, or the id of its run."""
    task: str
    robot: str = ""
    """Name of the robot's model; empty if the task has none."""
    description: str
    goal: str = ""
    success: str = ""
    variables: tuple[EntryVariable, ...]
    idea: str = ""
    source: str
    fitness: Interval
    """Interquartile mean over the fresh seeds, as that of the human reward."""
    human: Interval | None = None
    success_rate: Share | None = None
    seeds: Count
    env_steps: Count
    trainer: str
    origin: str = ""
    licence: str = ""
