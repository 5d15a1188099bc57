"""Reviewing rewards in worker processes: one that crashes or hangs takes down nothing but its own verdict.

The orchestrator's side. It runs no reward and loads nothing heavy, and believes what a worker says of a reward only as
far as its form goes: the worker ran that reward.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Protocol, TypeVar, get_args

from pydantic import AfterValidator, BeforeValidator, Field, FiniteFloat, ValidationError, WrapValidator

from rewardgen.core.errors import MachineError, RewardgenError, UsageError, WorkerError
from rewardgen.core.schema import Frozen
from rewardgen.critic.registry import outside_modules
from rewardgen.critic.static.detectors import not_read
from rewardgen.sandbox.answers import clean
from rewardgen.sandbox.folders import discard
from rewardgen.sandbox.jobs import Job, register
from rewardgen.sandbox.process import Limits, WorkerCancelled, run_worker
from rewardgen.store.records import Finding, Gate, RewardSpec, TaskCard

REVIEW = register("review", "rewardgen.critic.review_job:review_job", reads=("transitions", "folder"))
COMPARE = register("compare", "rewardgen.critic.review_job:compare_job", reads=("transitions",))

Stage = Literal["static", "probe", "returns", "distances"]
_GATES: dict[Any, Gate] = {"static": "static", "probe": "probe", "returns": "preference", "distances": "duplicate"}
"""For what a stage finds things out."""
OnGate = Callable[[str, Gate], None]
"""Told of a candidate's id and the gate that it has come to."""

_START_S, _EACH_S = 30.0, 15.0
"""Processor time to start a worker, and for each reward: a little more than any of its stages may take."""
_WALL = 4.0
"""Wall-clock time is so much more: that a machine is busy is no fault of a reward."""
_MEMORY_BYTES = 2 << 30
"""Recorded transitions take a few MiB; a reward that needs gigabytes of temporaries cannot be trained with."""
_MOST_FINDINGS, _NAME_CHARS = 100, 60

_Answer = TypeVar("_Answer", bound=Frozen)


def _legible(finding: Finding) -> Finding:
    texts = {"detector": finding.detector, "message": finding.message, "hint": finding.hint}
    if finding.component is not None:
        texts["component"] = finding.component
    evidence = {clean(name, _NAME_CHARS): value for name, value in finding.evidence.items() if math.isfinite(value)}
    return finding.model_copy(update={**{name: clean(text) for name, text in texts.items()}, "evidence": evidence})


def _or_none(value: Any, handler: Any) -> Any:
    try:
        return handler(value)
    except ValidationError:
        return None


_Share = Annotated[float, Field(ge=0.0, le=1.0)]
_Line = Annotated[str, AfterValidator(clean)]
_Name = Annotated[str, AfterValidator(lambda name: clean(name, _NAME_CHARS))]
_Component = Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_]{0,47}$")]


class RewardReview(Frozen):
    """What a worker found out about one reward."""

    findings: Annotated[
        tuple[Annotated[Finding, AfterValidator(_legible)], ...], BeforeValidator(lambda told: told[:_MOST_FINDINGS])
    ] = ()
    """Of the gates `static` and `probe`."""
    returns: Annotated[dict[_Component, list[FiniteFloat]] | None, WrapValidator(_or_none)] = None
    """Component to its sum over each recorded episode; None if it was not tried there or failed."""
    distances: Annotated[dict[str, _Share | None] | None, WrapValidator(_or_none)] = None
    """Distance to other rewards by id, None where it cannot be told; None if it could not be compared at all."""


class BatchReview(Frozen):
    """What was found out about some rewards."""

    reviews: dict[str, RewardReview]
    not_available: tuple[_Line, ...] = ()
    """Detectors that could not be asked, with the reason."""


class Comparison(Frozen):
    """Two rewards side by side."""

    distance: _Share | None
    """How far they are from each other."""
    shares: tuple[dict[_Name, _Share], dict[_Name, _Share]]
    """For each of them, component to its share of the reward's variation."""
    same_name: dict[_Name, _Share | None]
    """Components of both to the distance between the two; None if one of them does not vary."""


