"""Runs or candidates side by side as one HTML page: table, curves, difference with its interval, distance, code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewardgen.core.statistics import interquartile_mean
from rewardgen.critic.sandboxed import RewardPair
from rewardgen.report.rendering import render_page, rounded
from rewardgen.store.records import CandidateResult
from rewardgen.view.differences import common_phase, differences, result_of
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
    phase = common_phase(sides)
    results = [result_of(side, phase) for side in sides]
    apart: list[dict[str, Any]] = []
    apart_from_first = zip(names[1:], sides[1:], distances, differences(sides, facts), strict=True)
    for name, side, distance, (difference, tone) in apart_from_first:
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


def _diff(one: Reference, other: Reference, first: str, name: str) -> str | None:
    if not (one.has_reward and other.has_reward and one.source and other.source):
        return None
    return unified_diff(one.source, other.source, first, name)
