"""`runs compare`: runs, or candidates, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from rewardgen.core.formatting import percent
from rewardgen.ui.show import diff_code, section
from rewardgen.ui.tables import plain_table
from rewardgen.view.comparison import (
    DISTANCE_SCALE,
    NO_DISTANCE,
    CandidateFacts,
    RunFacts,
    distance_text,
    names_of,
    table,
)
from rewardgen.view.lineage import unified_diff


def runs_page(runs: Sequence[RunFacts], told: Sequence[str]) -> RenderableType:
    """Runs side by side.

    Args:
        runs: Two or more.
        told: What keeps them from being compared.
    """
    return _side_by_side(runs, told)


def candidates_page(
    candidates: Sequence[CandidateFacts], sources: Sequence[str], told: Sequence[str]
) -> RenderableType:
    """Candidates side by side, and the change from the first one's code to that of each other.

    Args:
        candidates: Two or more.
        sources: Their code.
        told: What keeps them from being compared.
    """
    names, parts = names_of(candidates), list[RenderableType]()
    for name, source in zip(names[1:], sources[1:], strict=True):
        diff = unified_diff(sources[0], source, names[0], name)
        change = diff_code(diff) if diff else Text("none: the code is the same")
        parts += section(f"Change from {names[0]} to {name}", change)
    return Group(_side_by_side(candidates, told), *parts)


def _side_by_side(facts: Sequence[RunFacts] | Sequence[CandidateFacts], told: Sequence[str]) -> Group:
    shown = plain_table("", *(each.id for each in facts))
    for name, texts in table(facts):
        shown.add_row(name, *texts)
    return Group(shown, *(Text(f"\n{each}", "yellow") for each in told))


def rewards_page(
    distance: float | None,
    shares: tuple[Mapping[str, float], Mapping[str, float]],
    same: Mapping[str, float | None],
    title: str = "Rewards",
) -> RenderableType:
    """How far two rewards are from each other, and their components.

    Args:
        distance: Their canonical distance; None if one of them does not vary.
        shares: For each of them, component to its share of the reward's variation.
        same: Components of both to the distance between the two.
        title: What stands above it.
    """
    first, second = shares
    numbers = ("in the first", "in the second", "distance")
    table = plain_table("component", *numbers, right=numbers)
    for name in dict.fromkeys((*first, *second)):
        apart = same.get(name)
        told = "" if apart is None else f"{apart:.3f}"
        table.add_row(name, percent(first.get(name)), percent(second.get(name)), told)
    about = Text("Shares of what varies in each reward; distances of components with the same name.", "dim")
    whole = Text(NO_DISTANCE)
    if distance is not None:
        whole = Text.assemble("canonical distance ", (distance_text(distance), "bold"))
        whole.append(f"  ({DISTANCE_SCALE})", "dim")
    return Group(*section(title, Group(whole, Text(), table, about)))
