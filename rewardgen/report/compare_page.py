"""Runs or candidates side by side as one HTML page: table, curves, difference with its interval, distance, code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rewardgen.core.formatting import number, percent, with_interval
from rewardgen.core.statistics import difference_interval, interquartile_mean
from rewardgen.critic.sandboxed import Comparison
from rewardgen.report.rendering import render_page, rounded
from rewardgen.store.history import Phase
from rewardgen.store.records import CandidateResult
from rewardgen.view.facts import (
    DISTANCE_SCALE,
    NO_DISTANCE,
    CandidateFacts,
    RunFacts,
    distance_text,
    names_of,
    table,
)
from rewardgen.view.lineage import unified_diff
from rewardgen.view.reference import Reference


class Apart(NamedTuple):
    """Differences of one side from the first."""

    name: str
    difference: str
    """Difference of the mean fitness, in a sentence."""
    tone: str
    distance: str
    components: tuple[tuple[str, str, str, str], ...] = ()
    """Component: its share in the first reward, in the other, and the distance between the two."""
    diff: str | None = None
    """Change of the code; None if a side has none."""


def compare_html(
    sides: Sequence[Reference],
    facts: Sequence[RunFacts] | Sequence[CandidateFacts],
    told: Sequence[str],
    distances: Sequence[Comparison | str],
) -> str:
    """The page.

    Args:
        sides: Two or more; all are compared with the first.
        facts: Facts of each side.
        told: Sentences on what makes them incomparable.
        distances: Distance of each other side from the first, or why it is unknown.
    """
    names = names_of(facts)
    phase: Phase = "final" if all(_result(each, "final") for each in sides) else "search"
    results = [_result(each, phase) for each in sides]
    apart = [
        Apart(
            name,
            *(_difference(names[0], name, results[0], result) if _task(side) == _task(sides[0]) else _UNLIKE),
            *_distance(found),
            diff=_diff(sides[0], side, names[0], name),
        )
        for name, side, result, found in zip(names[1:], sides[1:], results[1:], distances, strict=True)
    ]
    data = {"sides": [_curves(name, each) for name, each in zip(names, results, strict=True)], "blocks": {}}
    values: dict[str, Any] = {
        "names": names,
        "rows": table(facts),
        "told": told,
        "apart": apart,
        "phase": "the fresh seeds" if phase == "final" else "the seeds of the search",
        "scale": DISTANCE_SCALE,
    }
    return render_page("compare", data | {"diffs": [each.diff for each in apart]}, ("compare.js",), **values)


_UNLIKE = ("They are of different tasks.", "open")


def _task(side: Reference) -> str:
    return side.history.card.name if side.history.card else ""


def _result(side: Reference, phase: Phase) -> CandidateResult | None:
    return side.history.result(phase, side.candidate) if side.has_reward else None


def _curves(name: str, result: CandidateResult | None) -> dict[str, Any]:
    slices = result.slices if result else ()
    values = [*result.by_seed.values()] if result else []
    return {
        "id": name,
        "seeds": [rounded(each) for each in values],
        "value": rounded(interquartile_mean(values)) if values else None,
        "curves": [
            {"seed": each.seed, "points": [[at.env_steps, rounded(at.fitness)] for at in each.curve]}
            for each in slices
            if each.curve
        ],
    }


def _difference(
    first: str, other: str, one: CandidateResult | None, another: CandidateResult | None
) -> tuple[str, str]:
    """The difference of the other side's fitness in words, and its tone."""
    own, bar = ([*each.by_seed.values()] if each else [] for each in (another, one))
    if min(len(own), len(bar)) < 2:
        return f"{other} and {first} cannot be compared: that takes two seeds of each.", "open"
    found = difference_interval(own, bar)
    difference = with_interval(found).replace("-", "−")
    if found.low <= 0.0 <= found.high:
        most = number(max(-found.low, found.high))
        return f"{other} is within noise of {first}: {difference}, no difference larger than {most}.", "mixed"
    words, tone = ("better", "good") if found.value > 0 else ("worse", "bad")
    return f"{other} is {words} than {first}: {difference}.", tone


def _distance(found: Comparison | str) -> tuple[str, tuple[tuple[str, str, str, str], ...]]:
    if isinstance(found, str):
        return found, ()
    told = NO_DISTANCE if found.distance is None else f"Canonical distance {distance_text(found.distance)}"
    first, second = found.shares
    rows = []
    for name in dict.fromkeys((*first, *second)):
        apart = found.same_name.get(name)
        rows.append(
            (name, percent(first.get(name)), percent(second.get(name)), "" if apart is None else f"{apart:.3f}")
        )
    return told, tuple(rows)


def _diff(one: Reference, other: Reference, first: str, name: str) -> str | None:
    if not (one.has_reward and other.has_reward and one.source and other.source):
        return None
    return unified_diff(one.source, other.source, first, name)
