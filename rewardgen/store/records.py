"""Records that the parts exchange: plain data with small derived properties."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BeforeValidator, Field, FiniteFloat, model_validator

from rewardgen.core.errors import UsageError
from rewardgen.core.schema import Frozen
from rewardgen.core.statistics import complete_mean
from rewardgen.store.comparisons import Comparison, Signal
from rewardgen.store.measurements import (
    ComponentName,
    ComponentPoint,
    Count,
    Credits,
    EarlyStop,
    EpisodeDigest,
    EpisodeOutcome,
    EvaluationPoint,
    FitnessParts,
    IdleReading,
    KeptEpisode,
    Measure,
    PathEfficiency,
    Range,
    Share,
    StageReading,
    TrainingCurves,
)
from rewardgen.store.names import BaselineId, CandidateId, FileName

Operator = Literal[
    "draft", "tune", "edit", "add", "remove", "rewrite", "crossover", "explore", "stage", "observe", "baseline"
]
"""Job of the designer: `draft` begins with nothing, `explore` looks for an approach unlike its parent's, the others
change their parents; `stage` divides the task, `observe` shows policies more. `baseline` is a reward of the
task's own."""

Severity = Literal["reject", "warn"]

Gate = Literal["parse", "language", "signature", "static", "probe", "duplicate", "preference", "model"]
"""Gates of the critic in order of cost: form of the text, static checks, a probe on recorded transitions, comparison
with earlier candidates, ranking of recorded episodes, and a language model's reading."""

BASELINES: tuple[BaselineId, ...] = get_args(BaselineId)

FailureKind = Literal["exception", "non-finite", "shape", "diverged", "timeout", "crash", "memory"]


# Tasks.


class VariableCard(Frozen):
    """One variable of a task as the designer sees it.

    `shape` is without the env axis: () for a scalar per env, (k,) for k parts, named in `parts`. `minimum`,
    `median` and `maximum` were measured on a short random and zero-action rollout and have one entry per part.
    """

    renamed = {"given": "fixed_at_start"}

    name: str
    unit: str
    meaning: str
    shape: tuple[int, ...] = ()
    parts: tuple[str, ...] = ()
    minimum: tuple[float, ...] = ()
    median: tuple[float, ...] = ()
    maximum: tuple[float, ...] = ()
    fixed_at_start: tuple[bool, ...] = ()
    """True for each part that the start of an episode sets and no action changes; empty if there is none."""


class PolicyProbe(Frozen):
    """Result of a policy that knows nothing of the task: means over episodes."""

    policy: str
    fitness: float
    success_rate: float
    parts: dict[str, float] = {}
    """Parts of the fitness by name; empty for a task whose metric names none."""
    episode_steps: float
    terminations: dict[str, float]
    """Share of the episodes that ended by each cause; `time limit` for the rest."""

    @property
    def doubt(self) -> str:
        """A sentence where half of the episodes or more succeed, which tells of a `success` that asks too little."""
        share = f"{100.0 * self.success_rate:.0f} % of the episodes of {self.policy} actions are successes"
        return share if self.success_rate >= 0.5 else ""


