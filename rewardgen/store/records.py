"""The records that the parts exchange: plain data, JSON in and out, no behaviour beyond small derived properties."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BeforeValidator, Field, FiniteFloat, model_validator

from rewardgen.core.errors import UsageError
from rewardgen.core.schema import Frozen
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
    PathEfficiency,
    Range,
    Share,
    TrainingCurves,
)
from rewardgen.store.names import BaselineId, CandidateId, FileName

Operator = Literal["draft", "tune", "edit", "add", "remove", "rewrite", "crossover", "explore", "baseline"]
"""What the designer is asked to do: `draft` from nothing, `explore` a different approach, the others on a parent."""

Severity = Literal["reject", "warn"]

Gate = Literal["parse", "language", "signature", "static", "probe", "duplicate", "preference", "model"]
"""The critic's gates in order of cost: the text, the text's meaning, a run on recorded transitions, comparison with
earlier candidates, the ranking of recorded episodes, and a language model's reading."""

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
    """What a trivial policy reaches on a task: means over episodes."""

    policy: Literal["zero", "random"]
    fitness: float
    success_rate: float
    parts: dict[str, float] = {}
    """Parts of the fitness by name; empty for a task whose metric names none."""
    episode_steps: float
    terminations: dict[str, float]
    """Share of the episodes that ended by each cause; `time limit` for the rest."""


class TaskCard(Frozen):
    """Task as the designer sees it, without the code of the fitness."""

    renamed = {"ends_wanted": "benign_terminations"}

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
    body: str = ""
    """In words, how heavy it is [kg] and how strong [N, N m]; empty where that is not known."""
    reset: str
    termination: str
    termination_causes: tuple[str, ...]
    success_terminates: bool
    benign_terminations: bool = False
    """True if early ends are not failures: the environment gives no causes, and its own reward rises by them."""
    success: str
    fitness: str
    best_fitness: float | None = None
    """Highest possible fitness; None if unknown."""
    control_step_s: float
    episode_steps: int
    learner: str = "Reinforcement learning"
    """What trains on rewards."""
    learner_notes: str = ""
    """Preprocessing of observations and rewards by the learner."""
    discount: float = 0.99
    """Of the learner."""
    env_steps: int = 0
    """Control steps that each policy learns from; 0 where that is not known."""
    seeds: int = 0
    """Policies that are trained with each reward; 0 where that is not known."""
    probes: tuple[PolicyProbe, ...] = ()

    @property
    def episode_seconds(self) -> float:
        """Length of a full episode [s]."""
        return self.control_step_s * self.episode_steps

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
        return {each.name: each.parts for each in self.variables} | {"action": self.action_parts}

    def input_names(self) -> tuple[str, ...]:
        """Every name that a reward may take as a positional parameter: variables, `action`, and `prev_` of each."""
        names = self.input_parts
        return (*names, *(f"prev_{name}" for name in names))


# Training.


class TrainerSettings(Frozen):
    """The settings that every trainer has; each adds its own in a subclass."""

    env_steps: int = 300_000
    """Control steps that each slice collects for training, over all its environments."""
    discount: float = Field(default=0.99, ge=0.0, lt=1.0)
    evaluation_phases: int = 8
    """Evaluations spread evenly over training, the last one at its end."""
    evaluation_envs: int = 8
    """Episodes per slice and evaluation, on environments of their own."""
    origin: str = ""
    """In a sentence: where they come from, if not from here or from the task."""

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


class Training(Frozen):
    """How the candidates of a run are trained."""

    trainer: str
    """Name of the trainer."""
    settings: dict[str, Any]
    """Settings of the trainer, as JSON."""

    @property
    def env_steps(self) -> int:
        """Control steps of each slice."""
        return self.settings["env_steps"]


class RewardSpec(Frozen):
    """A reward program as a worker receives it."""

    candidate_id: str
    source: str
    tunables: dict[str, float] = {}
    """Values for keyword-only parameters; the defaults in the source serve the rest."""
    is_baseline: bool = False
    """True for the task's own rewards, which are trusted as the task is and train apart from generated ones."""


