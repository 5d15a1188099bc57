"""Measurements of a policy and its reward: learning curves, component statistics, single episodes.

Workers that ran generated code send them, so the types bound every value; what depends on the job is checked where a
result is received.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, FiniteFloat

from rewardgen.core.schema import Frozen

TIME_LIMIT = "time limit"
"""Ending of an episode that no termination condition ended."""
MOST_PARTS = 12
"""Largest vector whose parts are shown one by one."""
MOST_ROWS = 256
"""Rows of an episode at most."""
STARTS = 16
"""Starts from which the clean evaluation measures each policy; the same for all policies with a seed."""


def starts_of(agents: Collection[str]) -> int:
    """Return the number of starts of a policy's clean evaluation: the agents of a game share one."""
    return max(1, STARTS // max(1, len(agents)))


Measure = Annotated[float, Field(ge=-1e100, le=1e100, allow_inf_nan=False)]
"""A number with room for sums of float32 values; its square is finite."""
Count = Annotated[int, Field(ge=0, le=1 << 62)]
Share = Annotated[float, Field(ge=-1e-6, le=1.0 + 1e-6, allow_inf_nan=False)]
"""From 0 to 1, with room for rounding."""
Correlation = Annotated[float, Field(ge=-1.0 - 1e-6, le=1.0 + 1e-6, allow_inf_nan=False)]
NAME = "[A-Za-z_][A-Za-z0-9_]{0,47}"
ComponentName = Annotated[str, Field(pattern=f"^{NAME}$")]
FitnessParts = Annotated[dict[ComponentName, Share], Field(max_length=6)]
"""Mean over episodes of each part of a task's metric."""
Range = tuple[FiniteFloat, FiniteFloat, FiniteFloat]
"""5 %, 50 % and 95 % quantile over the steps of episodes."""
Readings = Annotated[tuple[Measure, ...], Field(max_length=16)]
"""Values of one component at the times of an `EpisodeDigest`."""
AgentName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,48}$")]
Credits = Annotated[dict[AgentName, dict[ComponentName, Measure]], Field(max_length=64)]
"""Pay of each component to each agent of a game in an episode; empty for a single agent."""


class EvaluationPoint(Frozen):
    """One evaluation phase of one slice with the deterministic policy on separate envs: means over episodes."""

    retired = frozenset({"success_correlation"})

    env_steps: Count
    fitness: Measure
    success_rate: Share
    episode_steps: Measure
    episode_return: Measure
    """Sum of the generated reward over an episode."""
    fitness_spread: Measure = 0.0
    """Standard error of the fitness over the episodes."""
    return_spread: Measure = 0.0
    """Standard error of the return over the episodes."""
    return_correlation: Correlation | None = None
    """Pearson correlation of the return with the fitness over the episodes; None if either is constant."""
    clipped: Share = 0.0
    """Part of the training reward since the last evaluation, by size, that the learner cut off: pay of single steps
    beyond ten standard deviations of the discounted return."""
    bonus: Share = 0.0
    """Part of an exploration bonus in what the policy was trained on since the last evaluation, by size."""
    endings: dict[str, Share] = Field(default={}, max_length=64)
    """Share of the episodes that ended by each cause; `time limit` for the rest. Empty in older runs."""


class ComponentPoint(Frozen):
    """One component of the reward in one evaluation phase, over all control steps of its episodes."""

    env_steps: Count
    mean: Measure
    std: Measure
    share: Share
    """Part of the summed absolute components."""
    activation: Share
    """Share of the steps with a value that is not (nearly) zero."""
    fitness_correlation: Correlation | None = None
    """Pearson correlation of the component's episode mean with the episode's fitness; None if either is constant."""
    saturation: Share = 0.0
    """Share of the steps within a twentieth of the component's range of its largest value; 1 for a constant."""


class TrainingCurves(Frozen):
    """A candidate's training: means over its seeds, at the evaluations that all of them reached."""

    seeds: int = 0
    """Number of seeds with a common evaluation."""
    curve: tuple[EvaluationPoint, ...] = ()
    components: dict[str, Annotated[tuple[ComponentPoint, ...], Field(min_length=1)]] = {}
    """At least one point each, mean over the seeds that have the component."""
    terminations: dict[str, float] = {}
    """Share of the last evaluation's episodes that ended by each cause, largest first; `time limit` for the rest."""
    credits: Credits = {}
    """Credits in the last evaluation."""


