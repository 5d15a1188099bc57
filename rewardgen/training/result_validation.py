"""Validation of the answers of training and evaluation workers. Loads no torch.

A training worker ran generated code, so its answers are claims. The types of the records bound them, and
`ResultValidator` compares them with the job: nobody is shown names that the task does not have, and nothing decides by
its numbers. A breach fails the whole job.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import AfterValidator, FiniteFloat, ValidationError

from rewardgen.core.errors import RewardgenError, WorkerError
from rewardgen.sandbox.answers import clean
from rewardgen.store.measurements import EpisodeOutcome, FitnessParts, KeptEpisode, Range, Share, episode_rows
from rewardgen.store.progress import Progress
from rewardgen.store.records import SliceFailure, SliceResult, SliceSpec, TaskCard
from rewardgen.training.artifacts import TrainJob, policy_names

ENDINGS = ("time limit", "physics diverged")
"""Endings of episodes of any task."""

Record = TypeVar("Record", bound=SliceSpec)
_ClaimedText = Annotated[str, AfterValidator(partial(clean, most=600))]


class PolicyMeasurement(SliceSpec):
    """A clean worker's measurement of the last policies of a slice."""

    fitness: FiniteFloat | None = None
    success_rate: Share | None = None
    parts: FitnessParts = {}
    outcomes: tuple[EpisodeOutcome, ...] = ()
    ranges: dict[str, tuple[Range, ...]] = {}
    kept: tuple[KeptEpisode, ...] = ()
    problem: _ClaimedText = ""
    """Reason why the policies could not be measured."""

    @classmethod
    def failed(cls, spec: SliceSpec, problem: str) -> PolicyMeasurement:
        """Return the measurement of a slice that could not be measured."""
        return cls(**spec.model_dump(), problem=problem)


class _ClaimedFailure(SliceFailure):
    kind: Literal["exception", "non-finite", "shape", "diverged"]
    message: _ClaimedText


class TrainedSlice(SliceResult):
    """A training worker's answer for a slice."""

    failure: _ClaimedFailure | None = None


class TaskNames(NamedTuple):
    """Names of a task that results may hold."""

    inputs: Mapping[str, Sequence[str]]
    """Names of the parts of each variable and of `action`; none for a scalar."""
    endings: Collection[str]
    parts: Collection[str] = ()
    """Parts of the metric."""
    agents: Collection[str] = ()

    @classmethod
    def of(cls, card: TaskCard) -> TaskNames:
        """Return the names on a task's card."""
        return cls(card.input_parts, card.termination_causes, card.parts, card.agents)