class SliceSpec(Frozen):
    """One candidate with one seed."""

    candidate_id: CandidateId
    seed: int

    @property
    def spec(self) -> SliceSpec:
        """The slice by itself, where more is known of it."""
        return SliceSpec(candidate_id=self.candidate_id, seed=self.seed)


class KeptEpisode(Frozen):
    """One episode of the clean evaluation whose inputs were kept, for later rewards to be tried on."""

    fitness: float
    success: bool
    steps: int
    ending: str = ""
    """The termination cause, or `time limit`; empty in older runs."""


class SliceFailure(Frozen):
    """Why a slice was disabled."""

    kind: FailureKind
    message: str
    env_steps: Count = 0


class SliceResult(SliceSpec):
    """What became of one slice."""

    failure: SliceFailure | None = None
    stopped: EarlyStop | None = None
    """Reason for an early end of training; None if there was none. No failure: the policy is measured."""
    env_steps: Count = 0
    wall_s: float = Field(default=0.0, ge=0.0)
    """Its part of the wall clock of the batch it trained in."""
    curve: tuple[EvaluationPoint, ...] = ()
    components: dict[ComponentName, tuple[ComponentPoint, ...]] = Field(default={}, max_length=33)
    """As many as a reward may return, and the residual."""
    terminations: dict[str, Share] = Field(default={}, max_length=64)
    """Share of the last evaluation's episodes that ended by each cause; `time limit` for the rest."""
    episodes: tuple[EpisodeDigest, ...] = Field(default=(), max_length=3)
    """Best, median and worst of the last evaluation."""
    path_efficiencies: tuple[PathEfficiency, ...] = ()
    """Of the last evaluation, one per component that follows some variable's change."""
    credits: Credits = {}
    """Of the last evaluation."""
    idle: IdleReading | None = None
    """None where the reward or the fitness cannot be computed on idle episodes."""
    policy: FileName | None = None
    """Name of the policy file in the job's folder."""
    final_fitness: float | None = None
    """From a clean process that never loaded generated code, on held-out evaluation seeds."""
    final_success_rate: float | None = None
    final_parts: FitnessParts = {}
    """Parts of the fitness by name, measured with it; empty for a task whose metric names none."""
    outcomes: tuple[EpisodeOutcome, ...] = ()
    """Every episode of the clean process: those of the final policy in the order of their starts, which are the same
    for all candidates with this seed, then those of the policy an evaluation phase before, from the same starts."""
    ranges: dict[str, tuple[Range, ...]] = {}
    """For each variable the range of each of its parts in these episodes of the final policy."""
    kept: tuple[KeptEpisode, ...] = ()
    """Episodes of the clean process, in the order of `episodes_file`."""
    episodes_file: FileName | None = None
    """Name of the file, beside the policy, with what rewards read in these episodes."""


