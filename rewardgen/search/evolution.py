"""Evolution: who becomes a parent, which operator each new candidate gets, and whether the search still gains.

Pure functions of the studies so far, so that a resumed run plans the same generations as an uninterrupted one.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterator, Sequence
from itertools import count

from rewardgen.core.schema import Frozen
from rewardgen.core.statistics import noise
from rewardgen.store.records import CandidateRecord, Operator

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

GAINING: tuple[Operator, ...] = ("tune", "edit", "add", "crossover", "explore", "remove")
STALLED: tuple[Operator, ...] = ("explore", "rewrite", "crossover", "edit", "explore", "tune")
"""After a generation without a gain: more of what is new, less of the same."""
RESTARTED: tuple[Operator, ...] = ("draft", "explore", "crossover", "draft", "rewrite", "edit")
"""After two such generations or more, a plateau: fresh drafts, which see no parent, beside what is left to try."""
PLATEAU = 2
"""Generations without a gain after which the search starts afresh; the patience of a run is longer by default."""
_LED_BY_A_LENS: tuple[Operator, ...] = ("draft", "explore", "rewrite")


_OF_THE_BEST = 2
"""Slots of a generation whose first parent is the best of the archive."""
_DRAWS = 8
"""Draws of parents for an operator before the next operator is taken."""
IDEA = 100
"""Characters of an idea that is told again."""
_NO_FAULT = ("still-rising", "no-diagnosis", "negligible-component")
"""Flags that do not say why an idea failed."""

Pair = tuple[Operator, tuple[str, ...]]
"""An operator and the parents that it is applied to."""


class Slot(Frozen):
    """A candidate to be designed."""

    candidate_id: str
    operator: Operator
    parents: tuple[str, ...] = ()
    lens: str = ""
    seed: int = 0


def ranked(records: Sequence[CandidateRecord]) -> list[CandidateRecord]:
    """The candidates with a fitness, best first; ties fall back to success rate, then to longer episodes."""
    return sorted((record for record in records if record.fitness is not None), key=_merit, reverse=True)


def _merit(record: CandidateRecord) -> tuple[float, float, float]:
    result = record.result
    if result is None or result.fitness is None:
        return (-math.inf, 0.0, 0.0)
    last = [each.curve[-1].episode_steps for each in result.slices if each.curve]
    return (round(result.fitness, 6), result.success_rate or 0.0, sum(last) / max(len(last), 1))


def plan(records: Sequence[CandidateRecord], generation: int, candidates: int, seed: int) -> tuple[Slot, ...]:
    """Plan a generation.

    Args:
        records: All candidates of the earlier generations.
        generation: Index of the generation to plan, from 0.
        candidates: Candidates to plan.
        seed: Seed of the run.

    Returns:
        One slot per candidate, with unique ids `g<generation>-k<number>`. No operator is applied again to the parents
        to which it was applied in vain in the generation before.
    """
    rng = random.Random(f"{seed}/{generation}")
    archive = ranked(records)
    mix = _mix(archive, stalled_generations(records))
    lenses = _lenses(records, seed)
    spent = _in_vain(records, generation - 1)
    slots: list[Slot] = []
    for number in range(candidates):
        operator, parents = _chosen(archive, mix, number, spent, rng)
        slots.append(
            Slot(
                candidate_id=f"g{generation:02d}-k{number}",
                operator=operator,
                parents=parents,
                lens=next(lenses) if operator in _LED_BY_A_LENS else "",
                seed=rng.randrange(2**31),
            )
        )
    return tuple(slots)


def _mix(archive: Sequence[CandidateRecord], stalled: int) -> tuple[Operator, ...]:
    if not archive:
        return ("draft",)
    if not stalled:
        return GAINING
    return STALLED if stalled < PLATEAU else RESTARTED


def _lenses(records: Sequence[CandidateRecord], seed: int) -> Iterator[str]:
    """The lenses in the run's own order, from the first that no candidate was given yet."""
    order = random.Random(f"{seed}/lenses").sample(LENSES, len(LENSES))
    given = sum(record.candidate.operator in _LED_BY_A_LENS for record in records)
    return (order[number % len(order)] for number in count(given))


def _in_vain(records: Sequence[CandidateRecord], generation: int) -> set[Pair]:
    """What was done to which parents in a generation without making them better."""
    return {
        (record.candidate.operator, record.candidate.parents)
        for record in records
        if record.candidate.generation == generation and record.candidate.parents and not _improved(record)
    }


