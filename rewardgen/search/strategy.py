"""Strategies: the plan of a generation, one slot for each candidate.

To add a strategy, write a class with `learns` and `plan`, built from a run's configuration and judge, and register it:

    class Drafts:
        learns = False

        def __init__(self, config, judge):
            self._candidates = config.candidates

        def plan(self, records, generation):
            ids = (slot_id(generation, number) for number in range(self._candidates))
            return tuple(Slot(candidate_id=id, operator="draft", seed=number) for number, id in enumerate(ids))

    STRATEGIES.register("drafts", Drafts)

A run uses it with `--strategy drafts`. `BestOfN` below and `search/evolve.py` are two.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Protocol

from rewardgen.core.config import RunConfig
from rewardgen.core.registry import Registry
from rewardgen.search.judge import Judge
from rewardgen.store.records import CandidateRecord, Slot


def slot_id(generation: int, number: int) -> str:
    """Id of a candidate, such as `g02-k7`; generation and number count from 0."""
    return f"g{generation:02d}-k{number}"


class Strategy(Protocol):
    """Plans generations. The same records must always give the same plan, so that a run can be resumed."""

    learns: bool
    """True if later candidates depend on the results of earlier ones.

    If False, designers see no earlier results, the critic compares no reward with episodes of earlier candidates, no
    diagnosis is written, and the search does not stop for want of gains.
    """

    def plan(self, records: Sequence[CandidateRecord], generation: int) -> tuple[Slot, ...]:
        """Plan the candidates of a generation.

        Args:
            records: All candidates of earlier generations, in the order of planning.
            generation: Index of the generation, from 0.
        """
        ...


STRATEGIES: Registry[Callable[[RunConfig, Judge], Strategy]] = Registry("strategy")

LENSES = (
    "pay only the change of what is still missing, as in `prev_distance - distance`, plus one large term in the end"
    " state, if any",
    "multiply two or three terms, each between 0 and 1, one for each condition of the goal, so that only all of them"
    " together pay",
    "split the way into two or three stages, each opened by a measured condition, with pay that adds up and never"
    " falls between them",
    "put nearly all pay on one variable or product, whatever success depends on most; all else is one small penalty on"
    " the action",
    "pay velocities toward the goal, not positions: the part of motion along the direction to it, bounded, and"
    " stillness where it has to stop",
    "let one narrow, steep term on the end state carry most of the pay, and one wide, ten times smaller term lead to"
    " it",
    "find a state that must be passed on the way, such as a contact or a height, pay progress to it, and more beyond"
    " it",
    "give each error one long-tailed shape, `1 / (1 + error / width)`, which has a slope from the first state to the"
    " last",
    "compute the velocity that would be right in each state, such as one proportional to the distance left, and pay"
    " closeness to it",
    "find what a policy that stands still or throws itself would collect, and multiply each such term by progress, so"
    " that it collects nothing",
    "describe the end state, or the steady motion, in full: one bounded term for each variable that has a definite"
    " value there, hardest weighted most",
)
"""Structures of a reward for any task: hints that make the drafts of one generation differ."""


def lenses(seed: int, used: int) -> Iterator[str]:
    """Repeat all lenses in an order drawn from the seed, then no lens, for an unbiased draft."""
    order = (*random.Random(f"{seed}/lenses").sample(LENSES, len(LENSES)), "")
    return (order[number % len(order)] for number in count(used))


class BestOfN:
    """Independent drafts without feedback, a control: the first generation of `evolve`, again and again."""

    learns = False

    def __init__(self, config: RunConfig, judge: Judge) -> None:
        self._config = config

    def plan(self, records: Sequence[CandidateRecord], generation: int) -> tuple[Slot, ...]:
        """See `Strategy.plan`."""
        seed, candidates = self._config.seed, self._config.candidates
        rng, hints = random.Random(f"{seed}/{generation}"), lenses(seed, generation * candidates)
        ids = (slot_id(generation, number) for number in range(candidates))
        return tuple(Slot(candidate_id=id, operator="draft", lens=next(hints), seed=rng.randrange(2**31)) for id in ids)


STRATEGIES.register("best-of-n", BestOfN)