class EarlyStop(Frozen):
    """A training that was stopped early: the reward rose while the fitness fell."""

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
    """Pay of a component compared with the path of the scalar variable whose change it follows most.

    Means over the episodes of one evaluation. Pay for net progress keeps the same part of its sum as the variable keeps
    of its path. A component that keeps all its pay while the variable moves to and fro is farmed.
    """

    component: ComponentName
    variable: str
    follows: Share
    """Pearson correlation over the steps of the component with the variable's change, or with the change's size."""
    kept: Share
    """Size of the component's sum over an episode, relative to its summed sizes."""
    path: Measure
    """Summed sizes of the variable's changes over an episode, in the variable's unit."""
    net: Measure
    """Size of the variable's change from the first step to the last, in its unit."""


class StageReading(Frozen):
    """One stage of a reward in the episodes of one evaluation."""

    entered: Share
    """Share of the episodes that are in it at some step."""
    first_s: Measure | None
    """Median time of its first step [s], over the episodes that enter it."""
    time: Share
    """Share of all steps that are in it."""
    last: Share
    """Share of the episodes that end in it."""


class IdleReading(Frozen):
    """Pay of the reward for a policy whose action is always zero: means over episodes."""

    episode_return: Measure
    episode_steps: Measure
    fitness: Measure


class EpisodeOutcome(Frozen):
    """Result of one episode of the clean evaluation."""

    fitness: Measure
    success: bool
    steps: Count
    ending: str
    """The termination cause, or `time limit`."""
    signals: dict[str, Measure] = Field(default={}, max_length=16)


class KeptEpisode(Frozen):
    """One episode of the clean evaluation whose inputs were kept for the ranking by later rewards."""

    fitness: float
    success: bool
    steps: int
    ending: str = ""
    """The termination cause, or `time limit`; empty in older runs."""


class Stay(Frozen):
    """Times at which a variable that is 0 or 1 was 1 in an episode, since its start [s]."""

    first: Measure
    visits: Count
    """Number of changes to 1."""
    longest_s: Measure
    last_left: Measure | None = None
    """None if the variable was 1 at the end."""


class Swing(Frozen):
    """Range of an oscillating row of an episode."""

    low: Measure
    """In the variable's unit, like `high`."""
    high: Measure
    crossings: Count
    """Number of crossings of the middle between the two."""


class EpisodeDigest(Frozen):
    """One evaluation episode in a few numbers, read where most changes."""

    rank: Literal["best", "median", "worst"]
    earlier: bool = False
    """True if it is of the evaluation before the last one."""
    fitness: Measure
    success: bool
    steps: Count
    ending: str
    """The termination cause, or `time limit`."""
    times_s: Readings
    """The first step, the last, and those between at which the variables depart most from straight lines."""
    variables: dict[str, Annotated[tuple[float, ...], Field(max_length=16)]] = Field(max_length=MOST_ROWS)
    """Rows of `episode_rows` at these times; any float."""
    components: dict[ComponentName, Readings]
    parts: FitnessParts = {}
    stays: dict[str, Stay] = Field(default={}, max_length=64)
    """Stays of the variables that are 0 or 1 throughout and were ever 1."""
    swings: dict[str, Swing] = Field(default={}, max_length=MOST_ROWS)
    """Swings of the oscillating rows among those that decide the times."""


class EpisodeRow(NamedTuple):
    """One row of a table of episodes.

    Attributes:
        title: `height`, `puck_position x` or `|contact_forces|`.
        variable: Name of the variable.
        part: Index of the variable's part; None for a scalar, and for the size of a vector.
    """

    title: str
    variable: str
    part: int | None = None


def episode_rows(
    variables: Mapping[str, Sequence[str]], most: int = MOST_ROWS, last: Collection[str] = ()
) -> list[EpisodeRow]:
    """Return the rows of a task's variables, which have names of their parts, in order; large vectors by their size.

    The longest vectors are shown by their size until the rest fits; those named in `last` get room last.
    """
    room = most - len(variables)
    split = set()
    for name, parts in sorted(variables.items(), key=lambda item: (item[0] in last, len(item[1]))):
        room -= max(0, len(parts) - 1)
        if len(parts) <= MOST_PARTS and room >= 0:
            split.add(name)
    rows = []
    for name, parts in variables.items():
        if not parts:
            rows.append(EpisodeRow(name, name))
        elif name in split:
            rows += [EpisodeRow(f"{name} {part}", name, index) for index, part in enumerate(parts)]
        else:
            rows.append(EpisodeRow(f"|{name}|", name))
    return rows
