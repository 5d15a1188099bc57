"""Reports of benchmarks: numbers with their spread over repetitions, next to their targets.

A ratio is computed within each repetition, where its two sides ran right after each other, so that a machine that is
slow for a while is slow for both.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from rewardgen.core.schema import Frozen
from rewardgen.core.statistics import Interval

Say = Callable[[str], None]
"""Told what goes on, for the user to read meanwhile."""


class Figure(Frozen):
    """One number, measured in each repetition.

    Attributes:
        name: What it is, such as `ours / C loop`.
        subject: What it was measured on, such as `hopper`.
        unit: `x` for a ratio, `%`, `/s` for control steps per second, `s`, `MiB`; empty for a plain number.
        values: One per repetition, in their order; at least one.
        target: What the median should reach; None where nothing is promised.
        at_most: Whether the target is an upper limit.
    """

    name: str
    subject: str
    unit: str
    values: tuple[float, ...]
    target: float | None = None
    at_most: bool = False

    @property
    def median(self) -> float:
        """The middle one of the repetitions."""
        return statistics.median(self.values)

    @property
    def reached(self) -> bool | None:
        """True if the median reaches the target; None without one."""
        if self.target is None:
            return None
        return self.median <= self.target if self.at_most else self.median >= self.target


class Report(Frozen):
    """Figures of one benchmark.

    Attributes:
        bench: The benchmark.
        settings: What it was asked to do.
        figures: What it measured.
        notes: What a reader has to know to trust the numbers.
        intervals: Interquartile means over seeds with their bootstrap 95 % intervals, by name.
    """

    bench: str
    settings: dict[str, str | int | float | bool]
    figures: tuple[Figure, ...]
    notes: tuple[str, ...] = ()
    intervals: dict[str, Interval] = {}

    def as_json(self) -> dict[str, object]:
        """JSON-ready data, with the median, the spread and the verdict of each figure."""
        return {
            "bench": self.bench,
            "settings": self.settings,
            "figures": [_as_json(each) for each in self.figures],
            "notes": list(self.notes),
            "intervals": {name: each.model_dump() for name, each in self.intervals.items()},
        }


def _as_json(figure: Figure) -> dict[str, object]:
    spread = {"median": figure.median, "min": min(figure.values), "max": max(figure.values)}
    return {**figure.model_dump(mode="json"), **spread, "reached": figure.reached}


def told(name: str, interval: Interval) -> str:
    """An estimate in a line."""
    return f"{name}: {interval.value:.3g} [{interval.low:.3g}, {interval.high:.3g}]"


def ratio(
    name: str, subject: str, over: Sequence[float], under: Sequence[float], target: float | None = None
) -> Figure:
    """A ratio, repetition by repetition.

    Args:
        name: What over what.
        subject: What it was measured on.
        over: Numerators, one per repetition.
        under: Denominators, likewise.
        target: What the median should reach.
    """
    values = tuple(a / b for a, b in zip(over, under, strict=True))
    return Figure(name=name, subject=subject, unit="x", values=values, target=target)
