"""What the next generation tries: the plan of a search, one slot for each candidate.

To add a strategy, write a class with `learns` and `plan`, made of a run's configuration and judge, and register it:

    class Drafts:
        learns = False

        def __init__(self, config, judge):
            self._candidates = config.candidates

        def plan(self, records, generation):
            ids = (slot_id(generation, number) for number in range(self._candidates))
            return tuple(Slot(candidate_id=id, operator="draft", seed=number) for number, id in enumerate(ids))

    STRATEGIES.register("drafts", Drafts)

A run then takes it by `RunConfig(strategy="drafts")`. `search/evolve.py` and `search/best_of_n.py` are two.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Protocol

from rewardgen.core.config import RunConfig
from rewardgen.core.registry import Registry
from rewardgen.core.schema import Frozen
from rewardgen.search.judge import Judge
from rewardgen.store.records import CandidateRecord, Operator


class Slot(Frozen):
    """A candidate to be designed."""

    candidate_id: str
    """See `slot_id`."""
    operator: Operator
    parents: tuple[str, ...] = ()
    """Ids of trained candidates of earlier generations; the designer is shown all that is known of them."""
    lens: str = ""
    """A hint for the designer."""
    seed: int = 0
    """Of what the designer draws."""


def slot_id(generation: int, number: int) -> str:
    """Id of a generation's candidate, such as `g02-k7`; both are counted from 0."""
    return f"g{generation:02d}-k{number}"


class Strategy(Protocol):
    """Plans generations. The same records always get the same plan, so that a run can be resumed."""

    learns: bool
    """Whether later candidates depend on what became of earlier ones.

    If not, designers are told nothing of what failed before, the critic compares no reward with the episodes of earlier
    candidates, no diagnosis is asked for, and the search does not stop for want of gains.
    """

    def plan(self, records: Sequence[CandidateRecord], generation: int) -> tuple[Slot, ...]:
        """The candidates of a generation.

        Args:
            records: All candidates of the earlier generations, in the order in which they were planned.
            generation: Index of the generation, from 0.
        """
        ...


STRATEGIES: Registry[Callable[[RunConfig, Judge], Strategy]] = Registry("strategy")

LENSES = (
    "reward measurable progress toward the goal at every step; few components",
    "first make sure the robot can stay in a state from which the goal is reachable, then reward progress",
    "multiply bounded terms so that progress only counts while posture or stability is good",
    "prefer smooth, well-scaled terms with a wide basin, so that there is a gradient from the very first states",
    "reward the end state precisely with a narrow term, and guide toward it with a wide one",
    "as simple as possible: at most two components and a small effort penalty",
    "think of how a lazy policy would cheat the reward, and close that way by construction",
    "shape velocities as well as positions: what should move, and what should be still",
)
"""Hints that make the drafts of one generation differ."""


def lenses(seed: int, given: int) -> Iterator[str]:
    """The lenses without end, in an order of the run's own.

    Args:
        seed: Of the run.
        given: How many candidates had one already.
    """
    order = random.Random(f"{seed}/lenses").sample(LENSES, len(LENSES))
    return (order[number % len(order)] for number in count(given))
