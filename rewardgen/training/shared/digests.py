"""Summary of one slice's evaluation: curve point, component statistics, and the best, median and worst episode.

Shapes: T steps, E episodes of the slice, R rows of a table of episodes, M pairs of neighbouring steps.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from rewardgen.reward.contract import Components
from rewardgen.sim.episodes import ending_shares
from rewardgen.sim.moments import choose_moments, crossings, row_values, spans, unwrapped
from rewardgen.sim.vec_env import HIDDEN
from rewardgen.store.measurements import (
    ComponentPoint,
    EpisodeDigest,
    EpisodeRow,
    EvaluationPoint,
    PathEfficiency,
    StageReading,
    Stay,
    Swing,
)
from rewardgen.training.evaluation import Evaluation

_NEARLY_ZERO = 0.01
"""Share of a component's largest magnitude below which it counts as inactive."""
_AT_BEST = 0.05
"""Distance from a component's largest value, relative to its range, within which it counts as saturated."""
_MOMENTS = 6
"""Most times at which an episode is read."""
_TO_AND_FRO = 4
"""Least crossings of its middle with which a row counts as swinging: two periods."""
_FOLLOWS = 0.5
"""Least correlation at which a component follows a variable's change."""
_STAYS = 64
"""Most binary variables in an episode's digest."""


@dataclass(frozen=True)
class SliceEvaluation:
    """The evaluation of one slice."""

    variables: Mapping[str, Tensor]  # name to (T, E, ...)
    components: Mapping[str, Tensor]  # name to (T, E)
    lengths: Tensor  # control steps of each episode, (E,)
    fitness: Tensor
    success: Tensor
    endings: Sequence[str]
    parts: Mapping[str, Tensor]  # name of each part of the fitness to (E,)
    rows: Sequence[EpisodeRow]  # of a table of these episodes
    leading: Collection[str]  # variables whose changes decide when an episode is read
    control_step_s: float
    agents: Sequence[str] = ()  # of a game, whose episodes follow each other
    stage: Tensor | None = None  # of the reward after each step, (T, E)

    @property
    def mask(self) -> Tensor:
        """Steps within the episodes, (T, E) bool."""
        steps = len(next(iter(self.variables.values())))
        return torch.arange(steps, device=self.lengths.device).unsqueeze(1) < self.lengths

    @property
    def returns(self) -> dict[str, Tensor]:
        """Sum of each component over each episode, (E,) float64."""
        return {name: (value.double() * self.mask).sum(0) for name, value in self.components.items()}


def of_slice(
    evaluation: Evaluation,
    components: Components,
    index: int,
    episodes: int,
    rows: Sequence[EpisodeRow],
    leading: Collection[str],
    agents: Sequence[str],
) -> SliceEvaluation:
    """Return the part of an evaluation that belongs to the slice `index`, with its components."""
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
        agents=agents,
        stage=None if components.stage is None else components.stage[: len(episode.mask)],
    )


def stage_readings(evaluation: SliceEvaluation, stages: int) -> tuple[StageReading, ...]:
    """Return when and for how long the episodes are in each stage; none without stages."""
    if evaluation.stage is None:
        return ()
    mask, lengths = evaluation.mask, evaluation.lengths
    last = evaluation.stage.gather(0, (lengths - 1).unsqueeze(0))[0]
    readings = []
    for stage in range(stages):
        inside = (evaluation.stage == stage) & mask
        entered = inside.any(0)
        # The first stage begins with the episode, any other after a step.
        first = inside.int().argmax(0)[entered].double().median() + (stage > 0) if bool(entered.any()) else None
        readings.append(
            StageReading(
                entered=float(entered.double().mean()),
                first_s=None if first is None else float(first) * evaluation.control_step_s,
                time=float(inside.sum() / mask.sum()),
                last=float((last == stage).double().mean()),
            )
        )
    return tuple(readings)


def evaluation_point(
    evaluation: SliceEvaluation, env_steps: int, clipped: float = 0.0, bonus: float = 0.0
) -> EvaluationPoint:
    """Return the point on the slice's learning curve; `clipped` and `bonus` are as in `EvaluationPoint`."""
    returns = sum(evaluation.returns.values(), torch.zeros_like(evaluation.lengths, dtype=torch.float64))
    return EvaluationPoint(
        env_steps=env_steps,
        fitness=float(evaluation.fitness.mean()),
        success_rate=float(evaluation.success.double().mean()),
        episode_steps=float(evaluation.lengths.double().mean()),
        episode_return=float(returns.mean()),
        fitness_spread=_standard_error(evaluation.fitness),
        return_spread=_standard_error(returns),
        return_correlation=_correlation(returns, evaluation.fitness),
        clipped=clipped,
        bonus=bonus,
        endings=ending_shares(evaluation.endings),
    )


def _standard_error(values: Tensor) -> float:
    """Standard error of the mean of (E,); 0 for a single episode."""
    return float(values.double().std(correction=0)) / math.sqrt(max(len(values) - 1, 1))


def component_points(evaluation: SliceEvaluation, env_steps: int) -> dict[str, ComponentPoint]:
    """Return the statistics of every component over the steps of the episodes."""
    mask = evaluation.mask
    alive = {name: value.double()[mask] for name, value in evaluation.components.items()}
    magnitude = {name: float(value.abs().sum()) for name, value in alive.items()}
    whole, returns = sum(magnitude.values()), evaluation.returns
    return {
        name: ComponentPoint(
            env_steps=env_steps,
            mean=float(value.mean()),
            std=float(value.std(correction=0)),
            share=magnitude[name] / whole if whole else 0.0,
            activation=float((value.abs() > _NEARLY_ZERO * value.abs().max()).double().mean()),
            fitness_correlation=_correlation(returns[name] / evaluation.lengths, evaluation.fitness),
            saturation=_saturation(value),
        )
        for name, value in alive.items()
    }


