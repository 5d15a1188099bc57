"""Difference of the fitness of two sides of a comparison, with its interval, in words."""

from __future__ import annotations

from collections.abc import Sequence

from rewardgen.core.formatting import number, with_interval
from rewardgen.core.statistics import difference_interval
from rewardgen.store.history import Phase
from rewardgen.store.records import CandidateResult
from rewardgen.view.facts import CandidateFacts, RunFacts, names_of
from rewardgen.view.reference import Reference

UNLIKE = "They are of different tasks."
_SEEDS: dict[Phase, str] = {"final": "fresh seeds", "search": "the seeds of the search"}


def differences(
    sides: Sequence[Reference], facts: Sequence[RunFacts] | Sequence[CandidateFacts]
) -> list[tuple[str, str]]:
    """Compare each further side with the first, on fresh seeds if both have them: a sentence, and its tone."""
    names = names_of(facts)
    return [
        _difference(names[0], name, sides[0], side)
        if side.history.card.name == sides[0].history.card.name
        else (UNLIKE, "open")
        for name, side in zip(names[1:], sides[1:], strict=True)
    ]


def common_phase(sides: Sequence[Reference]) -> Phase:
    """Return the fresh seeds if all sides have some, else those of the search."""
    return "final" if all(result_of(side, "final") for side in sides) else "search"


def result_of(side: Reference, phase: Phase) -> CandidateResult | None:
    """Return the trainings of a side in a task with a fitness."""
    return side.history.result(phase, side.candidate) if side.has_reward and side.history.has_fitness else None


def _difference(first: str, other: str, one: Reference, another: Reference) -> tuple[str, str]:
    phase = common_phase((one, another))
    results = [result_of(side, phase) for side in (another, one)]
    if not any(results):
        return f"{other} and {first} have no fitness to compare.", "open"
    values, bar = ([*result.by_seed.values()] if result else [] for result in results)
    if min(len(values), len(bar)) < 2:
        return f"{other} and {first} cannot be compared: that takes two seeds of each.", "open"
    interval = difference_interval(values, bar)
    difference = f"{with_interval(interval)} on {_SEEDS[phase]}"
    if interval.low <= 0.0 <= interval.high:
        most = number(max(-interval.low, interval.high))
        return f"{other} is within noise of {first}: {difference}, no difference larger than {most}.", "mixed"
    words, tone = ("better", "good") if interval.value > 0 else ("worse", "bad")
    return f"{other} is {words} than {first}: {difference}.", tone
