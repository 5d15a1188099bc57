"""What an evaluation of one slice says: component statistics, endings, and its best, median and worst episode.

Shapes: T steps, E episodes of the slice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from rewardgen.store.measurements import ComponentPoint, EpisodeDigest, EvaluationPoint
from rewardgen.training.evaluation import Evaluation

_NEARLY_ZERO = 0.01
"""Of a component's largest magnitude in the evaluation."""
_AT_BEST = 0.05
"""Distance from a component's largest value that counts as saturated, relative to its range in the evaluation."""
_MOMENTS = 6
"""Fixed times at which an episode is read, its last step among them."""


@dataclass(frozen=True)
class SliceEvaluation:
    """The evaluation of one slice.

    Args:
        variables: Variable name to (T, E, ...).
        components: Component name to (T, E).
        lengths: Control steps of each episode, (E,).
        fitness: (E,).
        success: (E,) bool.
        endings: What ended each episode.
        control_step_s: Duration of a control step [s].
    """

    variables: Mapping[str, Tensor]
    components: Mapping[str, Tensor]
    lengths: Tensor
    fitness: Tensor
    success: Tensor
    endings: Sequence[str]
    control_step_s: float

    @property
    def mask(self) -> Tensor:
        """(T, E) bool: the steps that belong to the episodes."""
        steps = len(next(iter(self.variables.values())))
        return torch.arange(steps, device=self.lengths.device).unsqueeze(1) < self.lengths


def of_slice(evaluation: Evaluation, components: Mapping[str, Tensor], index: int, episodes: int) -> SliceEvaluation:
    """One slice's part of an evaluation.

    Args:
        evaluation: The evaluation of all slices.
        components: The slice's components, name to (T, E).
        index: Which slice.
        episodes: E, episodes per slice.
    """
    part = slice(index * episodes, (index + 1) * episodes)
    episode = evaluation.recording.episode.of_worlds(part)
    return SliceEvaluation(
        variables=dict(episode),
        components={name: value[: len(episode.mask)] for name, value in components.items()},
        lengths=episode.lengths,
        fitness=evaluation.fitness[part],
        success=evaluation.success[part],
        endings=evaluation.recording.endings[part],
        control_step_s=episode.control_step_s,
    )


def evaluation_point(found: SliceEvaluation, env_steps: int) -> EvaluationPoint:
    """The point on the slice's learning curve."""
    mask = found.mask
    returns = sum((value.double() * mask for value in found.components.values()), torch.zeros_like(mask.double())).sum(
        0
    )
    return EvaluationPoint(
        env_steps=env_steps,
        fitness=float(found.fitness.mean()),
        success_rate=float(found.success.double().mean()),
        episode_steps=float(found.lengths.double().mean()),
        episode_return=float(returns.mean()),
        fitness_spread=_standard_error(found.fitness),
        return_spread=_standard_error(returns),
        return_correlation=_correlation(returns, found.fitness),
        success_correlation=_correlation(returns, found.success),
    )


def _standard_error(values: Tensor) -> float:
    """Of the mean of (E,); 0 for a single episode."""
    return float(values.double().std(correction=0)) / math.sqrt(max(len(values) - 1, 1))


def component_points(found: SliceEvaluation, env_steps: int) -> dict[str, ComponentPoint]:
    """Statistics of every component over the steps of the episodes."""
    mask = found.mask
    alive = {name: value.double()[mask] for name, value in found.components.items()}
    magnitude = {name: float(value.abs().sum()) for name, value in alive.items()}
    whole = sum(magnitude.values())
    return {
        name: ComponentPoint(
            env_steps=env_steps,
            mean=float(value.mean()),
            std=float(value.std(correction=0)),
            share=magnitude[name] / whole if whole else 0.0,
            activation=float((value.abs() > _NEARLY_ZERO * value.abs().max()).double().mean()),
            fitness_correlation=_correlation(_episode_means(found, name), found.fitness),
            saturation=_saturation(value),
        )
        for name, value in alive.items()
    }


def _saturation(values: Tensor) -> float:
    highest = values.max()
    return float((values >= highest - _AT_BEST * (highest - values.min())).double().mean())


def _episode_means(found: SliceEvaluation, name: str) -> Tensor:
    return (found.components[name].double() * found.mask).sum(0) / found.lengths


def _correlation(first: Tensor, second: Tensor) -> float | None:
    """Pearson correlation of (E,) and (E,); None where one is constant up to rounding."""
    pair = [each.double() - each.double().mean() for each in (first, second)]
    norms = [float(each.norm()) for each in pair]
    sizes = [float(each.double().norm()) for each in (first, second)]
    if any(norm <= 1e-6 * size for norm, size in zip(norms, sizes, strict=True)):
        return None
    return max(-1.0, min(1.0, float(pair[0] @ pair[1]) / (norms[0] * norms[1])))


def episode_digests(found: SliceEvaluation) -> tuple[EpisodeDigest, ...]:
    """The best, the median and the worst episode by fitness."""
    order = found.fitness.argsort(descending=True, stable=True).tolist()
    ranks: tuple[Literal["best", "median", "worst"], ...] = ("best", "median", "worst")
    chosen = (order[0], order[(len(order) - 1) // 2], order[-1])
    return tuple(_digest(found, rank, episode) for rank, episode in zip(ranks, chosen, strict=True))


def _digest(found: SliceEvaluation, rank: Literal["best", "median", "worst"], episode: int) -> EpisodeDigest:
    last = int(found.lengths[episode]) - 1
    steps = torch.linspace(0, last, _MOMENTS, device=found.lengths.device).round().long().unique()
    return EpisodeDigest(
        rank=rank,
        fitness=float(found.fitness[episode]),
        success=bool(found.success[episode]),
        steps=last + 1,
        ending=found.endings[episode],
        times_s=tuple(round((step + 1) * found.control_step_s, 6) for step in steps.tolist()),
        variables={name: _readings(value[steps, episode]) for name, value in found.variables.items()},
        components={name: _readings(value[steps, episode]) for name, value in found.components.items()},
    )


def _readings(values: Tensor) -> tuple[float, ...]:
    """Values (M,) as they are, vectors (M, k) by their norm."""
    return tuple((values if values.dim() == 1 else values.flatten(1).norm(dim=1)).tolist())
