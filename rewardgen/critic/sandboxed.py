"""Review rewards in worker processes, and validate the answers.

Imports nothing heavy: the worker runs the rewards, in `rewardgen.critic.review_job`.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, FiniteFloat, ValidationError, WrapValidator

from rewardgen.core.errors import MachineError, RewardgenError, UsageError, WorkerError
from rewardgen.core.schema import Frozen
from rewardgen.critic.detectors import DETECTORS
from rewardgen.sandbox.answers import clean
from rewardgen.sandbox.folders import discard
from rewardgen.sandbox.jobs import Job, register
from rewardgen.sandbox.process import Limits, WorkerCancelled, run_worker
from rewardgen.store.records import Finding, Gate, RewardSpec, TaskCard

REVIEW = register("review", "rewardgen.critic.review_job:review_job", reads=("transitions", "folder"))
COMPARE = register("compare", "rewardgen.critic.review_job:compare_job", reads=("transitions",))

OnGate = Callable[[str, Gate], None]
"""Called with a candidate's id and the gate that its review reaches."""

_GATES: tuple[Gate, ...] = ("probe", "preference", "duplicate")
_START_S, _REWARD_S = 30.0, 15.0
"""Processor time to start a worker, and per reward, a little more than a gate may take [s]."""
_WALL = 4.0
"""Wall-clock time per processor time, for busy machines."""
_MEMORY_BYTES = 2 << 30
"""Memory of a worker; transitions take a few MiB, and a reward that needs gigabytes for them cannot train."""
_MAX_FINDINGS, _NAME_CHARS = 100, 60

_Form = TypeVar("_Form", bound=Frozen)


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
    """A worker's answer on one reward."""

    findings: Annotated[
        tuple[Annotated[Finding, AfterValidator(_legible)], ...], BeforeValidator(lambda items: items[:_MAX_FINDINGS])
    ] = ()
    returns: Annotated[dict[_Component, list[FiniteFloat]] | None, WrapValidator(_or_none)] = None
    """Sum of each component over each recorded episode; None if not reached or failed."""
    distances: Annotated[dict[str, _Share | None] | None, WrapValidator(_or_none)] = None
    """Id of another reward to a distance, None where unknown; None if the reward could not be compared."""


class BatchReview(Frozen):
    """A worker's answer on some rewards."""

    reviews: dict[str, RewardReview]
    not_available: tuple[_Line, ...] = ()
    """Detectors without data, with the reason."""


class RewardPair(Frozen):
    """Two rewards side by side."""

    distance: _Share | None
    shares: tuple[dict[_Name, _Share], dict[_Name, _Share]]
    """Per reward, the components' shares of its variation."""
    same_name: dict[_Name, _Share | None]
    """Common component to its distance; None if it is constant in one reward."""


class ReviewRequest(NamedTuple):
    """Rewards to review, of valid form and with different ids.

    Components are summed over the files of episodes. `others` are further rewards to compare with; None to compare
    nothing.
    """

    rewards: Sequence[RewardSpec]
    card: TaskCard
    files: Sequence[str] = ()
    others: Sequence[RewardSpec] | None = None
    cancel: threading.Event | None = None
    on_gate: OnGate | None = None


