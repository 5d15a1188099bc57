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
    """A reward that solved its task. It holds no code of the task."""

    noun = "a library entry"

    name: str
    """Name of its folder, `shipped:` before that of a shipped one, or the id of its run."""
    task: str
    fingerprint: str
    """Fingerprint of the task's card."""
    robot: str = ""
    """Name of the model's file without its ending; empty if the task has none."""
    description: str
    goal: str = ""
    success: str = ""
    """Meaning of success in words; empty if the task defines none."""
    variables: tuple[EntryVariable, ...]
    idea: str = ""
    """The designer's words on the reward."""
    source: str
    fitness: Interval
    """Interquartile mean over the fresh seeds."""
    human: Interval | None = None
    """Fitness of the task's human reward on the same seeds."""
    success_rate: Share | None = None
    seeds: Count
    """Number of fresh seeds."""
    env_steps: Count
    """Control steps of each training."""
    trainer: str
    origin: str = ""
    """Run and candidate that the reward comes from."""
    licence: str = ""