def _improved(record: CandidateRecord) -> bool:
    delta = record.analysis.fitness_delta if record.analysis else None
    return delta is not None and delta > 0


def _chosen(
    archive: Sequence[CandidateRecord], mix: Sequence[Operator], number: int, spent: set[Pair], rng: random.Random
) -> Pair:
    """Operator and parents of a slot: the mix's own operator, or the next one that was not just tried in vain."""
    for turn in range(len(mix)):
        operator = mix[(number + turn) % len(mix)]
        if operator == "crossover" and len(archive) < 2:
            operator = "edit"
        for draw in range(_DRAWS):
            of_the_best = number < _OF_THE_BEST and draw == 0
            pair = (operator, _parents(archive, operator, of_the_best, rng))
            if pair not in spent:
                return pair
    return "draft", ()


def _parents(
    archive: Sequence[CandidateRecord], operator: Operator, of_the_best: bool, rng: random.Random
) -> tuple[str, ...]:
    """The best of the archive, or a draw from all of it, better ranks more often; for a crossover another one too."""
    if operator == "draft":
        return ()
    ids = [record.candidate.id for record in archive]
    first = ids[0] if of_the_best else rng.choices(ids, weights=[0.6**rank for rank in range(len(ids))])[0]
    if operator != "crossover":
        return (first,)
    others = [each for each in ids if each != first]
    return (first, rng.choices(others, weights=[0.6**rank for rank in range(len(others))])[0])


def stalled_generations(records: Sequence[CandidateRecord]) -> int:
    """Generations in a row, up to the last, that brought no gain beyond noise.

    A gain is a best fitness that exceeds the best before by more than the noise over seeds (`stats.noise`). The first
    generation with any fitness is a gain.
    """
    best: CandidateRecord | None = None
    stalled = 0
    for generation in range(max((record.candidate.generation for record in records), default=-1) + 1):
        leaders = ranked([record for record in records if record.candidate.generation == generation])
        if leaders and _gains(leaders[0], best):
            stalled = 0
        else:
            stalled += 1
        best = next(iter(ranked([each for each in (best, *leaders[:1]) if each])), None)
    return stalled


def _gains(record: CandidateRecord, best: CandidateRecord | None) -> bool:
    if best is None or best.result is None or record.result is None:
        return True
    gain = (record.fitness or 0.0) - (best.fitness or 0.0)
    return gain > noise(best.result.fitness_spread, record.result.fitness_spread)


def failed_ideas(
    records: Sequence[CandidateRecord], apart_from: Collection[str] = (), limit: int = 5
) -> tuple[str, ...]:
    """What was tried in vain, latest first, one line each: the idea, what became of it, and the flags it raised.

    Args:
        records: All candidates so far.
        apart_from: Ids that are told of at length elsewhere.
        limit: Lines at most.
    """
    lines = [_failed_idea(record) for record in reversed(records) if record.candidate.id not in apart_from]
    return tuple(line for line in lines if line)[:limit]


def _failed_idea(record: CandidateRecord) -> str:
    candidate, became = record.candidate, record.outcome[:160] or _measured_loss(record)
    if not became:
        return ""
    idea = " ".join(candidate.diagnosis.split())[:IDEA] or "no idea was told"
    of = f" of {' and '.join(candidate.parents)}" if candidate.parents else ""
    raised = sorted({flag.detector for flag in record.analysis.flags} - set(_NO_FAULT)) if record.analysis else []
    flags = f" ({', '.join(raised)})" if raised else ""
    return f"{candidate.id} ({candidate.operator}{of}): {idea} -> {' '.join(became.split())}{flags}"


def _measured_loss(record: CandidateRecord) -> str:
    """Why a trained candidate was in vain: it fell behind its parent, or reached nothing; empty if it was not."""
    analysis = record.analysis
    if analysis is None or record.fitness is None:
        return ""
    if _improved(record):
        return ""
    if analysis.fitness_delta is not None:
        return f"fitness {record.fitness:.3g}, {analysis.fitness_delta:+.3g} against its parent"
    reached_nothing = any(flag.detector == "no-better-than-trivial" for flag in analysis.flags)
    return f"fitness {record.fitness:.3g}" if reached_nothing else ""
