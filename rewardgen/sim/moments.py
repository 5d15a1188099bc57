"""Choice of the moments that describe an episode: between them, values change most nearly linearly.

Shapes: T steps of an episode, R rows of the episode's table, S steps of all episodes of a report.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import torch
from torch import Tensor

_APART = 0.01
"""Least distance of two moments, relative to the episode's length."""
_CLEARLY = 0.1
"""Least distance from the middle of a range, relative to the range, that counts as a side of the middle."""
_SEAM = 0.4
"""Distance from pi that the largest value of an angle that wraps must reach [rad]."""
_STRAIGHT = 0.03
"""Distance from a straight line, relative to the span, that needs no further moment."""


def row_values(values: Tensor, part: int | None) -> Tensor:
    """Return a row of a table of episodes, (T, N): a part of a variable (T, N, ...); of a vector, None is the norm."""
    if values.dim() == 2:
        return values
    flat = values.flatten(2)
    return flat.norm(dim=2) if part is None else flat[:, :, part]


def spans(series: Tensor, owners: Sequence[str], leading: Collection[str]) -> Tensor:
    """Return the ranges of the rows (S, R) that decide the moments, (R,) float64; 0 for all other rows.

    Those are the rows of `leading` variables; `owners` are the variables of all rows. The parts of a vector share their
    widest range, so that a tremble of one part beside metres of another has no weight. Rows that are 0 or 1 throughout,
    constant up to rounding, or not finite do not count.
    """
    low, high = series.double().aminmax(dim=0)
    span = high - low
    switches = ((series == 0) | (series == 1)).all(0)
    counts = span.isfinite() & ~switches & (span > 1e-6 * torch.maximum(low.abs(), high.abs()))
    span = span.where(counts, 0.0)
    for owner in set(owners):
        rows = torch.tensor([name == owner for name in owners], device=series.device)
        span = span.where(~rows | (span == 0), span[rows].max() if owner in leading else 0.0)
    return span


def leading_variables(units: Mapping[str, str]) -> set[str]:
    """Return the variables that decide the moments: states, because rates jump at contacts; without a state, all."""
    return {name for name, unit in units.items() if "/s" not in unit} or {*units}


def unwrapped(series: Tensor) -> Tensor:
    """Follow angles that jump between pi and -pi beyond these; takes and returns rows (T, R), the others unchanged."""
    jumps = series.diff(dim=0)
    wraps = ((series.abs().amax(0) - math.pi).abs() < _SEAM) & (jumps.abs() > math.pi).any(0)
    turns = (jumps / (2.0 * math.pi)).round().where(wraps, 0.0).cumsum(0)
    return series - 2.0 * math.pi * torch.cat((torch.zeros_like(series[:1]), turns))


def crossings(values: Tensor) -> int:
    """Count how often values (T,) change from clearly below the middle of their range to clearly above, or back."""
    low, high = values.min(), values.max()
    place = values - (low + high) / 2
    sides = place[place.abs() > _CLEARLY * (high - low)].sign()
    return int((sides.diff() != 0).sum())


def choose_moments(series: Tensor, span: Tensor, most: int) -> list[int]:
    """Choose the first step, the last, then repeatedly the step at which a row is farthest from linear interpolation.

    Takes rows of one episode, (T, R), and their spans, (R,), 0 for rows that do not count. Returns `most` >= 2 step
    indices in order; fewer if all rows are nearly linear between the moments.
    """
    rows = span > 0
    scaled = unwrapped(series[:, rows].double()) / span[rows]
    chosen, gap = sorted({0, len(series) - 1}), round(_APART * len(series))
    while len(chosen) < min(most, len(series)) and scaled.shape[1]:
        missed = (scaled - _between(scaled, chosen)).abs().amax(1)
        for step in chosen:
            missed[max(0, step - gap) : step + gap + 1] = 0.0
        farthest = int(missed.argmax())
        if float(missed[farthest]) <= _STRAIGHT:
            break
        chosen = sorted({*chosen, farthest})
    return chosen


def _between(series: Tensor, chosen: Sequence[int]) -> Tensor:
    """Interpolate (T, R) linearly between some steps."""
    knots = torch.tensor(chosen, device=series.device)
    steps = torch.arange(len(series), device=series.device)
    left = (torch.searchsorted(knots, steps, right=True) - 1).clamp(max=len(knots) - 2)
    start, end = knots[left], knots[left + 1]
    way = ((steps - start) / (end - start)).unsqueeze(1)
    return series[start].lerp(series[end], way.double())
