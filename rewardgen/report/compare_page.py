"""Runs or candidates side by side as one HTML page: table, curves, difference with its interval, distance, code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewardgen.core.formatting import number, with_interval
from rewardgen.core.statistics import difference_interval, interquartile_mean
from rewardgen.critic.sandboxed import RewardPair
from rewardgen.report.rendering import render_page, rounded
from rewardgen.store.history import Phase
from rewardgen.store.records import CandidateResult
from rewardgen.view.facts import (
    DISTANCE_SCALE,
    CandidateFacts,
    RunFacts,
    component_rows,
    distance_text,
    fact_rows,
    names_of,
    unified_diff,
)
from rewardgen.view.reference import Reference


def compare_html(
    sides: Sequence[Reference],
    facts: Sequence[RunFacts] | Sequence[CandidateFacts],
    remarks: Sequence[str],
    distances: Sequence[RewardPair | str],
) -> str:
    """The page of two or more sides, all compared with the first.

    `remarks` are on differences that make them incomparable; an unknown distance is the reason why it is unknown.
    """
    names = names_of(facts)
    phase = _phase(sides)
    results = [_result(side, phase) for side in sides]
    apart: list[dict[str, Any]] = []
    for name, side, distance in zip(names[1:], sides[1:], distances, strict=True):
        alike = _task(side) == _task(sides[0])
        difference, tone = _difference(names[0], name, sides[0], side) if alike else _UNLIKE
        known = not isinstance(distance, str)
        apart.append(
            {
                "name": name,
                "difference": difference,
                "tone": tone,
                "distance": distance_text(distance) if known else distance,
                "components": component_rows(distance) if known else (),
                "diff": _diff(sides[0], side, names[0], name),
            }
        )
    data = {"sides": [_curves(name, result) for name, result in zip(names, results, strict=True)], "blocks": {}}
    values: dict[str, Any] = {
        "names": names,
        "has_fitness": any(results),
        "rows": fact_rows(facts),
        "remarks": remarks,
        "apart": apart,
        "scale": DISTANCE_SCALE,
    }
    return render_page("compare", data | {"diffs": [each["diff"] for each in apart]}, ("compare.js",), **values)


_SEEDS: dict[Phase, str] = {"final": "fresh seeds", "search": "the seeds of the search"}
_UNLIKE = ("They are of different tasks.", "open")


def _task(side: Reference) -> str:
    return side.history.card.name


def _phase(sides: Sequence[Reference]) -> Phase:
    return "final" if all(_result(side, "final") for side in sides) else "search"


def _result(side: Reference, phase: Phase) -> CandidateResult | None:
    return side.history.result(phase, side.candidate) if side.has_reward and side.history.has_fitness else None


def _curves(name: str, result: CandidateResult | None) -> dict[str, Any]:
    slices = result.slices if result else ()
    values = [*result.by_seed.values()] if result else []
    return {
        "id": name,
        "seeds": [rounded(value) for value in values],
        "value": rounded(interquartile_mean(values)) if values else None,
        "curves": [
            {"seed": run.seed, "points": [[point.env_steps, rounded(point.fitness)] for point in run.curve]}
            for run in slices
            if run.curve
        ],
    }


def _difference(first: str, other: str, one: Reference, another: Reference) -> tuple[str, str]:
    """The difference of the other side's fitness in words, and its tone."""
    phase = _phase((one, another))
    results = [_result(side, phase) for side in (another, one)]
    if not any(results):
        return f"{other} and {first} have no fitness to compare.", "open"
    values, bar = ([*result.by_seed.values()] if result else [] for result in results)
    if min(len(values), len(bar)) < 2:
        return f"{other} and {first} cannot be compared: that takes two seeds of each.", "open"
    interval = difference_interval(values, bar)
    difference = f"{with_interval(interval)} on {_SEEDS[phase]}".replace("-", "−")
    if interval.low <= 0.0 <= interval.high:
        most = number(max(-interval.low, interval.high))
        return f"{other} is within noise of {first}: {difference}, no difference larger than {most}.", "mixed"
    words, tone = ("better", "good") if interval.value > 0 else ("worse", "bad")
    return f"{other} is {words} than {first}: {difference}.", tone


def _diff(one: Reference, other: Reference, first: str, name: str) -> str | None:
    if not (one.has_reward and other.has_reward and one.source and other.source):
        return None
    return unified_diff(one.source, other.source, first, name)