class TaskCard(Frozen):
    """Task as the designer sees it, without the code of the fitness."""

    renamed = {"missed": "read"}

    reference: str
    name: str
    fingerprint: str
    """Changes whenever the task file or its model file changes."""
    description: str
    variables: tuple[VariableCard, ...]
    agents: tuple[str, ...] = ()
    """Names of the agents of a game, which share one policy; empty for a single agent."""
    choices: bool = False
    """True if actions are discrete, one-hot encoded per choice."""
    action_size: int
    action_parts: tuple[str, ...]
    action_low: tuple[float, ...]
    action_high: tuple[float, ...]
    observation_size: int
    observation: str
    unobserved: tuple[str, ...] = ()
    """Variables with a part that varies and that a fit to short episodes does not tell from the observation."""
    read: tuple[str, ...] = ()
    """Variables that the fitness or the success reads."""
    body: str = ""
    """Masses [kg], strength [N, N m], damping and shapes of the robot in words; empty if unknown."""
    reset: str
    termination: str
    termination_causes: tuple[str, ...]
    success_terminates: bool
    benign_terminations: bool = False
    """True if early ends are not failures: the environment gives no causes, and pays more when it ends early."""
    success: str
    fitness: str
    best_fitness: float | None = None
    """Highest possible fitness; None if unknown."""
    solved_fitness: float | None = None
    """Fitness from which the task's author calls it solved."""
    judged: str = ""
    """The judge in words, for designers, where policies are not judged by fitness; else empty."""
    signals: tuple[Signal, ...] = ()
    """Signals by which the task's episodes can be compared, most important first."""
    control_step_s: float
    episode_steps: int
    learner: str = "Reinforcement learning"
    """Kind of learner that trains on rewards."""
    learner_notes: str = ""
    """Preprocessing of observations and rewards by the learner."""
    discount: float = 0.99
    env_steps: int = 0
    """Control steps of each training; 0 if unknown."""
    seeds: int = 0
    """Policies trained with each reward; 0 if unknown."""
    probes: tuple[PolicyProbe, ...] = ()

    @property
    def has_fitness(self) -> bool:
        """False for a task with `fitness = None`: the fitness of its policies is recorded as 0, and never told."""
        return bool(self.fitness)

    @property
    def episode_seconds(self) -> float:
        """Length of a full episode [s]."""
        return self.control_step_s * self.episode_steps

    @property
    def missed(self) -> tuple[str, ...]:
        """Variables of `unobserved` that the fitness or the success reads."""
        return tuple(name for name in self.unobserved if name in self.read)

    def is_best(self, fitness: float | None) -> bool:
        """True if the fitness is within 1 % of `best_fitness`."""
        best = self.best_fitness
        return best is not None and fitness is not None and fitness >= best - 0.01 * abs(best)

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the parts of the fitness, each from 0 to 1."""
        return tuple(self.probes[0].parts) if self.probes else ()

    @property
    def input_parts(self) -> dict[str, tuple[str, ...]]:
        """Names of the parts of each variable and of `action`; none for a scalar."""
        return {variable.name: variable.parts for variable in self.variables} | {"action": self.action_parts}

    def input_names(self) -> tuple[str, ...]:
        """Return all valid positional parameters of a reward: variables, `action`, and `prev_` of each."""
        names = self.input_parts
        return (*names, *(f"prev_{name}" for name in names))


# Training.


class TrainerSettings(Frozen):
    """Settings that all trainers share; a trainer adds its own in a subclass."""

    env_steps: int = 300_000
    """Control steps of each slice in training, over all its envs."""
    discount: float = Field(default=0.99, ge=0.0, lt=1.0)
    evaluation_phases: int = 8
    """Number of evaluations, spread evenly over training, the last one at its end."""
    evaluation_envs: int = 8
    """Episodes per slice and evaluation, on separate envs."""
    randomise: tuple[str, ...] = ()
    """Ranges of the physics from which each training episode draws, as `friction=0.5:1.5`; evaluations vary nothing."""
    levels: tuple[float, ...] = ()
    """Difficulties of the starts in the first half of training, equally long each; otherwise it is 1."""
    origin: str = ""
    """Sentence on the source of the settings, if neither the defaults nor the task."""

    @property
    def max_env_steps(self) -> int:
        """Upper bound on the control steps of a slice, which ends with a whole rollout."""
        return 2 * self.env_steps

    @model_validator(mode="after")
    def _counts_are_positive(self) -> Self:
        for name, value in self:
            if isinstance(value, int) and not isinstance(value, bool) and value < 1:
                raise UsageError(f"`{name}` is {value}, expected 1 or more")
        return self


def _with_env_steps(settings: dict[str, Any]) -> dict[str, Any]:
    if type(settings.get("env_steps")) is not int:
        raise ValueError("`env_steps` is no whole number")
    return settings


class Training(Frozen):
    """Trainer of a run and its settings."""

    trainer: str
    settings: Annotated[dict[str, Any], AfterValidator(_with_env_steps)]
    """Settings of the trainer, as JSON; each trainer checks its own."""

    @property
    def env_steps(self) -> int:
        """Control steps of each slice."""
        return self.settings["env_steps"]


class RewardSpec(Frozen):
    """A reward program as a worker receives it."""

    retired = frozenset({"tunables"})

    candidate_id: str
    source: str
    is_baseline: bool = False
    """True for the task's own rewards, which are trusted as the task is and train apart from generated ones."""


