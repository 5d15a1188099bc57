"""How components are earned along the path of the variables: net progress, or pacing back and forth.

Shapes: T steps, E episodes of the slice, M pairs of neighbouring steps within an episode.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from rewardgen.store.measurements import PathEfficiency

_FOLLOWS = 0.5
"""Least correlation at which a component follows a variable's change."""


def path_efficiencies(
    variables: Mapping[str, Tensor], components: Mapping[str, Tensor], lengths: Tensor
) -> tuple[PathEfficiency, ...]:
    """Find for each component the scalar variable whose change, or size of change, it follows most, if any.

    Args:
        variables: Variable name to (T, E, ...); vectors are ignored.
        components: Component name to (T, E).
        lengths: Control steps of each episode, (E,).
    """
    scalars = {name: value.double() for name, value in variables.items() if value.dim() == 2}
    inside = torch.arange(1, int(lengths.max()), device=lengths.device).unsqueeze(1) < lengths
    if not scalars or not components or not bool(inside.any()):
        return ()
    steps = len(inside)
    changes = torch.stack([value.diff(dim=0)[:steps] for value in scalars.values()])
    earned = torch.stack([value.double()[1 : steps + 1] for value in components.values()])
    follows = torch.maximum(
        _correlations(earned[:, inside], changes[:, inside]).abs(),
        _correlations(
            earned[:, inside], changes.abs()[:, inside]
        ),  # a reward for standing still follows the size alone
    )
    efficiencies = []
    for number, name in enumerate(components):
        best = int(follows[number].argmax())
        if float(follows[number, best]) >= _FOLLOWS:
            change = changes[best].where(inside, 0.0)
            efficiencies.append(
                PathEfficiency(
                    component=name,
                    variable=list(scalars)[best],
                    follows=min(1.0, float(follows[number, best])),
                    kept=_kept(earned[number].where(inside, 0.0)),
                    path=float(change.abs().sum(0).mean()),
                    net=float(change.sum(0).abs().mean()),
                )
            )
    return tuple(efficiencies)


def _correlations(rows: Tensor, columns: Tensor) -> Tensor:
    """Pearson correlations of (R, M) with (C, M), as (R, C); 0 where one is constant up to rounding."""
    return _standardised(rows) @ _standardised(columns).T


def _standardised(values: Tensor) -> Tensor:
    centred = values - values.mean(1, keepdim=True)
    norm = centred.norm(dim=1, keepdim=True)
    varies = norm > 1e-6 * values.norm(dim=1, keepdim=True)
    return torch.where(varies, centred / norm.clamp(min=1e-300), 0.0)


def _kept(earned: Tensor) -> float:
    """Size of a component's sum over an episode relative to the sum of its sizes; mean over episodes (T, E)."""
    gross = earned.abs().sum(0)
    parts = torch.where(gross > 0, earned.sum(0).abs() / gross.clamp(min=1e-300), 0.0)
    return min(1.0, float(parts.mean()))