def credits(evaluation: SliceEvaluation) -> dict[str, dict[str, float]]:
    """Return each component's mean return per agent; empty for one agent."""
    agents = evaluation.agents
    owners = [agents[row % len(agents)] for row in range(len(evaluation.lengths))] if agents else []
    returns = evaluation.returns
    return {
        agent: {name: float(values[[owner == agent for owner in owners]].mean()) for name, values in returns.items()}
        for agent in dict.fromkeys(owners)
    }


def _saturation(values: Tensor) -> float:
    highest = values.max()
    return float((values >= highest - _AT_BEST * (highest - values.min())).double().mean())


def _correlation(first: Tensor, second: Tensor) -> float | None:
    """Pearson correlation of (E,) and (E,); None if one is constant up to rounding."""
    one, other = _standardised(torch.stack((first.double(), second.double())))
    return max(-1.0, min(1.0, float(one @ other))) if one.any() and other.any() else None


def episode_digests(evaluation: SliceEvaluation) -> tuple[EpisodeDigest, ...]:
    """Return the best, the median and the worst episode by fitness."""
    order: list[int] = evaluation.fitness.argsort(descending=True, stable=True).tolist()
    ranks: tuple[Literal["best", "median", "worst"], ...] = ("best", "median", "worst")
    chosen = (order[0], order[(len(order) - 1) // 2], order[-1])
    table = torch.stack([row_values(evaluation.variables[row.variable], row.part) for row in evaluation.rows], -1)
    span = spans(table[evaluation.mask], [row.variable for row in evaluation.rows], evaluation.leading)
    binary = _switches(evaluation)
    digests = []
    for rank, episode in zip(ranks, chosen, strict=True):
        length = int(evaluation.lengths[episode])
        readings = table[:length, episode]
        steps = choose_moments(readings, span, _MOMENTS)
        columns = readings[steps].T.tolist()
        components = {name: values[:, episode] for name, values in evaluation.components.items()}
        parts = {name: float(values[episode]) for name, values in evaluation.parts.items()}
        switches = {name: values[:length, episode] for name, values in binary.items()}
        digests.append(
            EpisodeDigest(
                rank=rank,
                fitness=float(evaluation.fitness[episode]),
                success=bool(evaluation.success[episode]),
                steps=length,
                ending=evaluation.endings[episode],
                times_s=tuple(_time(step + 1, evaluation) for step in steps),
                variables={row.title: tuple(values) for row, values in zip(evaluation.rows, columns, strict=True)},
                components={name: tuple(values[steps].tolist()) for name, values in components.items()},
                parts={name: value for name, value in parts.items() if math.isfinite(value)},
                stays={name: _stay(on, evaluation) for name, on in switches.items() if bool(on.any())},
                swings=_swings(readings, span, evaluation),
            )
        )
    return tuple(digests)


def _swings(readings: Tensor, span: Tensor, evaluation: SliceEvaluation) -> dict[str, Swing]:
    """Return the leading rows of one episode (T, R), those with a span (R,), that go to and fro."""
    swings, followed = {}, unwrapped(readings)
    for place in span.nonzero()[:, 0].tolist():
        values = followed[:, place]
        if (count := crossings(values)) >= _TO_AND_FRO:
            swing = Swing(low=float(values.min()), high=float(values.max()), crossings=count)
            swings[evaluation.rows[place].title] = swing
    return swings


def _switches(evaluation: SliceEvaluation) -> dict[str, Tensor]:
    """Return the scalar variables that are 0 or 1 at every step of all episodes, (T, E) bool."""
    scalars = {name: value for name, value in evaluation.variables.items() if value.dim() == 2}
    binary = [name for name, value in scalars.items() if bool(((value == 0) | (value == 1))[evaluation.mask].all())]
    return {name: scalars[name] == 1 for name in binary[:_STAYS]}


def _stay(on: Tensor, evaluation: SliceEvaluation) -> Stay:
    """Summarise when (T,) bool was true; it is true somewhere."""
    edge = on.new_zeros(1)
    changes = torch.cat([edge, on, edge]).int().diff()
    begins, ends = (changes == 1).nonzero()[:, 0], (changes == -1).nonzero()[:, 0]
    return Stay(
        first=_time(int(begins[0]) + 1, evaluation),
        visits=len(begins),
        longest_s=_time(int((ends - begins).max()), evaluation),
        last_left=None if bool(on[-1]) else _time(int(ends[-1]) + 1, evaluation),
    )


def _time(steps: int, evaluation: SliceEvaluation) -> float:
    return round(steps * evaluation.control_step_s, 6)


def path_efficiencies(
    variables: Mapping[str, Tensor], components: Mapping[str, Tensor], lengths: Tensor
) -> tuple[PathEfficiency, ...]:
    """Find for each component the scalar variable whose change, or size of change, it follows most, if any.

    Takes variables (T, E, ...), of which vectors are ignored, components (T, E), and lengths (E,) in control steps.
    """
    scalars = {name: unwrapped(value.double()) for name, value in variables.items() if value.dim() == 2}
    inside = torch.arange(1, int(lengths.max()), device=lengths.device).unsqueeze(1) < lengths
    if not scalars or not components or not bool(inside.any()):
        return ()
    steps = len(inside)
    changes = torch.stack([value.diff(dim=0)[:steps] for value in scalars.values()])
    earned = torch.stack([value.double()[1 : steps + 1] for value in components.values()])
    # A reward for standing still follows the size of a change alone.
    sizes = _correlations(earned[:, inside], changes.abs()[:, inside])
    follows = torch.maximum(_correlations(earned[:, inside], changes[:, inside]).abs(), sizes)
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
