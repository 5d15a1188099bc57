"""What an evaluation of one slice says: component statistics, endings, and its best, median and worst episode.

Shapes: T steps, E episodes of the slice, R rows of a table of episodes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from rewardgen.sim.episodes import ending_shares
from rewardgen.sim.moments import choose_moments, crossings, row_values, spans
from rewardgen.sim.vec_env import HIDDEN
from rewardgen.store.episode_rows import Row
from rewardgen.store.measurements import ComponentPoint, EpisodeDigest, EvaluationPoint, Stay, Swing
from rewardgen.training.evaluation import Evaluation

_NEARLY_ZERO = 0.01
"""Of a component's largest magnitude in the evaluation."""
_AT_BEST = 0.05
"""Distance from a component's largest value that counts as saturated, relative to its range in the evaluation."""
_MOMENTS = 6
"""Times at which an episode is read at most."""
_TO_AND_FRO = 4
"""Crossings of its middle from which on a row goes to and fro: two periods."""
_STAYS = 64
"""Variables that are 0 or 1 of which an episode tells at most."""


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
        parts: Name of each part of the fitness to (E,).
        rows: Of a table of these episodes.
        leading: Variables that say when most changes.
        control_step_s: Duration of a control step [s].
        agents: Of a game, whose episodes follow each other; empty where each episode is by itself.
    """

    variables: Mapping[str, Tensor]
    components: Mapping[str, Tensor]
    lengths: Tensor
    fitness: Tensor
    success: Tensor
    endings: Sequence[str]
    parts: Mapping[str, Tensor]
    rows: Sequence[Row]
    leading: Collection[str]
    control_step_s: float
    agents: Sequence[str] = ()

    @property
    def mask(self) -> Tensor:
        """(T, E) bool: the steps that belong to the episodes."""
        steps = len(next(iter(self.variables.values())))
        return torch.arange(steps, device=self.lengths.device).unsqueeze(1) < self.lengths


def of_slice(
    evaluation: Evaluation,
    components: Mapping[str, Tensor],
    index: int,
    episodes: int,
    rows: Sequence[Row],
    leading: Collection[str],
) -> SliceEvaluation:
    """One slice's part of an evaluation.

    Args:
        evaluation: The evaluation of all slices.
        components: The slice's components, name to (T, E).
        index: Which slice.
        episodes: E, episodes per slice.
        rows: Of a table of episodes.
        leading: Variables that say when most changes in an episode.
    """
    part = slice(index * episodes, (index + 1) * episodes)
    episode = evaluation.recording.episode.of_envs(part)
    return SliceEvaluation(
        variables={name: values for name, values in episode.items() if name not in HIDDEN},
        components={name: value[: len(episode.mask)] for name, value in components.items()},
        lengths=episode.lengths,
        fitness=evaluation.fitness[part],
        success=evaluation.success[part],
        endings=evaluation.recording.endings[part],
        parts={name: values[part] for name, values in evaluation.parts.items()},
        rows=rows,
        leading=leading,
        control_step_s=episode.control_step_s,
    )


def evaluation_point(found: SliceEvaluation, env_steps: int, clipped: float = 0.0) -> EvaluationPoint:
    """The point on the slice's learning curve, with the part of the reward that the learner cut off before it."""
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
        clipped=clipped,
        endings=ending_shares(found.endings),
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


def credits(found: SliceEvaluation) -> dict[str, dict[str, float]]:
    """What each component pays each agent of a game in an episode, the mean over the games."""
    whose = [found.agents[row % len(found.agents)] for row in range(len(found.lengths))] if found.agents else []
    paid = {name: (value.double() * found.mask).sum(0) for name, value in found.components.items()}
    return {
        agent: {name: float(values[[each == agent for each in whose]].mean()) for name, values in paid.items()}
        for agent in dict.fromkeys(whose)
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
    order: list[int] = found.fitness.argsort(descending=True, stable=True).tolist()
    ranks: tuple[Literal["best", "median", "worst"], ...] = ("best", "median", "worst")
    chosen = (order[0], order[(len(order) - 1) // 2], order[-1])
    table = torch.stack([row_values(found.variables[row.variable], row.part) for row in found.rows], -1)
    span = spans(table[found.mask], [row.variable for row in found.rows], found.leading)
    switches = _switches(found)
    digests = []
    for rank, episode in zip(ranks, chosen, strict=True):
        length = int(found.lengths[episode])
        own = table[:length, episode]
        steps = choose_moments(own, span, _MOMENTS)
        read = own[steps].T.tolist()
        digests.append(
            EpisodeDigest(
                rank=rank,
                fitness=float(found.fitness[episode]),
                success=bool(found.success[episode]),
                steps=length,
                ending=found.endings[episode],
                times_s=tuple(_time(step + 1, found) for step in steps),
                variables={row.title: tuple(values) for row, values in zip(found.rows, read, strict=True)},
                components={name: tuple(value[steps, episode].tolist()) for name, value in found.components.items()},
                parts={
                    name: float(values[episode]) for name, values in found.parts.items() if values[episode].isfinite()
                },
                stays={
                    name: _stay(value[:length, episode], found)
                    for name, value in switches.items()
                    if bool(value[:length, episode].any())
                },
                swings=_swings(own, span, found),
            )
        )
    return tuple(digests)


def _swings(own: Tensor, span: Tensor, found: SliceEvaluation) -> dict[str, Swing]:
    """The rows of one episode (T, R) that say when most changes, by their spans (R,), and go to and fro."""
    counted = {place: crossings(own[:, place]) for place in span.nonzero()[:, 0].tolist()}
    return {
        found.rows[place].title: Swing(low=float(own[:, place].min()), high=float(own[:, place].max()), crossings=times)
        for place, times in counted.items()
        if times >= _TO_AND_FRO
    }


def _switches(found: SliceEvaluation) -> dict[str, Tensor]:
    """The scalar variables that are 0 or 1 at every step of all episodes, (T, E) bool."""
    lived = found.mask
    scalars = {name: value for name, value in found.variables.items() if value.dim() == 2}
    binary = [name for name, value in scalars.items() if bool(((value == 0) | (value == 1))[lived].all())]
    return {name: scalars[name] == 1 for name in binary[:_STAYS]}


def _stay(on: Tensor, found: SliceEvaluation) -> Stay:
    """When (T,) bool was true, which it is somewhere."""
    edge = on.new_zeros(1)
    changes = torch.cat([edge, on, edge]).int().diff()
    begins, ends = (changes == 1).nonzero()[:, 0], (changes == -1).nonzero()[:, 0]
    return Stay(
        first=_time(int(begins[0]) + 1, found),
        visits=len(begins),
        longest_s=_time(int((ends - begins).max()), found),
        last_left=None if bool(on[-1]) else _time(int(ends[-1]) + 1, found),
    )


def _time(steps: int, found: SliceEvaluation) -> float:
    return round(steps * found.control_step_s, 6)