class SandboxedReviewer:
    """Run the jobs `review` and `compare` on files of recorded transitions and episodes.

    A review lowers the time and memory of the limits.
    """

    def __init__(self, transitions: Path, limits: Limits, scratch: Path, episodes: Path | None = None) -> None:
        self._transitions = transitions.resolve()
        self._limits = limits
        self._scratch = scratch
        self._episodes = episodes.resolve() if episodes else None

    def review(self, request: ReviewRequest) -> BatchReview:
        """Probe, sum and compare all rewards in one worker or, if it fails, each in a worker of its own.

        Raises:
            WorkerCancelled: `request.cancel` was set.
            MachineError: Something outside keeps killing the worker.
            RewardgenError: The transitions cannot be read, or no worker can run: a worker without rewards fails too.
        """
        if len(request.rewards) > 1:
            try:
                return self._answered(request)
            except RewardgenError as error:
                self._confirm(error, request)
        reviews: dict[str, RewardReview] = {}
        not_available: tuple[str, ...] = ()
        for reward in request.rewards:
            compared = [
                spec
                for spec in request.rewards
                if (review := reviews.get(spec.candidate_id)) and review.distances is not None
            ]
            others = None if request.others is None else [*request.others, *compared]
            try:
                answer = self._answered(request._replace(rewards=[reward], others=others))
                reviews |= answer.reviews
                not_available = answer.not_available
            except RewardgenError as error:
                self._confirm(error, request)
                reviews[reward.candidate_id] = RewardReview(findings=(_fatal(error),))
        return BatchReview(reviews=reviews, not_available=not_available)

    def compare(self, one: RewardSpec, other: RewardSpec, card: TaskCard) -> RewardPair:
        """Compare two rewards with different ids.

        Raises:
            UsageError: One of them cannot be computed on the transitions.
            RewardgenError: The transitions cannot be read, or the worker failed.
        """
        answer = self._run(COMPARE, {}, ReviewRequest([one, other], card))
        failed = answer.get("failed")
        if isinstance(failed, dict):
            for id, why in failed.items():
                raise UsageError(f"the reward of {clean(id)} cannot be compared: {clean(why)}")
        return _validated(RewardPair, COMPARE, answer)

    def _confirm(self, error: RewardgenError, request: ReviewRequest) -> None:
        """Raise an error that a worker without rewards meets too."""
        if isinstance(error, WorkerCancelled | MachineError):
            raise error
        self._answered(request._replace(rewards=[], others=None))

    def _answered(self, request: ReviewRequest) -> BatchReview:
        payload: dict[str, Any] = {}
        if request.files and self._episodes:
            payload |= {"folder": str(self._episodes), "files": list(request.files)}
        if request.others is not None:
            payload["others"] = [spec.model_dump(mode="json") for spec in request.others]
        answer = _validated(BatchReview, REVIEW, self._run(REVIEW, payload, request))
        if missing := {spec.candidate_id for spec in request.rewards} - set(answer.reviews):
            raise WorkerError(f"the review worker answered without {', '.join(sorted(missing))}")
        return answer

    def _run(self, job: Job, payload: Mapping[str, Any], request: ReviewRequest) -> dict[str, Any]:
        payload = {
            **payload,
            "transitions": str(self._transitions),
            "card": request.card.model_dump(mode="json"),
            "rewards": [reward.model_dump(mode="json") for reward in request.rewards],
            "detectors": DETECTORS.outside_modules(),
        }
        cpu_s = _START_S + _REWARD_S * (len(request.rewards) + len(request.others or ()))
        limits = {
            "cpu_s": cpu_s,
            "wall_s": min(self._limits.wall_s, _WALL * cpu_s),
            "memory_bytes": min(self._limits.memory_bytes, _MEMORY_BYTES),
        }
        folder = self._scratch / job.name
        expected: list[tuple[Any, Any]] = [(reward.candidate_id, gate) for reward in request.rewards for gate in _GATES]
        discard(folder)

        def note(message: Mapping[str, Any]) -> None:
            # The worker runs rewards, so it may send any message any number of times.
            step: tuple[Any, Any] = (message.get("candidate_id"), message.get("gate"))
            if request.on_gate and step in expected:
                expected.remove(step)
                request.on_gate(*step)

        limited = self._limits.model_copy(update=limits)
        return run_worker(job, payload, limits=limited, scratch=folder, on_message=note, cancel=request.cancel)


def _validated(form: type[_Form], job: Job, answer: Mapping[str, Any]) -> _Form:
    try:
        return form.model_validate(answer)
    except (KeyError, TypeError, ValidationError, RewardgenError) as error:
        raise WorkerError(f"the {job.name} worker answered with malformed findings") from error


def _fatal(error: RewardgenError) -> Finding:
    """Return the rejection of a reward that ends its worker."""
    hints = {
        "timeout": "compute over the whole batch, without large loops",
        "memory": "keep every tensor at the size of the batch, (N,) or (N, k)",
        "crash": "use plain elementwise torch functions",
    }
    kind = error.kind if isinstance(error, WorkerError) else "crash"
    first_line = next(iter(error.message.splitlines()), "no message")
    return Finding(
        gate="probe",
        detector=f"probe-{kind}",
        severity="reject",
        message=f"the reward ends its process: {first_line}",
        hint=hints[kind],
    )
