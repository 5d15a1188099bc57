"""What evaluations read off a policy and its reward: learning curves, component statistics, single episodes.

They come from processes that ran generated code, so their types say what can be true at all; what depends on the job is
checked where they are received.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, FiniteFloat

from rewardgen.core.schema import Frozen
from rewardgen.store.episode_rows import MOST_ROWS

TIME_LIMIT = "time limit"
"""How an episode ended that no termination condition ended."""

Measure = Annotated[float, Field(ge=-1e100, le=1e100, allow_inf_nan=False)]
"""A number with room for sums of what a float32 holds; its square is still finite."""
Count = Annotated[int, Field(ge=0, le=1 << 62)]
Share = Annotated[float, Field(ge=-1e-6, le=1.0 + 1e-6, allow_inf_nan=False)]
"""From 0 to 1; a sum of parts may be off by a rounding."""
Correlation = Annotated[float, Field(ge=-1.0 - 1e-6, le=1.0 + 1e-6, allow_inf_nan=False)]
NAME = "[A-Za-z_][A-Za-z0-9_]{0,47}"
ComponentName = Annotated[str, Field(pattern=f"^{NAME}$")]
Parts = Annotated[dict[ComponentName, Share], Field(max_length=6)]
"""Mean of each part of a task's metric over episodes, as many as a metric may have."""
Range = tuple[FiniteFloat, FiniteFloat, FiniteFloat]
"""5 %, 50 % and 95 % quantile over the steps of episodes."""
Readings = Annotated[tuple[Measure, ...], Field(max_length=16)]


AgentName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,48}$")]
Credits = Annotated[dict[AgentName, dict[ComponentName, Measure]], Field(max_length=64)]
"""What each component pays each agent of a game in an episode; empty where each acts by itself."""


class EvaluationPoint(Frozen):
    """One evaluation phase of one slice: deterministic policy, envs of its own, means over episodes."""

    env_steps: Count
    fitness: Measure
    success_rate: Share
    episode_steps: Measure
    episode_return: Measure
    """Sum of the generated reward over an episode."""
    fitness_spread: Measure = 0.0
    """Standard error of the fitness over the episodes."""
    return_spread: Measure = 0.0
    """The same of the return."""
    return_correlation: Correlation | None = None
    """Pearson correlation of the return with the fitness over the episodes; None where either is constant."""
    success_correlation: Correlation | None = None
    """The same of the return with success (0 or 1)."""
    clipped: Share = 0.0
    """Part of the reward in training, by size, that the learner cut off since the evaluation before: what single steps
    pay beyond ten standard deviations of the discounted return."""
    endings: dict[str, Share] = Field(default={}, max_length=64)
    """Share of the episodes that ended by each cause; `time limit` for the rest. Empty in older runs."""


class ComponentPoint(Frozen):
    """One component of the reward in one evaluation phase, over all control steps of its episodes."""

    env_steps: Count
    mean: Measure
    std: Measure
    share: Share
    """Its part of the summed absolute components, 0 to 1."""
    activation: Share
    """Share of the steps at which it is not (nearly) zero."""
    fitness_correlation: Correlation | None = None
    """Pearson correlation of its episode mean with the episode's fitness; None where either is constant."""
    saturation: Share = 0.0
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
    credits: Credits = {}
    """Of the last evaluation."""


class EarlyStop(Frozen):
    """Why a slice was stopped before it had all its steps: its reward rose while its fitness fell."""

    env_steps: Count
    of_env_steps: Count
    """Steps of the whole training."""
    return_from: Measure
    """Return per episode at the peak of the fitness."""
    return_to: Measure
    fitness_from: Measure
    fitness_to: Measure

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

    component: ComponentName
    variable: str
    follows: Share
    """Pearson correlation over the steps, of the component with the variable's change or the change's size; 0 to 1."""
    kept: Share
    """Size of the component's sum over an episode, relative to its summed sizes; 0 to 1."""
    path: Measure
    """Summed sizes of the variable's changes over an episode, in its unit."""
    net: Measure
    """Size of its change from the first step to the last, in its unit."""


class IdleReading(Frozen):
    """What the reward pays a policy whose action is always zero: means over episodes."""

    episode_return: Measure
    episode_steps: Measure
    fitness: Measure


STARTS = 16
"""Starts from which the clean evaluation measures each policy; the same for all policies with a seed."""


class Outcome(Frozen):
    """How one episode of the clean evaluation went."""

    fitness: Measure
    success: bool
    steps: Count
    ending: str
    """The termination cause, or `time limit`."""


class Stay(Frozen):
    """When a variable that is 0 or 1 was 1 in an episode; times since its start [s]."""

    first: Measure
    visits: Count
    """How often it became 1."""
    longest_s: Measure
    last_left: Measure | None = None
    """None if it was 1 at the end."""


class Swing(Frozen):
    """A row of an episode that goes to and fro."""

    low: Measure
    """In the variable's unit, like `high`."""
    high: Measure
    crossings: Count
    """How often it passes the middle between the two."""


class EpisodeDigest(Frozen):
    """One evaluation episode of a training in a few numbers, read when most changes."""

    rank: Literal["best", "median", "worst"]
    fitness: Measure
    success: bool
    steps: Count
    ending: str
    """The termination cause, or `time limit`."""
    times_s: Readings
    """The first step, the last, and those between at which the variables depart most from straight lines."""
    variables: dict[str, Annotated[tuple[float, ...], Field(max_length=16)]] = Field(max_length=MOST_ROWS)
    """Rows of `episode_rows`: scalar variables and parts of vectors at those times. They may be anything."""
    components: dict[ComponentName, Readings]
    parts: Parts = {}
    """Parts of its fitness by name."""
    stays: dict[str, Stay] = Field(default={}, max_length=64)
    """Of its variables that are 0 or 1 throughout, those that were ever 1."""
    swings: dict[str, Swing] = Field(default={}, max_length=MOST_ROWS)
    """Of the rows that say when most changes, those that go to and fro."""