class SliceSpec(Frozen):
    """One candidate with one seed."""

    retired = frozenset({"start"})

    candidate_id: CandidateId
    seed: int

    @property
    def spec(self) -> SliceSpec:
        """Candidate and seed alone."""
        return SliceSpec(candidate_id=self.candidate_id, seed=self.seed)


class SliceFailure(Frozen):
    """Failure that disabled a slice."""

    kind: FailureKind
    message: str
    env_steps: Count = 0


class SliceResult(SliceSpec):
    """Result of one slice."""

    failure: SliceFailure | None = None
    stopped: EarlyStop | None = None
    """Early end of the training, which is no failure; None if it had all its steps."""
    env_steps: Count = 0
    wall_s: float = Field(default=0.0, ge=0.0, le=1e12)
    """The slice's part of the wall-clock time of its batch."""
    curve: tuple[EvaluationPoint, ...] = ()
    components: dict[ComponentName, tuple[ComponentPoint, ...]] = Field(default={}, max_length=33)
    """Components of the reward, and what is left of the total beside them (`residual`)."""
    terminations: dict[str, Share] = Field(default={}, max_length=64)
    """Share of the last evaluation's episodes that ended by each cause; `time limit` for the rest."""
    episodes: tuple[EpisodeDigest, ...] = Field(default=(), max_length=4)
    """Best, median and worst of the last evaluation."""
    path_efficiencies: tuple[PathEfficiency, ...] = ()
    """One per component that follows some variable's change, in the last evaluation."""
    credits: Credits = {}
    """Credits in the last evaluation."""
    stages: tuple[StageReading, ...] = Field(default=(), max_length=8)
    """Stages of the reward in the last evaluation, in their order; empty if it has none."""
    idle: IdleReading | None = None
    """None if the reward or the fitness cannot be computed on idle episodes."""
    policy: FileName | None = None
    """Name of the policy file in the job's folder."""
    final_fitness: Measure | None = None
    """Mean fitness of the last two policies on held-out seeds, by a process that never loads generated code."""
    final_success_rate: Measure | None = None
    final_parts: FitnessParts = {}
    """Parts of the final fitness by name; empty for a task whose metric names none."""
    outcomes: tuple[EpisodeOutcome, ...] = ()
    """Episodes of the clean process: those of the final policy in the order of their starts, then those of the policy
    one evaluation phase earlier. The starts are the same for all candidates with this seed."""
    ranges: dict[str, tuple[Range, ...]] = {}
    """Range of each part of each variable in the final policy's episodes."""
    kept: tuple[KeptEpisode, ...] = ()
    """Episodes of the clean process, in the order of `episodes_file`."""
    episodes_file: FileName | None = None
    """Name of the file beside the policy with the inputs of rewards in these episodes."""


