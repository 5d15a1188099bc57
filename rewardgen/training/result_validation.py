"""What is taken in of the words of training and evaluation workers: all that is within the contract, and nothing else.

A training worker ran generated code, so everything that it says is a claim. Its curves are shown and decide nothing;
what is shown is of the job's own slices, finite, bounded in number, and has names for names. A breach is the failure of
the whole job. Loads no torch.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from rewardgen.core.errors import RewardgenError, WorkerError
from rewardgen.core.schema import Frozen
from rewardgen.sandbox.answers import clean
from rewardgen.store.measurements import ComponentPoint, EpisodeDigest, EvaluationPoint
from rewardgen.store.records import KeptEpisode, SliceResult, SliceSpec, TrainSettings
from rewardgen.training.artifact_names import policy_names

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,47}")
_COMPONENTS = 33
"""As many as a reward may return, and the residual."""
_EPISODE_STEPS = 1 << 31
"""An evaluation episode may be longer than a short training."""
_VARIABLES, _READINGS, _ENDINGS, _ENDING_CHARS = 256, 16, 64, 120
_MOST = 1e100
"""Largest magnitude, with room for sums of what a float32 holds; its square is still finite."""
_FAILURE_CHARS = 600
_FAILURES = ("exception", "non-finite", "shape", "diverged")
"""What a training says of a slice; that one was stopped is for its watcher to say."""

ENDINGS = ("time limit", "physics diverged")
"""How an episode of any task may end."""

Record = TypeVar("Record", bound=Frozen)


class Progress(Frozen):
    """What a training worker reports of a slice at an evaluation phase."""

    candidate_id: str
    seed: int
    env_steps: int
    fitness: float
    success_rate: float
    stopped: bool = False
    """Whether it is stopped, for its reward rises while its fitness falls."""


class Measured(Frozen):
    """What a clean worker reports of a slice."""

    candidate_id: str
    seed: int
    fitness: float | None = None
    success_rate: float | None = None
    kept: tuple[KeptEpisode, ...] = ()
    problem: str = ""


class TaskNames(NamedTuple):
    """The names of a task that an episode's digest may hold."""

    variables: Collection[str]
    """Its variables, and `action`."""
    endings: Collection[str]
    """Its causes of termination."""


class ResultValidator:
    """Takes in the words of one training job.

    Args:
        slices: Its slices.
        settings: Its settings, which bound its steps and the number of its evaluations.
        wall_s: Time limit of the job [s].
        stops: Whether the job may stop slices early.
        words: Names of the task; anything that may be a name, if not given.
    """

    def __init__(
        self,
        slices: Sequence[SliceSpec],
        settings: TrainSettings,
        wall_s: float,
        *,
        stops: bool = False,
        words: TaskNames | None = None,
    ) -> None:
        self._slices = slices
        self._phases = settings.evaluation_phases
        self._steps = settings.env_steps + 2 * settings.num_envs * settings.rollout_steps
        self._wall_s = wall_s
        self._stops = stops
        self._words = words
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
        self._check_point(told)
        return told

    def results(self, answer: Mapping[str, Any]) -> list[SliceResult]:
        """The results of all slices, without what a training has no say in: fitness, kept episodes, the policy's name.

        Raises:
            WorkerError: They are out of contract.
        """
        found = _validated(SliceResult, answer.get("slices"))
        _require_all(found, self._slices)
        return [self._taken(each) for each in found]

    def _taken(self, result: SliceResult) -> SliceResult:
        self._check(result)
        self._check_stop(result)
        failure = result.failure
        if failure is not None:
            _require(failure.kind in _FAILURES, "it tells of a failure that is not its own to tell")
            _require(0 <= failure.env_steps <= self._steps, "it counts more steps than there are")
            failure = failure.model_copy(update={"message": clean(failure.message, _FAILURE_CHARS)})
        policy = None if failure else policy_names(SliceSpec(candidate_id=result.candidate_id, seed=result.seed))[0]
        decided = {"final_fitness": None, "final_success_rate": None, "kept": (), "episodes_file": None}
        return result.model_copy(update={**decided, "failure": failure, "policy": policy})

    def _check(self, result: SliceResult) -> None:
        _require_numbers(_numbers(result.model_dump(exclude={"episodes"})))
        _require(0 <= result.env_steps <= self._steps, "it counts more steps than there are")
        _require(0.0 <= result.wall_s <= self._wall_s, "it took longer than it had")
        _require(len(result.curve) <= self._phases, "its curve is longer than there are evaluations")
        for point in result.curve:
            self._check_point(point)
        _require(len(result.components) <= _COMPONENTS, "it has too many components")
        _require(all(_NAME.fullmatch(each) for each in result.components), "a component has a name that none can have")
        evaluated = [point.env_steps for point in result.curve]
        for points in result.components.values():
            matches = [point.env_steps for point in points] == evaluated
            _require(matches, "a component has other points than one for each evaluation")
            for point in points:
                self._check_component(point)
        _require(len(result.terminations) <= _ENDINGS, "it has too many endings")
        for ending, share in result.terminations.items():
            self._check_ending(ending)
            _require_share(share)
        self._check_last_evaluation(result)

    def _check_stop(self, result: SliceResult) -> None:
        stop = result.stopped
        if stop is not None:
            _require(self._stops, "it stopped a slice that has to train to the end")
            _require(result.failure is None, "a slice that failed was not stopped")
            fits = 0 <= stop.env_steps == result.env_steps <= stop.of_env_steps <= self._steps
            _require(fits, "it stopped at no step of the training")

    def _check_point(self, point: EvaluationPoint | Progress) -> None:
        _require_numbers(_numbers(point.model_dump()))
        _require(0 <= point.env_steps <= self._steps, "it counts more steps than there are")
        _require_share(point.success_rate)
        if isinstance(point, EvaluationPoint):
            _require_correlation(point.return_correlation)
            _require_correlation(point.success_correlation)

    def _check_component(self, point: ComponentPoint) -> None:
        _require(0 <= point.env_steps <= self._steps, "it counts more steps than there are")
        for share in (point.share, point.activation, point.saturation):
            _require_share(share)
        _require_correlation(point.fitness_correlation)

    def _check_last_evaluation(self, result: SliceResult) -> None:
        components = set(result.components)
        _require(len(result.path_efficiencies) <= len(components), "it tells of more travels than components")
        for travel in result.path_efficiencies:
            _require(travel.component in components, "a travel is of another component than the reward's")
            self._check_variables([travel.variable])
            _require_share(travel.follows)
            _require_share(travel.kept)
        _require(len(result.episodes) <= 3, "it tells of too many episodes")
        for episode in result.episodes:
            self._check_episode(episode, components)

    def _check_episode(self, episode: EpisodeDigest, components: set[str]) -> None:
        # Variables are the task's own and may be anything.
        _require_numbers(_numbers(episode.model_dump(exclude={"variables"})))
        _require(0 <= episode.steps <= _EPISODE_STEPS, "an episode has an impossible length")
        self._check_ending(episode.ending)
        _require(episode.components.keys() <= components, "an episode has other components than the reward")
        self._check_variables(episode.variables)
        readings = [episode.times_s, *episode.variables.values(), *episode.components.values()]
        _require(all(len(each) <= _READINGS for each in readings), "an episode is read too often")

    def _check_variables(self, names: Collection[str]) -> None:
        _require(len(names) <= _VARIABLES, "there are too many variables")
        known = all(each in self._words.variables if self._words else _NAME.fullmatch(each) for each in names)
        _require(known, "it tells of variables that the task does not have")

    def _check_ending(self, ending: str) -> None:
        plain = len(ending) <= _ENDING_CHARS and ending.isprintable()
        known = ending in (*ENDINGS, *self._words.endings) if self._words else plain
        _require(known, "an ending is none of the task's")