class ReviewRequest(NamedTuple):
    """What is asked of a review.

    Attributes:
        rewards: With different candidate ids.
        runnable: Ids of those that are written in the reward language, with inputs of the task; the others are only
            read.
        card: The task.
        files: Names of files of episodes, to sum them up over.
        others: Rewards to compare them with, beside each other; None to compare nothing.
        skip: Stages that are left out; `probe` leaves out what follows it too.
        cancel: Ends all work promptly when set.
        on_gate: Told where the review is, in the caller's thread.
    """

    rewards: Sequence[RewardSpec]
    runnable: frozenset[str]
    card: TaskCard
    files: Sequence[str] = ()
    others: Sequence[RewardSpec] | None = None
    skip: tuple[Stage, ...] = ()
    cancel: threading.Event | None = None
    on_gate: OnGate | None = None


class Reviewer(Protocol):
    """Reads and runs rewards where they can do no harm."""

    def review(self, request: ReviewRequest) -> BatchReview:
        """What can be found out about each of the rewards."""
        ...


class SandboxedReviewer:
    """Runs the job `review`, and `compare`, on a set of recorded transitions.

    Args:
        transitions: Their file.
        limits: Upper limits of a worker; time and memory are tightened to what a review takes.
        scratch: The workers' folder.
        episodes: Folder of the files of episodes.
    """

    def __init__(self, transitions: Path, limits: Limits, scratch: Path, episodes: Path | None = None) -> None:
        self._transitions = transitions.resolve()
        self._limits = limits
        self._scratch = scratch
        self._episodes = episodes.resolve() if episodes else None

    def review(self, request: ReviewRequest) -> BatchReview:
        """Review all rewards in one worker or, if that fails, each in its own.

        Raises:
            WorkerCancelled: It was cancelled.
            MachineError: Something outside keeps killing the worker.
            RewardgenError: The transitions cannot be read, or no worker can be run here. That a worker says so which
                has rewards to run is not enough.
        """
        if len(request.rewards) > 1:
            try:
                return self._reviewed(request)
            except RewardgenError as error:
                self._confirm(error, request)
        reviews: dict[str, RewardReview] = {}
        told = BatchReview(reviews={})
        for reward in request.rewards:
            before = [each for each in request.rewards if each.candidate_id in reviews]
            before = [each for each in before if reviews[each.candidate_id].distances is not None]
            others = None if request.others is None else [*request.others, *before]
            told = self._alone(request._replace(rewards=[reward], others=others))
            reviews |= told.reviews
        return BatchReview(reviews=reviews, not_available=told.not_available)

    def compare(self, one: RewardSpec, other: RewardSpec, card: TaskCard) -> Comparison:
        """Compare two rewards.

        Args:
            one: A reward.
            other: Another, with another id.
            card: Their task.

        Raises:
            UsageError: One of them cannot be computed on the transitions.
            RewardgenError: The transitions cannot be read, or the worker failed.
        """
        answer = self._run(COMPARE, {}, ReviewRequest([one, other], frozenset(), card))
        failed = answer.get("failed")
        if isinstance(failed, dict):
            for id, why in failed.items():
                raise UsageError(f"the reward of {clean(id)} cannot be compared: {clean(why)}")
        return _checked(Comparison, COMPARE, answer)

    def _alone(self, request: ReviewRequest) -> BatchReview:
        """Review one reward. A stage in which it ends its process is left out then, with what that stands for."""
        (reward,) = request.rewards
        ended: dict[Stage, RewardgenError] = {}
        while True:
            begun: deque[Any] = deque(["static"], maxlen=1)
            try:
                told = self._reviewed(request._replace(skip=(*request.skip, *ended)), begun)
                break
            except RewardgenError as error:
                self._confirm(error, request)
                stage: Stage = begun[0] if begun[0] in get_args(Stage) and begun[0] not in ended else "probe"
                if stage in ended:  # it ends its process whatever is left out
                    told = BatchReview(reviews={reward.candidate_id: RewardReview()})
                    break
                ended[stage] = error
        review = told.reviews[reward.candidate_id]
        unread = (not_read(_first_line(ended["static"])),) if "static" in ended else ()
        fatal = (_fatal(ended["probe"]),) if "probe" in ended else ()
        review = review.model_copy(update={"findings": (*unread, *review.findings, *fatal)})
        return told.model_copy(update={"reviews": {reward.candidate_id: review}})

    def _confirm(self, error: RewardgenError, request: ReviewRequest) -> None:
        """Raise an error that is not the rewards' own: of a worker that has none to run."""
        if isinstance(error, WorkerCancelled | MachineError):
            raise error
        self._reviewed(request._replace(rewards=[], others=None))

    def _reviewed(self, request: ReviewRequest, begun: deque[Any] | None = None) -> BatchReview:
        asked: dict[str, Any] = {"runnable": sorted(request.runnable), "skip": list(request.skip)}
        if request.files and self._episodes:
            asked |= {"folder": str(self._episodes), "files": list(request.files)}
        if request.others is not None:
            asked["others"] = [each.model_dump(mode="json") for each in request.others]
        answer = self._run(REVIEW, asked, request, begun)
        told = _checked(BatchReview, REVIEW, answer)
        if missing := {each.candidate_id for each in request.rewards} - set(told.reviews):
            raise WorkerError(f"the review worker answered without {', '.join(sorted(missing))}")
        return told

    def _run(
        self, job: Job, asked: Mapping[str, Any], request: ReviewRequest, begun: deque[Any] | None = None
    ) -> dict[str, Any]:
        payload = {
            **asked,
            "transitions": str(self._transitions),
            "card": request.card.model_dump(mode="json"),
            "rewards": [reward.model_dump(mode="json") for reward in request.rewards],
            "detectors": outside_modules(),
        }
        cpu_s = _START_S + _EACH_S * (len(request.rewards) + len(request.others or ()))
        limits = {
            "cpu_s": cpu_s,
            "wall_s": min(self._limits.wall_s, _WALL * cpu_s),
            "memory_bytes": min(self._limits.memory_bytes, _MEMORY_BYTES),
        }
        folder = self._scratch / job.name
        untold: list[list[Any]] = [[each.candidate_id, stage] for each in request.rewards for stage in _GATES]
        discard(folder)

        def note(message: Mapping[str, Any]) -> None:
            stage, id = message.get("stage"), message.get("candidate_id")
            if begun is not None:
                begun.append(stage)
            # The worker runs rewards: it may say anything, and as often as it likes.
            if request.on_gate and [id, stage] in untold:
                untold.remove([id, stage])
                request.on_gate(str(id), _GATES[stage])

        limited = self._limits.model_copy(update=limits)
        return run_worker(job, payload, limits=limited, scratch=folder, on_message=note, cancel=request.cancel)


def _checked(kind: type[_Answer], job: Job, answer: Mapping[str, Any]) -> _Answer:
    try:
        return kind.model_validate(answer)
    except (KeyError, TypeError, ValidationError, RewardgenError) as error:
        raise WorkerError(f"the {job.name} worker answered with malformed findings") from error


def _first_line(error: RewardgenError) -> str:
    """What it says first; a worker that ran a reward may say nothing."""
    return next(iter(error.message.splitlines()), "it says nothing")


def _fatal(error: RewardgenError) -> Finding:
    hints = {
        "timeout": "compute over the whole batch, without large loops",
        "memory": "keep every tensor at the size of the batch, (N,) or (N, k)",
        "crash": "use plain elementwise torch functions",
    }
    kind = error.kind if isinstance(error, WorkerError) else "crash"
    return Finding(
        gate="probe",
        detector=f"probe-{kind}",
        severity="reject",
        message=f"the reward ends its process: {_first_line(error)}",
        hint=hints[kind],
    )
