"""Choice of the moments by which an episode is described: those between which it runs straightest.

Shapes: T steps of an episode, R rows of its table, S steps of all episodes that are told together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import torch
from torch import Tensor

_APART = 0.01
"""Shortest time between two moments, relative to the episode's length."""
_CLEARLY = 0.1
"""Part of its range that a row is away from the middle of it, on either side, to count as on that side."""
_STRAIGHT = 0.03
"""Distance of all rows from a straight line, relative to their spans, that is not worth another moment."""


def row_values(values: Tensor, part: int | None) -> Tensor:
    """A row of a table of episodes, (T, N).

    Args:
        values: Of a variable, (T, N, ...).
        part: Which of its parts; None for a scalar, or the size of a vector.
    """
    if values.dim() == 2:
        return values
    flat = values.flatten(2)
    return flat.norm(dim=2) if part is None else flat[:, :, part]


def spans(series: Tensor, owners: Sequence[str], leading: Collection[str]) -> Tensor:
    """Ranges of the rows that show when most changes, (R,) float64; 0 for all others.

    The parts of a vector share the widest of their spans: the tremble of a height says nothing beside a way of metres.
    What is 0 or 1 throughout, constant up to rounding, or not finite at some step does not count.

    Args:
        series: (S, R).
        owners: Name of each row's variable.
        leading: Variables that say when most changes.
    """
    low, high = series.double().aminmax(dim=0)
    span = high - low
    switches = ((series == 0) | (series == 1)).all(0)
    counts = span.isfinite() & ~switches & (span > 1e-6 * torch.maximum(low.abs(), high.abs()))
    span = span.where(counts, 0.0)
    for owner in set(owners):
        own = torch.tensor([each == owner for each in owners], device=series.device)
        span = span.where(~own | (span == 0), span[own].max() if owner in leading else 0.0)
    return span


def leading_variables(units: Mapping[str, str]) -> set[str]:
    """The variables that say when most changes: states, for rates jump at every contact; rates where there is no other.

    Args:
        units: Name of each variable to its unit.
    """
    return {name for name, unit in units.items() if "/s" not in unit} or {*units}


def crossings(values: Tensor) -> int:
    """Count how often (T,) passes from clearly below the middle of its range to clearly above it, or back."""
    low, high = values.min(), values.max()
    place = values - (low + high) / 2
    sides = place[place.abs() > _CLEARLY * (high - low)].sign()
    return int((sides.diff() != 0).sum())


def choose_moments(series: Tensor, span: Tensor, most: int) -> list[int]:
    """The first step, the last, and one by one the step at which a row is farthest from straight lines between them.

    Args:
        series: The rows of one episode, (T, R).
        span: Of each row, (R,); those of 0 do not count.
        most: Moments at most, 2 or more.

    Returns:
        Steps from 0, in order; fewer than `most` if all rows run straight between them.
    """
    rows = span > 0
    scaled = series[:, rows].double() / span[rows]
    chosen, gap = sorted({0, len(series) - 1}), round(_APART * len(series))
    while len(chosen) < min(most, len(series)) and scaled.shape[1]:
        missed = (scaled - _between(scaled, chosen)).abs().amax(1)
        for each in chosen:  # two that lie side by side tell little more than one
            missed[max(0, each - gap) : each + gap + 1] = 0.0
        farthest = int(missed.argmax())
        if float(missed[farthest]) <= _STRAIGHT:
            break
        chosen = sorted({*chosen, farthest})
    return chosen


def _between(series: Tensor, chosen: Sequence[int]) -> Tensor:
    """Straight lines between some steps of (T, R)."""
    knots = torch.tensor(chosen, device=series.device)
    steps = torch.arange(len(series), device=series.device)
    left = (torch.searchsorted(knots, steps, right=True) - 1).clamp(max=len(knots) - 2)
    start, end = knots[left], knots[left + 1]
    way = ((steps - start) / (end - start)).unsqueeze(1)
    return series[start].lerp(series[end], way.double())