class ResultValidator:
    """Checks the answers of one training job."""

    def __init__(self, job: TrainJob, wall_s: float, names: TaskNames | None = None) -> None:
        self._slices, self._wall_s, self._names = job.slices, wall_s, names
        self._phases, self._steps = job.settings.evaluation_phases, job.settings.max_env_steps
        self._reports = 0

    def progress(self, message: dict[str, Any]) -> Progress:
        """Return a progress report; raise a WorkerError if it is out of contract."""
        (report,) = _validated(Progress, [message])
        self._reports += 1
        _require(self._reports <= len(self._slices) * self._phases, "more reports than evaluations")
        _require(_key(report) in map(_key, self._slices), "a report of an unknown slice")
        self._check_steps(report.env_steps)
        return report

    def restart(self) -> None:
        """Reset the count of reports, as the worker was killed from outside and starts again."""
        self._reports = 0

    def results(self, answer: Mapping[str, Any]) -> list[SliceResult]:
        """Return the results of all slices, without fields that a training does not decide, such as the fitness.

        Raises a WorkerError if they are out of contract.
        """
        claims = _validated(TrainedSlice, answer.get("slices"))
        _require_all(claims, self._slices)
        return [self._result(claim) for claim in claims]

    def _result(self, claim: TrainedSlice) -> SliceResult:
        self._check_steps(claim.env_steps, claim.failure.env_steps if claim.failure else 0)
        _require(claim.wall_s <= self._wall_s, "more time than the limit")
        evaluations = [point.env_steps for point in claim.curve]
        self._check_steps(0, *evaluations)
        _require(len(evaluations) <= self._phases, "more evaluations than phases")
        for points in claim.components.values():
            _require([point.env_steps for point in points] == evaluations, "components at other steps")
        self._check_names(claim)
        policy = None if claim.failure else policy_names(claim)[0]
        measured = {"final_fitness": None, "final_success_rate": None, "final_parts": {}, "outcomes": (), "ranges": {}}
        decided = {**measured, "kept": (), "episodes_file": None, "policy": policy, "stopped": None}
        return SliceResult.model_validate(claim.model_dump() | decided)

    def _check_steps(self, *counts: int) -> None:
        _require(max(counts) <= self._steps, "more steps than the training has")

    def _check_names(self, claim: TrainedSlice) -> None:
        components, names, efficiencies = claim.components.keys(), self._names, claim.path_efficiencies
        _require(len(efficiencies) <= len(components), "more path efficiencies than components")
        mentioned = {efficiency.component for efficiency in efficiencies}.union(*claim.credits.values())
        titles = {efficiency.variable for efficiency in efficiencies}
        endings = {*claim.terminations, *(cause for point in claim.curve for cause in point.endings)}
        parts: set[str] = set()
        for episode in claim.episodes:
            mentioned |= episode.components.keys()
            titles |= episode.variables.keys() | episode.stays.keys() | episode.swings.keys()
            endings.add(episode.ending)
            parts |= episode.parts.keys()
            lengths = {len(row) for row in (*episode.variables.values(), *episode.components.values())}
            same = bool(episode.times_s) and lengths <= {len(episode.times_s)}
            _require(same, "an episode with rows of another length")
        _require(mentioned <= components, "a component that the reward does not return")
        rows = {row.title for row in episode_rows(names.inputs)} if names else None
        _require(_among(titles, rows), "a variable that the task does not have")
        _check_endings(endings, names)
        _check_parts(parts, names)
        _require(_among(claim.credits, names and names.agents), "an agent that the task does not have")


def _check_endings(endings: Iterable[str], names: TaskNames | None) -> None:
    _require(_among({*endings} - {*ENDINGS}, names and names.endings), "an ending that the task does not have")


def _check_parts(parts: Iterable[str], names: TaskNames | None) -> None:
    _require(_among(parts, names and names.parts), "a part that the task's metric does not have")


def _among(claimed: Iterable[str], names: Collection[str] | None) -> bool:
    return names is None or {*claimed} <= {*names}


def measurements(
    answer: Mapping[str, Any], slices: Sequence[SliceSpec], episodes: int, names: TaskNames | None = None
) -> list[PolicyMeasurement]:
    """Return the measurements of an evaluation worker; raise a WorkerError if they are out of contract."""
    measured = _validated(PolicyMeasurement, answer.get("slices"))
    _require_all(measured, slices)
    for measurement in measured:
        _require(len(measurement.outcomes) in (0, episodes, 2 * episodes), "another number of episodes")
        _check_endings((episode.ending for episode in (*measurement.outcomes, *measurement.kept)), names)
        _check_parts(measurement.parts, names)
        _require(_among(measurement.ranges, names and names.inputs), "a variable that the task does not have")
        sizes = {name: len(parts) or 1 for name, parts in names.inputs.items()} if names else {}
        whole = all(len(parts) == sizes.get(name, len(parts)) for name, parts in measurement.ranges.items())
        _require(whole, "another number of parts of a variable")
    return measured


def _validated(kind: type[Record], items: Any) -> list[Record]:
    try:
        return [kind.model_validate(item) for item in items]
    except (ValidationError, RewardgenError, TypeError) as error:
        raise WorkerError(f"the worker answered with a malformed {kind.__name__}: {_first(error)}") from error


def _first(error: ValidationError | RewardgenError | TypeError) -> str:
    if isinstance(error, ValidationError):
        details = error.errors(include_url=False, include_context=False, include_input=False)[0]
        return clean(f"{'.'.join(map(str, details['loc']))}: {details['msg']}", 200)
    return clean(error, 200)


def _key(spec: SliceSpec) -> tuple[str, int]:
    return spec.candidate_id, spec.seed


def _require_all(items: Iterable[SliceSpec], expected: Iterable[SliceSpec]) -> None:
    _require(sorted(map(_key, items)) == sorted(map(_key, expected)), "other slices than those of the job")


def _require(holds: bool, breach: str) -> None:
    if not holds:
        raise WorkerError(f"the worker answered out of contract: {breach}")