class CandidateResult(Frozen):
    """The slices of one candidate, put together. A failed candidate has no fitness."""

    candidate_id: CandidateId
    slices: tuple[SliceResult, ...]

    @property
    def failure(self) -> SliceFailure | None:
        """The failure of the first slice that failed; one failed seed fails the candidate."""
        return next((each.failure for each in self.slices if each.failure), None)

    @property
    def typical(self) -> SliceResult | None:
        """The slice whose policy has the median fitness of all that were measured; of an even number, the lower one.

        This policy is shipped, filmed and judged.
        """
        measured = [result for result in self.slices if result.policy and result.final_fitness is not None]
        measured.sort(key=lambda result: result.final_fitness or 0.0)
        return measured[(len(measured) - 1) // 2] if measured else None

    @property
    def stops(self) -> tuple[EarlyStop, ...]:
        """Why slices were stopped."""
        return tuple(each.stopped for each in self.slices if each.stopped)

    @property
    def fitness(self) -> float | None:
        """Mean over seeds of the fitness measured in the clean process."""
        return _mean([each.final_fitness for each in self.slices])

    @property
    def by_seed(self) -> dict[int, float]:
        """Fitness by seed; empty if any seed failed, because the rest would be a selection."""
        found = {each.seed: each.final_fitness for each in self.slices if not each.failure}
        values = {seed: value for seed, value in found.items() if value is not None}
        return values if len(values) == len(self.slices) else {}

    @property
    def success_rate(self) -> float | None:
        """Mean over seeds of the success rate measured in the clean process."""
        return _mean([each.final_success_rate for each in self.slices])

    @property
    def parts(self) -> dict[str, float]:
        """Parts of the fitness by name, each the mean over seeds; those that every seed has."""
        names = self.slices[0].final_parts if self.slices else ()
        means = {name: _mean([each.final_parts.get(name) for each in self.slices]) for name in names}
        return {name: value for name, value in means.items() if value is not None}

    @property
    def fitness_spread(self) -> float:
        """Standard error of the fitness over seeds; 0 with one seed."""
        values = [each.final_fitness for each in self.slices if each.final_fitness is not None]
        if len(values) < 2:
            return 0.0
        mean = sum(values) / len(values)
        return math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(values) if values and len(known) == len(values) else None


# Design.


class Slot(Frozen):
    """A candidate to be designed."""

    candidate_id: CandidateId
    """Such as `g02-k7`: see `rewardgen.search.strategy.slot_id`."""
    operator: Operator
    parents: tuple[CandidateId, ...] = ()
    """Ids of trained candidates of earlier generations; the designer is shown all that is known of them."""
    lens: str = ""
    """A hint for the designer."""
    seed: int = 0
    """Of what the designer draws."""


class Candidate(Frozen):
    """One reward program with its origin."""

    id: CandidateId
    generation: int
    operator: Operator
    parents: tuple[CandidateId, ...] = ()
    source: str = ""
    """The reward's Python; empty when the designer's reply held none."""
    diagnosis: str = ""
    """What the designer says is wrong with the parent, or the idea of a draft."""
    prediction: str = ""
    """What the designer expects training to show."""
    failure: str = ""
    """Why there is no source: no reply, or a reply without code."""
    repairs: int = 0
    """Repair round trips that this version took."""


_MOST_LINES = 100_000


def _line_or_none(value: object) -> object:
    return None if isinstance(value, int) and not 1 <= value <= _MOST_LINES else value


class Finding(Frozen):
    """What one detector of the critic saw."""

    gate: Gate
    detector: str
    """Stable name, such as `unknown-input` or `dead-component`."""
    severity: Severity
    message: str
    hint: str = ""
    line: Annotated[int | None, BeforeValidator(_line_or_none)] = None
    """Of the source, from 1. One that no source has, as a worker or a language model may say, is dropped."""
    component: str | None = None
    evidence: dict[str, float] = {}
    """The measured values that the message rests on, by name; finite."""


class Verdict(Frozen):
    """The critic's findings on one candidate."""

    candidate_id: CandidateId
    findings: tuple[Finding, ...] = ()

    @property
    def rejections(self) -> tuple[Finding, ...]:
        """The findings that keep the candidate from being trained."""
        return tuple(finding for finding in self.findings if finding.severity == "reject")

    @property
    def accepted(self) -> bool:
        """Whether the candidate may be trained."""
        return not self.rejections

    @property
    def passed(self) -> bool:
        """Whether all gates but the reading by a language model let the candidate through."""
        return all(each.gate == "model" for each in self.rejections)

    @property
    def repairable(self) -> bool:
        """Rejected for what its source says; a missing source or a duplicate is not a matter of repair."""
        return not self.accepted and all(
            each.gate != "duplicate" and each.detector != "no-code" for each in self.rejections
        )


class Flag(Frozen):
    """What one detector of the analyzer saw in a training."""

    detector: str
    """Stable name, such as `reach-and-hover` or `saturated-component`."""
    message: str
    """One sentence."""
    component: str | None = None
    evidence: dict[str, FiniteFloat] = {}
    """The measured values that the message rests on, by name."""


class PredictionOutcome(Frozen):
    """A claim of the designer, such as `fitness >= 1.5`, held against what was measured."""

    claim: str
    outcome: Literal["held", "failed", "not checkable"]
    measured: FiniteFloat | None = None
    dead: bool = False
    """Whether it failed because the component hardly counts, whatever its sign."""


class ParentComparison(Frozen):
    """The best of the trained parents, as a candidate is compared with it."""

    candidate_id: CandidateId
    fitness: float
    noise: float | None
    """What the difference has to exceed to count, by the spread over seeds of all candidates so far; None if nothing is
    known of it: one of the two has a single seed, or no candidate's seeds differ."""
    component_means: dict[str, float]
    """Mean per step of each of its components at the end of its training."""


class ShownEpisode(EpisodeDigest):
    """An episode, with the seed of its policy."""

    seed: int | None = None


class Analysis(Frozen):
    """The analyzer's view of one trained candidate: numbers and findings; `llm/analysis_text.py` makes text of it."""

    candidate_id: CandidateId
    curves: TrainingCurves = TrainingCurves()
    episodes: tuple[ShownEpisode, ...] = ()
    """Two of them that tell most, or one if all are alike."""
    hard_starts: tuple[tuple[int, int], ...] = ()
    """Seed and index of those starts at which it fails, and most of the other candidates that often succeed do too."""
    parent: ParentComparison | None = None
    fitness_delta: float | None = None
    """Fitness minus the parent's."""
    flags: tuple[Flag, ...] = ()
    """Flags computed without a language model."""
    predictions: tuple[PredictionOutcome, ...] = ()
    """The claims in the designer's prediction that have the form of a measurement; the rest of it stays words."""
    diagnosis: str = ""
    """Written by a language model from all of this; empty without one."""


class CandidateRecord(Frozen):
    """A candidate with all that is known of it."""

    candidate: Candidate
    verdict: Verdict
    result: CandidateResult | None = None
    analysis: Analysis | None = None

    @property
    def fitness(self) -> float | None:
        """Its fitness, or None if it was not trained or failed."""
        return self.result.fitness if self.result else None

    @property
    def outcome(self) -> str:
        """Why it has no fitness, in one line; empty if it has one."""
        if self.candidate.failure:
            return self.candidate.failure
        if not self.verdict.accepted:
            return self.verdict.rejections[0].message
        failure = self.result.failure if self.result else None
        return f"{failure.kind} at step {failure.env_steps}: {failure.message}" if failure else ""


# What a language model says of the words.


class Judgement(Frozen):
    """A language model's answer to whether something is what a person asked for, or why there is none."""

    answer: Literal["yes", "partly", "no"] | None = None
    why: str = ""
    problem: str = ""
    """Why there is no answer."""

    @property
    def text(self) -> str:
        """What is told of it, of the policy that came of a run."""
        if self.answer is None:
            return f"Whether this does what was asked was not judged: {self.problem}"
        said = {"yes": "Yes", "partly": "Only partly", "no": "No"}[self.answer]
        return f"Does this do what was asked? {said}, says the model that read its episodes: {self.why}"


class GoalCheck(Judgement):
    """Whether the task's fitness measures the user's goal, and whether the task lets it be reached."""

    obstacle: str = ""
    """What makes the goal impossible; empty if nothing does."""

    @property
    def is_objection(self) -> bool:
        """True if the model says that the goal is not measured or cannot be reached."""
        return self.answer == "no" or bool(self.obstacle)

    @property
    def text(self) -> str:
        """What is told of it."""
        if self.answer is None:
            return f"whether the fitness measures the goal was not checked: {self.problem}"
        said = {"yes": "measures the goal", "partly": "measures part of the goal", "no": "does not measure the goal"}
        told = f"the model says that the fitness {said[self.answer]}: {self.why}"
        return f"{told.rstrip('.')}; and that it cannot be reached here: {self.obstacle}" if self.obstacle else told


class DesignRequest(Frozen):
    """All that a designer is given for one candidate."""

    candidate_id: CandidateId
    generation: int
    operator: Operator
    card: TaskCard
    goal: str = ""
    """The user's own words for what the robot should do, beyond the task's description."""
    lens: str = ""
    """A hint that makes candidates of one generation differ."""
    parents: tuple[CandidateRecord, ...] = ()
    best: CandidateRecord | None = None
    """The best of all so far, for operators that have to do something else, if it is no parent."""
    leading_ideas: tuple[str, ...] = ()
    """One line each: the best candidates not shown in full, with their results."""
    failed_ideas: tuple[str, ...] = ()
    """One line each: what was tried, why it failed."""
    baselines: tuple[CandidateRecord, ...] = ()
    """The task's own rewards, trained like candidates; designers see only their results."""
    feedback: tuple[str, ...] = ()
    """What a person said of earlier results, newest last."""
    seed: int = 0