class CandidateResult(Frozen):
    """Slices of one candidate. A failed candidate has no fitness."""

    candidate_id: CandidateId
    slices: tuple[SliceResult, ...]

    @property
    def failure(self) -> SliceFailure | None:
        """First failure of a slice; one failed seed fails the candidate."""
        return next((run.failure for run in self.slices if run.failure), None)

    @property
    def typical(self) -> SliceResult | None:
        """Slice with the median fitness (the lower of two), whose policy is shipped, filmed and judged."""
        measured = [run for run in self.slices if run.policy and run.final_fitness is not None]
        measured.sort(key=lambda run: run.final_fitness or 0.0)
        return measured[(len(measured) - 1) // 2] if measured else None

    @property
    def stops(self) -> tuple[EarlyStop, ...]:
        """Early stops of the slices."""
        return tuple(run.stopped for run in self.slices if run.stopped)

    @property
    def fitness(self) -> float | None:
        """Mean over seeds of `final_fitness`; closing tables show the interquartile mean."""
        return complete_mean([run.final_fitness for run in self.slices])

    @property
    def by_seed(self) -> dict[int, float]:
        """Fitness by seed; empty if any seed failed, because the rest would be a selection."""
        runs = [run for run in self.slices if not run.failure]
        values = {run.seed: run.final_fitness for run in runs if run.final_fitness is not None}
        return values if len(values) == len(self.slices) else {}

    @property
    def success_rate(self) -> float | None:
        """Mean over seeds of the success rate measured in the clean process."""
        return complete_mean([run.final_success_rate for run in self.slices])

    @property
    def parts(self) -> dict[str, float]:
        """Mean over seeds of each part of the fitness that every seed has."""
        names = self.slices[0].final_parts if self.slices else ()
        means = {name: complete_mean([run.final_parts.get(name) for run in self.slices]) for name in names}
        return {name: value for name, value in means.items() if value is not None}

    @property
    def fitness_spread(self) -> float:
        """Standard error of the fitness over seeds; 0 with one seed."""
        values = [run.final_fitness for run in self.slices if run.final_fitness is not None]
        if len(values) < 2:
            return 0.0
        mean = sum(values) / len(values)
        return math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))


# Design.


class Slot(Frozen):
    """Plan of a candidate."""

    retired = frozenset({"inherits"})

    candidate_id: CandidateId
    """Id such as `g02-k7`: see `rewardgen.search.strategy.slot_id`."""
    operator: Operator
    parents: tuple[CandidateId, ...] = ()
    """Ids of trained candidates of earlier generations; the designer sees their full records."""
    lens: str = ""
    """A hint for the designer."""
    seed: int = 0
    """Seed of the designer's random draws."""


class Candidate(Frozen):
    """One reward program with its origin."""

    id: CandidateId
    generation: int
    operator: Operator
    parents: tuple[CandidateId, ...] = ()
    source: str = ""
    """The reward's Python; empty when the designer's reply held none."""
    diagnosis: str = ""
    """The parent's fault in the designer's words, or the idea of a draft."""
    prediction: str = ""
    """Result of training that the designer expects."""
    failure: str = ""
    """Reason for a missing source: no reply, or a reply without code."""
    repairs: int = 0
    """Number of repairs of this version, 0 or 1."""


_MOST_LINES = 100_000


def _line_or_none(value: object) -> object:
    return None if isinstance(value, int) and not 1 <= value <= _MOST_LINES else value


class Finding(Frozen):
    """Report of one detector of the critic."""

    gate: Gate
    detector: str
    """Stable name, such as `unknown-input` or `dead-component`."""
    severity: Severity
    message: str
    hint: str = ""
    line: Annotated[int | None, BeforeValidator(_line_or_none)] = None
    """Line of the source, from 1; impossible lines, from a worker or a model, become None."""
    component: str | None = None
    evidence: dict[str, float] = {}
    """Measured values behind the message by name; finite."""


class Verdict(Frozen):
    """Findings of the critic on one candidate."""

    candidate_id: CandidateId
    findings: tuple[Finding, ...] = ()

    @property
    def rejections(self) -> tuple[Finding, ...]:
        """Findings that reject the candidate."""
        return tuple(finding for finding in self.findings if finding.severity == "reject")

    @property
    def accepted(self) -> bool:
        """True if the candidate may be trained."""
        return not self.rejections

    @property
    def passed(self) -> bool:
        """True if nothing but a language model's reading rejects the candidate."""
        return all(finding.gate == "model" for finding in self.rejections)

    @property
    def repairable(self) -> bool:
        """True if a designer can fix the rejected source: it is there, and no duplicate."""
        return not self.accepted and all(
            finding.gate != "duplicate" and finding.detector != "no-code" for finding in self.rejections
        )