def measurements(answer: Mapping[str, Any], slices: Sequence[SliceSpec]) -> list[Measured]:
    """What an evaluation measured, of exactly these slices.

    Raises:
        WorkerError: It is out of contract.
    """
    found = _validated(Measured, answer.get("slices"))
    _require_all(found, slices)
    for each in found:
        if each.fitness is not None and each.success_rate is not None:
            _require(math.isfinite(each.fitness), "a fitness is not finite")
            _require_share(each.success_rate)
    return [each.model_copy(update={"problem": clean(each.problem, _FAILURE_CHARS)}) for each in found]


def take_policies(spec: SliceSpec, left: Path, kept: Path, most: int) -> str:
    """Copy the policy files of a slice to where no training worker can change them. What is in them is checked later.

    Args:
        spec: The slice.
        left: Folder that the training left.
        kept: Folder for the copies.
        most: Largest size of a file [bytes].

    Returns:
        Why the final policy cannot be taken; empty if it was.
    """
    kept.mkdir(parents=True, exist_ok=True)
    final, before = policy_names(spec)
    problems = {name: _copied(left / name, kept / name, most) for name in (final, before) if _is_there(left / name)}
    return next(filter(None, problems.values()), "" if final in problems else "there is no such file")


def _is_there(path: Path) -> bool:
    return os.path.lexists(path)


def _copied(path: Path, to: Path, most: int) -> str:
    """Copy a plain file of bounded size. No link is followed, and of a pipe nothing is waited for."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                return "it is not a plain file"
            if found.st_size > most:
                return f"it is larger than {most >> 20} MiB"
            with to.open("wb") as copy:
                shutil.copyfileobj(file, copy)
    except OSError as error:
        return f"it cannot be read: {error.strerror or error}"
    return ""


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


def _key(each: SliceSpec | SliceResult | Measured | Progress) -> tuple[str, int]:
    return each.candidate_id, each.seed


def _require_all(found: Iterable[SliceResult | Measured], expected: Iterable[SliceSpec]) -> None:
    _require(sorted(map(_key, found)) == sorted(map(_key, expected)), "it tells of other slices than it was given")


def _require(holds: bool, breach: str) -> None:
    if not holds:
        raise WorkerError(f"the worker answered out of contract: {breach}")


def _require_share(value: float) -> None:
    # A sum of parts may be off by a rounding; what is not a number is not between the two either.
    _require(-1e-6 <= value <= 1.0 + 1e-6, "a share is not between 0 and 1")


def _require_numbers(values: Iterable[float]) -> None:
    _require(all(abs(each) <= _MOST for each in values), "a number is not finite, or beyond all measure")


def _require_correlation(value: float | None) -> None:
    _require(value is None or abs(value) <= 1.0 + 1e-6, "a correlation is beyond 1")


def _numbers(value: object) -> Iterator[float]:
    """All numbers in plain data."""
    if isinstance(value, int | float):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _numbers(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _numbers(each)
