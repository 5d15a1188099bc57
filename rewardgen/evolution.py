"""Evolution: who becomes a parent, which operator each new candidate gets, and whether the search still gains.

Pure functions of the studies so far, so that a resumed run plans the same generations as an uninterrupted one.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from rewardgen.records import Operator, Study
from rewardgen.schema import Frozen
from rewardgen.stats import noise

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


class Slot(Frozen):
    """A candidate to be designed."""

    candidate_id: str
    operator: Operator
    parents: tuple[str, ...] = ()
    lens: str = ""
    seed: int = 0


def ranked(studies: Sequence[Study]) -> list[Study]:
    """The candidates with a fitness, best first; ties fall back to success rate, then to longer episodes."""
    return sorted((study for study in studies if study.fitness is not None), key=_merit, reverse=True)


def _merit(study: Study) -> tuple[float, float, float]:
    result = study.result
    if result is None or result.fitness is None:
        return (-math.inf, 0.0, 0.0)
    last = [each.curve[-1].episode_steps for each in result.slices if each.curve]
    return (round(result.fitness, 6), result.success_rate or 0.0, sum(last) / max(len(last), 1))


def plan(studies: Sequence[Study], generation: int, count: int, seed: int) -> tuple[Slot, ...]:
    """Plan a generation.

    Args:
        studies: All candidates of the earlier generations.
        generation: Index of the generation to plan, from 0.
        count: Candidates to plan.
        seed: Seed of the run.

    Returns:
        One slot per candidate, with unique ids `g<generation>-k<number>`.
    """
    rng = random.Random(f"{seed}/{generation}")
    archive = ranked(studies)
    operators = _operators(archive, stalled_generations(studies) > 0, count)
    lenses = rng.sample(LENSES, len(LENSES))
    return tuple(
        Slot(
            candidate_id=f"g{generation:02d}-k{number}",
            operator=operator,
            parents=_parents(archive, operator, number, rng),
            lens=lenses[number % len(lenses)] if operator in ("draft", "explore", "rewrite") else "",
            seed=rng.randrange(2**31),
        )
        for number, operator in enumerate(operators)
    )


def _operators(archive: Sequence[Study], stalled: bool, count: int) -> list[Operator]:
    if not archive:
        return ["draft"] * count
    mix = STALLED if stalled else GAINING
    chosen: list[Operator] = [mix[number % len(mix)] for number in range(count)]
    return [("edit" if each == "crossover" and len(archive) < 2 else each) for each in chosen]


def _parents(archive: Sequence[Study], operator: Operator, number: int, rng: random.Random) -> tuple[str, ...]:
    """The best is the parent of the first two; later ones draw from the whole archive, better ranks more often."""
    if operator == "draft":
        return ()
    ids = [study.candidate.id for study in archive]
    first = ids[0] if number < 2 else rng.choices(ids, weights=[0.6**rank for rank in range(len(ids))])[0]
    if operator != "crossover":
        return (first,)
    others = [each for each in ids if each != first]
    return (first, rng.choices(others, weights=[0.6**rank for rank in range(len(others))])[0])


def stalled_generations(studies: Sequence[Study]) -> int:
    """Generations in a row, up to the last, that brought no gain beyond noise.

    A gain is a best fitness that exceeds the best before by more than the noise over seeds (`stats.noise`). The first
    generation with any fitness is a gain.
    """
    best: Study | None = None
    stalled = 0
    for generation in range(max((study.candidate.generation for study in studies), default=-1) + 1):
        leaders = ranked([study for study in studies if study.candidate.generation == generation])
        if leaders and _gains(leaders[0], best):
            stalled = 0
        else:
            stalled += 1
        best = next(iter(ranked([each for each in (best, *leaders[:1]) if each])), None)
    return stalled


def _gains(study: Study, best: Study | None) -> bool:
    if best is None or best.result is None or study.result is None:
        return True
    gain = (study.fitness or 0.0) - (best.fitness or 0.0)
    return gain > noise(best.result.fitness_spread, study.result.fitness_spread)


def failed_ideas(studies: Sequence[Study], limit: int = 6) -> tuple[str, ...]:
    """What was tried in vain, latest first, one line each."""
    lines = [_failed_idea(study) for study in reversed(studies)]
    return tuple(line for line in lines if line)[:limit]


def _failed_idea(study: Study) -> str:
    idea = study.candidate.diagnosis.split("\n")[0][:160] or study.candidate.operator
    delta = study.analysis.fitness_delta if study.analysis else None
    if study.outcome:
        return f"{study.candidate.id} ({study.candidate.operator}): {idea} -> {study.outcome[:160]}"
    if delta is not None and delta < 0:
        return f"{study.candidate.id} ({study.candidate.operator}): {idea} -> fitness {delta:+.3g} against its parent"
    return ""
