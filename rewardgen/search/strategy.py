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

A run uses it with `--strategy drafts`. `BestOfN` and `Evolve` below are two.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Protocol

from rewardgen.core.config import BUILTIN, RunConfig
from rewardgen.core.registry import Registry
from rewardgen.search.judge import Judge, improves, stalled_generations
from rewardgen.store.ranking import Ranking
from rewardgen.store.records import CandidateRecord, Operator, Slot


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


GAINING: tuple[Operator, ...] = ("tune", "edit", "add", "crossover", "explore", "remove")
STALLED: tuple[Operator, ...] = ("edit", "add", "crossover", "explore", "tune", "rewrite")
"""After a generation without a gain: also a new idea, but not from the best parents: `explore` and `rewrite` throw away
what made them best, and gained in none of 20 recorded children (docs/evidence.md)."""
RESTARTED: tuple[Operator, ...] = ("draft", "edit", "crossover", "explore", "draft", "add")
"""After two or more generations without a gain: also fresh drafts, which see no parent."""
PLATEAU = 2
"""Generations without a gain before fresh drafts; the default patience of a run is longer."""
_WITH_LENS: tuple[Operator, ...] = ("draft", "explore", "rewrite")
_FROM_BEST = 2
"""Slots of a generation whose first parent is the best of the archive."""
_DRAWS = 8
"""Draws of parents for an operator before the next operator is tried."""

Pair = tuple[Operator, tuple[str, ...]]
"""An operator and its parents."""


class Evolve:
    """Plans drafts first, then operators on parents from the whole archive, more often on better ones.

    An operator without a gain in the previous generation is not applied to the same parents again.
    """

    learns = True

    def __init__(self, config: RunConfig, judge: Judge) -> None:
        self._config = config
        self._judge = judge

    def plan(self, records: Sequence[CandidateRecord], generation: int) -> tuple[Slot, ...]:
        """See `Strategy.plan`."""
        rng = random.Random(f"{self._config.seed}/{generation}")
        ranking = self._judge.rank(records)
        archive = ranking.ids
        stalled = stalled_generations(records, self._judge)
        mix = _mix(archive, stalled)
        stuck = stalled > 0 and self._config.model != BUILTIN
        shows_more, stages = self._config.evolve_observation, self._config.stages
        if archive and (stuck if shows_more is None else shows_more):
            mix = ("observe", *mix)
        if archive and stages:
            mix = ("stage", *mix)
        elif archive and stuck and stages is None:  # not before an edit, which gained the most (docs/evidence.md)
            place = mix.index("edit") + 1
            mix = (*mix[:place], "stage", *mix[place:])
        hints = lenses(self._config.seed, sum(record.candidate.operator in _WITH_LENS for record in records))
        spent = in_vain(records, ranking, generation - 1)
        slots: list[Slot] = []
        for number in range(self._config.candidates):
            operator, parents = _chosen(archive, mix, number, spent, rng)
            lens = next(hints) if operator in _WITH_LENS else ""
            id, seed = slot_id(generation, number), rng.randrange(2**31)
            slots.append(Slot(candidate_id=id, operator=operator, parents=parents, lens=lens, seed=seed))
        return tuple(slots)


STRATEGIES.register("evolve", Evolve)


def _mix(archive: Sequence[str], stalled: int) -> tuple[Operator, ...]:
    if not archive:
        return ("draft",)
    if not stalled:
        return GAINING
    return STALLED if stalled < PLATEAU else RESTARTED


def in_vain(records: Sequence[CandidateRecord], ranking: Ranking, generation: int) -> set[Pair]:
    """Return the pairs of operator and parents of a generation that gave no better child."""
    return {
        (record.candidate.operator, record.candidate.parents)
        for record in records
        if record.candidate.generation == generation and record.candidate.parents and not improves(record, ranking)
    }


def _chosen(archive: Sequence[str], mix: Sequence[Operator], number: int, spent: set[Pair], rng: random.Random) -> Pair:
    """Return operator and parents of a slot: the mix's own, or the next pair not known to have failed."""
    for turn in range(len(mix)):
        operator = mix[(number + turn) % len(mix)]
        if operator == "crossover" and len(archive) < 2:
            operator = "edit"
        for draw in range(_DRAWS):
            from_best = number < _FROM_BEST and draw == 0
            pair = (operator, _parents(archive, operator, from_best, rng))
            if pair not in spent:
                return pair
    return "draft", ()


def _parents(archive: Sequence[str], operator: Operator, from_best: bool, rng: random.Random) -> tuple[str, ...]:
    """Return the best of the archive, or a draw from it; a crossover has a second parent."""
    if operator == "draft":
        return ()
    first = archive[0] if from_best else _drawn(archive, rng)
    return (first, _drawn([id for id in archive if id != first], rng)) if operator == "crossover" else (first,)


def _drawn(archive: Sequence[str], rng: random.Random) -> str:
    return rng.choices(archive, weights=[0.6**rank for rank in range(len(archive))])[0]
