"""What evaluations read off a policy and its reward: learning curves, component statistics, single episodes."""

from __future__ import annotations

from typing import Literal

from rewardgen.core.schema import Frozen

TIME_LIMIT = "time limit"
"""How an episode ended that no termination condition ended."""


class EvaluationPoint(Frozen):
    """One evaluation phase of one slice: deterministic policy, worlds of its own, means over episodes."""

    env_steps: int
    fitness: float
    success_rate: float
    episode_steps: float
    episode_return: float
    """Sum of the generated reward over an episode."""
    fitness_spread: float = 0.0
    """Standard error of the fitness over the episodes."""
    return_spread: float = 0.0
    """The same of the return."""
    return_correlation: float | None = None
    """Pearson correlation of the return with the fitness over the episodes; None where either is constant."""
    success_correlation: float | None = None
    """The same of the return with success (0 or 1)."""


class ComponentPoint(Frozen):
    """One component of the reward in one evaluation phase, over all control steps of its episodes."""

    env_steps: int
    mean: float
    std: float
    share: float
    """Its part of the summed absolute components, 0 to 1."""
    activation: float
    """Share of the steps at which it is not (nearly) zero."""
    fitness_correlation: float | None = None
    """Pearson correlation of its episode mean with the episode's fitness; None where either is constant."""
    saturation: float = 0.0
    """Share of the steps within a twentieth of its range of its largest value; 1 for a constant."""


class TrainingCurves(Frozen):
    """The course of a candidate's training: means over its seeds, at the evaluations that all of them reached."""

    seeds: int = 0
    """How many have an evaluation in common with the others."""
    curve: tuple[EvaluationPoint, ...] = ()
    components: dict[str, tuple[ComponentPoint, ...]] = {}
    """At least one point each, mean over the seeds that have the component."""
    terminations: dict[str, float] = {}
    """Share of the last evaluation's episodes that ended by each cause, largest first; `time limit` for the rest."""


class EarlyStop(Frozen):
    """Why a slice was stopped before it had all its steps: its reward rose while its fitness fell."""

    env_steps: int
    of_env_steps: int
    """Steps of the whole training."""
    return_from: float
    """Return per episode at the peak of the fitness."""
    return_to: float
    fitness_from: float
    fitness_to: float

    @property
    def message(self) -> str:
        """The reason in words, without a full stop."""
        rise = f"reward rose from {self.return_from:.3g} to {self.return_to:.3g}"
        fall = f"fitness fell from {self.fitness_from:.3g} to {self.fitness_to:.3g}"
        return f"{rise} while {fall}; stopped at step {self.env_steps} of {self.of_env_steps}"


class PathEfficiency(Frozen):
    """How a component is earned over the movement of the scalar variable whose change it follows most.

    Means over the episodes of one evaluation. A component that pays for net progress keeps as small a part of what it
    hands out as the variable keeps of its way; one that keeps all of it over a way back and forth is farmed.
    """

    component: str
    variable: str
    follows: float
    """Pearson correlation over the steps, of the component with the variable's change or the change's size; 0 to 1."""
    kept: float
    """Size of the component's sum over an episode, relative to its summed sizes; 0 to 1."""
    path: float
    """Summed sizes of the variable's changes over an episode, in its unit."""
    net: float
    """Size of its change from the first step to the last, in its unit."""


class IdleReading(Frozen):
    """What the reward pays a policy whose action is always zero: means over episodes."""

    episode_return: float
    episode_steps: float
    fitness: float


class EpisodeDigest(Frozen):
    """One evaluation episode in a few numbers, read at fixed times."""

    rank: Literal["best", "median", "worst"]
    fitness: float
    success: bool
    steps: int
    ending: str
    """The termination cause, or `time limit`."""
    times_s: tuple[float, ...]
    variables: dict[str, tuple[float, ...]]
    """Scalar variables, and vectors by their norm, at those times."""
    components: dict[str, tuple[float, ...]]
