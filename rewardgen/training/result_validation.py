"""What is taken in of the answers of training and evaluation workers: what keeps to the contract, and nothing else.

A training worker ran generated code, so all that it says is a claim. Its curves are shown and decide nothing; the types
of the records bound what they hold, and `ResultValidator` compares them with the job. A breach is the failure of the
whole job. Loads no torch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import AfterValidator, FiniteFloat, ValidationError

from rewardgen.core.errors import RewardgenError, WorkerError
from rewardgen.sandbox.answers import clean
from rewardgen.store.episode_rows import episode_rows
from rewardgen.store.measurements import EpisodeDigest, Outcome, Parts, Range, Share
from rewardgen.store.progress import Progress
from rewardgen.store.records import KeptEpisode, SliceFailure, SliceResult, SliceSpec, TaskCard
from rewardgen.training.artifacts import TrainJob, policy_names

_NAME_CHARS = 120
"""Of an ending or a row's title where the task's own are not known."""

ENDINGS = ("time limit", "physics diverged")
"""How an episode of any task may end."""

Record = TypeVar("Record", bound=SliceSpec)
_Told = Annotated[str, AfterValidator(partial(clean, most=600))]


class PolicyMeasurement(SliceSpec):
    """What a clean worker reports of a slice."""

    fitness: FiniteFloat | None = None
    success_rate: Share | None = None
    parts: Parts = {}
    outcomes: tuple[Outcome, ...] = ()
    ranges: dict[str, tuple[Range, ...]] = {}
    kept: tuple[KeptEpisode, ...] = ()
    problem: _Told = ""


class _OwnFailure(SliceFailure):
    """What a training says of a slice; that one was stopped is for its watcher to say."""

    kind: Literal["exception", "non-finite", "shape", "diverged"]
    message: _Told


class TrainedSlice(SliceResult):
    """What a training worker answers of a slice."""

    failure: _OwnFailure | None = None


class TaskNames(NamedTuple):
    """The names of a task that what is told of its episodes may hold."""

    inputs: Mapping[str, Sequence[str]]
    """Names of the parts of each variable and of `action`; none for a scalar."""
    endings: Collection[str]
    """Its causes of termination."""
    parts: Collection[str] = ()
    """Parts of its metric."""
    agents: Collection[str] = ()
    """Those of a game, where there are several."""

    @classmethod
    def of(cls, card: TaskCard) -> TaskNames:
        """The names on a task's card."""
        return cls(card.input_parts, card.termination_causes, card.parts, card.agents)