class Flag(Frozen):
    """Report of one detector of the analyzer on a training."""

    detector: str
    """Stable name, such as `reach-and-hover` or `saturated-component`."""
    message: str
    """One sentence."""
    component: str | None = None
    evidence: dict[str, FiniteFloat] = {}
    """Measured values behind the message by name."""


class PredictionOutcome(Frozen):
    """A claim of the designer, such as `fitness >= 1.5`, checked against the measurement."""

    claim: str
    outcome: Literal["held", "failed", "not checkable"]
    measured: FiniteFloat | None = None
    dead: bool = False
    """True if the claim failed because the component hardly counts."""


class ParentComparison(Frozen):
    """Best trained parent, with which a candidate is compared."""

    candidate_id: CandidateId
    fitness: float
    noise: float | None
    """Smallest difference that counts, by the spread over seeds of all candidates so far; None if unknown: one of the
    two has a single seed, or no candidate's seeds differ."""
    component_means: dict[str, float]
    """Mean per step of each of the parent's components at the end of training."""


class ShownEpisode(EpisodeDigest):
    """An episode with the seed of its policy."""

    seed: int | None = None


class Analysis(Frozen):
    """Numbers and flags of the analyzer on one trained candidate; `llm/analysis_text.py` renders them as text."""

    candidate_id: CandidateId
    curves: TrainingCurves = TrainingCurves()
    episodes: tuple[ShownEpisode, ...] = ()
    """The two most telling episodes, or one if all are alike."""
    hard_starts: tuple[tuple[int, int], ...] = ()
    """Seed and index of starts where this candidate and most of the successful ones fail."""
    parent: ParentComparison | None = None
    fitness_delta: float | None = None
    """Fitness minus the parent's."""
    flags: tuple[Flag, ...] = ()
    """Flags computed without a language model."""
    predictions: tuple[PredictionOutcome, ...] = ()
    """Claims in the designer's prediction that can be measured."""
    diagnosis: str = ""
    """Diagnosis by a language model; empty without one."""


class CandidateRecord(Frozen):
    """A candidate with its verdict, result and analysis."""

    candidate: Candidate
    verdict: Verdict
    result: CandidateResult | None = None
    analysis: Analysis | None = None
    comparisons: tuple[Comparison, ...] = ()
    """Comparisons of its episodes with others'."""
    preference: str = ""
    """Its comparisons in words, which designers read in place of its fitness; empty in a run that is judged by fitness.
    """

    @property
    def fitness(self) -> float | None:
        """Fitness of the candidate; None if it was not trained or failed."""
        return self.result.fitness if self.result else None

    @property
    def outcome(self) -> str:
        """Reason for a missing fitness in one line; empty if there is a fitness."""
        if self.candidate.failure:
            return self.candidate.failure
        if not self.verdict.accepted:
            return self.verdict.rejections[0].message
        failure = self.result.failure if self.result else None
        return f"{failure.kind} at step {failure.env_steps}: {failure.message}" if failure else ""


class DesignRequest(Frozen):
    """Request to a designer for one candidate."""

    candidate_id: CandidateId
    generation: int
    operator: Operator
    card: TaskCard
    goal: str = ""
    """Goal in the user's own words, beyond the task's description."""
    lens: str = ""
    """Hint that makes the candidates of a generation differ."""
    parents: tuple[CandidateRecord, ...] = ()
    best: CandidateRecord | None = None
    """Best candidate so far, for operators that must do something else; None if it is a parent."""
    leading_ideas: tuple[str, ...] = ()
    """Best candidates that are not shown in full, one line each with the result."""
    failed_ideas: tuple[str, ...] = ()
    """Failed candidates, one line each with the reason."""
    baselines: tuple[CandidateRecord, ...] = ()
    """The task's own rewards, trained like candidates; designers see only their results."""
    feedback: tuple[str, ...] = ()
    """Remarks of the user on earlier results, newest last."""
    stages: bool = False
    """True if the reward may have stages."""
    evolve_observation: bool = False
    """True if the reward may add to the observation of policies."""
    seed: int = 0
