"""`runs compare`: two runs, or two candidates, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from rich.console import Group, RenderableType
from rich.text import Text

from rewardgen.core.formatting import percent
from rewardgen.core.readable import duration, money, number, tokens, with_spread
from rewardgen.store.facts import CandidateFacts, RunFacts
from rewardgen.store.lineage import unified_diff
from rewardgen.ui.show import diff_code, section
from rewardgen.ui.tables import plain_table

Facts = TypeVar("Facts", RunFacts, CandidateFacts)


def runs_page(one: RunFacts, other: RunFacts, told: Sequence[str]) -> RenderableType:
    """Two runs side by side.

    Args:
        one: A run.
        other: Another.
        told: What keeps them from being compared.
    """
    return _side_by_side(one, other, _RUN_ROWS, told)


def candidates_page(
    one: CandidateFacts, other: CandidateFacts, sources: tuple[str, str], told: Sequence[str]
) -> RenderableType:
    """Two candidates side by side, and the change from the first one's code to the second's.

    Args:
        one: A candidate.
        other: Another.
        sources: Their code.
        told: What keeps them from being compared.
    """
    names = (one.id, other.id) if one.id != other.id else (f"{one.run}:{one.id}", f"{other.run}:{other.id}")
    diff = unified_diff(*sources, *names)
    change = diff_code(diff) if diff else Text("none: the code is the same")
    title = f"Change from {names[0]} to {names[1]}"
    return Group(_side_by_side(one, other, _CANDIDATE_ROWS, told), *section(title, change))


def _side_by_side(one: Facts, other: Facts, cells: Mapping[str, Callable[[Facts], str]], told: Sequence[str]) -> Group:
    table = plain_table("", one.id, other.id)
    for name, cell in cells.items():
        first, second = cell(one), cell(other)
        if first or second:
            table.add_row(name, first, second)
    return Group(table, *(Text(f"\n{each}", "yellow") for each in told))


def rewards_page(
    distance: float | None, shares: tuple[Mapping[str, float], Mapping[str, float]], same: Mapping[str, float | None]
) -> RenderableType:
    """How far two rewards are from each other, and their components.

    Args:
        distance: Their canonical distance; None if one of them does not vary.
        shares: For each of them, component to its share of the reward's variation.
        same: Components of both to the distance between the two.
    """
    first, second = shares
    numbers = ("in the first", "in the second", "distance")
    table = plain_table("component", *numbers, right=numbers)
    for name in dict.fromkeys((*first, *second)):
        apart = same.get(name)
        told = "" if apart is None else f"{apart:.3f}"
        table.add_row(name, percent(first.get(name)), percent(second.get(name)), told)
    about = Text("Shares of what varies in each reward; distances of components with the same name.", "dim")
    whole = Text("One of the rewards does not vary on the recorded transitions: there is no distance.")
    if distance is not None:
        size = f"{distance:.3f}" if distance >= 0.001 or distance == 0 else f"{distance:.1g}"
        whole = Text.assemble("canonical distance ", (size, "bold"))
        whole.append("  (0: the same but for scale, shift and potential shaping; 1: opposite)", "dim")
    return Group(*section("Rewards", Group(whole, Text(), table, about)))


def _fitness(run: RunFacts) -> str:
    if run.fitness is None or run.fitness_low is None or run.fitness_high is None:
        return ""
    return f"{number(run.fitness)} [{number(run.fitness_low)}, {number(run.fitness_high)}]"


_RUN_ROWS: Mapping[str, Callable[[RunFacts], str]] = {
    "task": lambda run: run.task,
    "model": lambda run: run.model,
    "strategy": lambda run: run.strategy,
    "goal": lambda run: run.goal,
    "status": lambda run: run.status,
    "generations": lambda run: str(run.generations),
    "candidates": lambda run: f"{run.candidates}, {run.trained} trained",
    "chosen": lambda run: run.chosen or "none",
    "fitness (IQM)": _fitness,
    "success": lambda run: percent(run.success_rate),
    "human-normalised": lambda run: "" if run.human_normalised is None else f"{run.human_normalised:.2f}",
    "against human": lambda run: run.against_human or "",
    "fresh seeds": lambda run: str(run.seeds or ""),
    "steps per training": lambda run: f"{run.env_steps:,}",
    "steps in all": lambda run: f"{run.env_steps_in_all:,}",
    "tokens": lambda run: tokens(run.tokens) if run.tokens else "",
    "cost": lambda run: money(run.cost_usd),
    "time": lambda run: duration(run.elapsed_s),
}

_CANDIDATE_ROWS: Mapping[str, Callable[[CandidateFacts], str]] = {
    "run": lambda each: each.run,
    "origin": lambda each: f"{each.operator} of {' and '.join(each.parents)}" if each.parents else each.operator,
    "status": lambda each: each.status,
    "why": lambda each: each.reason,
    "fitness": lambda each: with_spread(each.fitness, each.spread),
    "success": lambda each: percent(each.success_rate),
    "on fresh seeds": lambda each: number(each.fresh_fitness),
    "components": lambda each: ", ".join(each.components),
}