class ResultValidator:
    """Takes in the answers of one training job.

    Args:
        job: The job; its settings bound its steps and the number of its evaluations.
        wall_s: Its time limit [s].
        names: Names of the task; anything that may be a name, if not given.
    """

    def __init__(self, job: TrainJob, wall_s: float, names: TaskNames | None = None) -> None:
        self._slices = job.slices
        self._phases = job.settings.evaluation_phases
        self._steps = job.settings.most_env_steps
        self._stops = job.stop_hacking
        self._wall_s = wall_s
        self._names = names
        self._reports = 0

    def progress(self, message: dict[str, Any]) -> Progress:
        """A report within training.

        Raises:
            WorkerError: It is out of contract.
        """
        (told,) = _validated(Progress, [message])
        self._reports += 1
        _require(self._reports <= len(self._slices) * self._phases, "it reports more often than it evaluates")
        _require(_key(told) in map(_key, self._slices), "it reports of a slice that it was not given")
        _require(self._stops or not told.stopped, "it stopped a slice that has to train to the end")
        self._check_steps(told.env_steps)
        return told

    def restart(self) -> None:
        """The worker was killed from outside and is started anew: it will report everything again."""
        self._reports = 0

    def results(self, answer: Mapping[str, Any]) -> list[SliceResult]:
        """The results of all slices, without what a training has no say in: fitness, kept episodes, the policy's name.

        Raises:
            WorkerError: They are out of contract.
        """
        found = _validated(TrainedSlice, answer.get("slices"))
        _require_all(found, self._slices)
        return [self._result(each) for each in found]

    def _result(self, told: TrainedSlice) -> SliceResult:
        self._check_steps(told.env_steps, told.failure.env_steps if told.failure else 0)
        _require(told.wall_s <= self._wall_s, "it took longer than it had")
        self._check_curves(told)
        self._check_names(told)
        if stop := told.stopped:
            _require(self._stops, "it stopped a slice that has to train to the end")
            _require(told.failure is None, "a slice that failed was not stopped")
            self._check_steps(stop.of_env_steps)
            _require(stop.env_steps == told.env_steps <= stop.of_env_steps, "it stopped at no step of the training")
        policy = None if told.failure else policy_names(told)[0]
        measured = {"final_fitness": None, "final_success_rate": None, "final_parts": {}, "outcomes": (), "ranges": {}}
        decided = {**measured, "kept": (), "episodes_file": None, "policy": policy}
        return SliceResult.model_validate(told.model_dump() | decided)

    def _check_steps(self, *counts: int) -> None:
        _require(max(counts) <= self._steps, "it counts more steps than there are")

    def _check_curves(self, told: TrainedSlice) -> None:
        evaluated = [point.env_steps for point in told.curve]
        self._check_steps(0, *evaluated)
        _require(len(evaluated) <= self._phases, "its curve is longer than there are evaluations")
        matches = all([point.env_steps for point in points] == evaluated for points in told.components.values())
        _require(matches, "a component has other points than one for each evaluation")

    def _check_names(self, told: TrainedSlice) -> None:
        """Names of components that the reward has, of variables, endings and parts of a metric that the task has."""
        components, efficiencies = told.components.keys(), told.path_efficiencies
        _require(len(efficiencies) <= len(components), "it tells of more path efficiencies than components")
        named = {each.component for each in efficiencies}.union(*(each.components for each in told.episodes))
        named = named.union(*told.credits.values())
        _require(named <= components, "it tells of a component that the reward does not have")
        names, episodes = self._names, told.episodes
        titles = {each.variable for each in efficiencies}.union(*({*each.variables, *each.stays} for each in episodes))
        rows = {row.title for row in episode_rows(names.inputs)} if names else None
        _require(_among(titles, rows), "it tells of variables that the task does not have")
        over_time = (cause for point in told.curve for cause in point.endings)
        _check_endings([*told.terminations, *over_time, *(each.ending for each in episodes)], names)
        _check_parts({name for each in episodes for name in each.parts}, names)
        _require(_among(told.credits, names and names.agents), "it tells of agents that the task does not have")
        _require(all(each.times_s for each in episodes), "it tells of an episode at no time")
        complete = [len(each.times_s) == len(row) for each in episodes for row in _readings(each)]
        _require(all(complete), "an episode's rows are not as long as its times")


def _readings(digest: EpisodeDigest) -> list[tuple[float, ...]]:
    return [*digest.variables.values(), *digest.components.values()]


def _check_endings(endings: Iterable[str], names: TaskNames | None) -> None:
    _require(_among({*endings} - {*ENDINGS}, names and names.endings), "an ending is none of the task's")


def _check_parts(parts: Iterable[str], names: TaskNames | None) -> None:
    _require(_among(parts, names and names.parts), "it tells of parts that the task's metric does not have")


def _among(told: Iterable[str], known: Collection[str] | None) -> bool:
    """Whether all names are known; if it is not known which there are, whether they are short and printable."""
    if known is None:
        return all(each.isprintable() and len(each) <= _NAME_CHARS for each in told)
    return {*told} <= {*known}


def measurements(
    answer: Mapping[str, Any], slices: Sequence[SliceSpec], episodes: int, names: TaskNames | None = None
) -> list[PolicyMeasurement]:
    """What an evaluation measured, of exactly these slices.

    Args:
        answer: Of the worker.
        slices: That it was given.
        episodes: That each of their policies had.
        names: Names of the task; anything that may be a name, if not given.

    Raises:
        WorkerError: It is out of contract.
    """
    found = _validated(PolicyMeasurement, answer.get("slices"))
    _require_all(found, slices)
    for each in found:
        _require(len(each.outcomes) in (0, episodes, 2 * episodes), "it tells of more or fewer episodes than there are")
        _check_endings((one.ending for one in (*each.outcomes, *each.kept)), names)
        _check_parts(each.parts, names)
        _require(_among(each.ranges, names and names.inputs), "it tells of variables that the task does not have")
        whole = [not names or len(told) == len(names.inputs[name] or [name]) for name, told in each.ranges.items()]
        _require(all(whole), "it tells of more or fewer parts of a variable than there are")
    return found


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


def _key(each: SliceSpec) -> tuple[str, int]:
    return each.candidate_id, each.seed


def _require_all(found: Iterable[SliceSpec], expected: Iterable[SliceSpec]) -> None:
    _require(sorted(map(_key, found)) == sorted(map(_key, expected)), "it tells of other slices than it was given")


def _require(holds: bool, breach: str) -> None:
    if not holds:
        raise WorkerError(f"the worker answered out of contract: {breach}")
