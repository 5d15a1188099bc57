"""Measuring how far rewards are from each other, in a worker process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rewardgen.core.errors import RewardgenError, UsageError, WorkerError
from rewardgen.critic.duplicates import Distance
from rewardgen.sandbox.answers import clean
from rewardgen.sandbox.folders import discard
from rewardgen.sandbox.jobs import Job, register
from rewardgen.sandbox.process import Limits, WorkerCancelled, run_worker
from rewardgen.store.records import RewardSpec, TaskCard

DISTANCE = register("distance", "rewardgen.critic.distances:distance_job", reads=("bank",))
COMPARE = register("compare", "rewardgen.critic.distances:compare_job", reads=("bank",))

_START_S = 30.0
_EACH_S = 10.0
_MEMORY_BYTES = 2 << 30
_MOST_COMPONENTS, _NAME_CHARS = 100, 60


class Comparison(NamedTuple):
    """Two rewards side by side.

    Attributes:
        gap: How far they are from each other.
        shares: For each of them, component to its share of the reward's variation.
        same_name: Components of both to the distance between the two; None if one of them does not vary.
    """

    gap: Distance
    shares: tuple[dict[str, float], dict[str, float]]
    same_name: dict[str, float | None]


class SandboxedRewardDistance:
    """Runs the jobs `distance` and `compare` on a bank of recorded transitions.

    Args:
        bank: The bank's file.
        limits: Upper limits of a worker; time and memory are tightened to what measuring takes.
        scratch: The workers' folder.
    """

    def __init__(self, bank: Path, limits: Limits, scratch: Path) -> None:
        self._bank = bank.resolve()
        self._limits = limits
        self._scratch = scratch

    def gaps(
        self, rewards: Sequence[RewardSpec], others: Sequence[RewardSpec], card: TaskCard
    ) -> dict[str, dict[str, Distance]]:
        """How far each reward is from every other one.

        Args:
            rewards: Rewards that passed the probe.
            others: Rewards that were accepted before.
            card: Their task.

        Returns:
            Gaps by the reward's id and the other's. A reward that ends its process, or fails, is left out.

        Raises:
            WorkerCancelled: The run is being stopped.
            RewardgenError: The bank cannot be read. That a worker with rewards says so is not enough.
        """
        try:
            return _gaps(self._run(DISTANCE, rewards, others, card), rewards, others)
        except WorkerCancelled:
            raise
        except RewardgenError as error:
            if not isinstance(error, WorkerError):
                self._run(DISTANCE, [], [], card)
            if len(rewards) == 1:
                return {}
        return self._one_by_one(rewards, others, card)

    def _one_by_one(
        self, rewards: Sequence[RewardSpec], others: Sequence[RewardSpec], card: TaskCard
    ) -> dict[str, dict[str, Distance]]:
        """Each against those before it that did not end the process."""
        found: dict[str, dict[str, Distance]] = {}
        for each in rewards:
            before = [other for other in rewards if other.candidate_id in found]
            found |= self.gaps([each], [*others, *before], card)
        return found

    def compare(self, one: RewardSpec, other: RewardSpec, card: TaskCard) -> Comparison:
        """Compare two rewards.

        Args:
            one: A reward.
            other: Another, with another id.
            card: Their task.

        Raises:
            UsageError: One of them cannot be computed on the bank.
            RewardgenError: The bank cannot be read, or the worker failed.
        """
        answer = self._run(COMPARE, [one, other], [], card)
        try:
            for id, why in answer["failed"].items():
                raise UsageError(f"the reward of {clean(id)} cannot be compared: {clean(why)}")
            first, second = answer["components"]
            return Comparison(_gap(answer["gap"]), (_named(first), _named(second)), _named(answer["same_name"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise WorkerError("the compare worker answered out of contract") from error

    def _run(
        self, job: Job, rewards: Sequence[RewardSpec], others: Sequence[RewardSpec], card: TaskCard
    ) -> dict[str, Any]:
        payload = {
            "bank": str(self._bank),
            "rewards": [each.model_dump(mode="json") for each in rewards],
            "others": [each.model_dump(mode="json") for each in others],
            "discount": card.discount,
            "terminates": bool(card.termination_causes),
        }
        wall_s = min(self._limits.wall_s, _START_S + _EACH_S * (len(rewards) + len(others)))
        memory_bytes = min(self._limits.memory_bytes, _MEMORY_BYTES)
        limits = self._limits.model_copy(update={"wall_s": wall_s, "memory_bytes": memory_bytes})
        folder = self._scratch / job.name
        discard(folder)
        return run_worker(job, payload, limits=limits, scratch=folder)


def _gaps(
    answer: dict[str, Any], rewards: Sequence[RewardSpec], others: Sequence[RewardSpec]
) -> dict[str, dict[str, Distance]]:
    """What a worker answered of each reward. It ran them, so this may be anything."""
    ids = [each.candidate_id for each in rewards]
    known = {*ids, *(each.candidate_id for each in others)}
    try:
        told = answer["distances"]
        return {id: {other: _gap(told[id][other]) for other in known & set(told[id])} for id in ids if id in told}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise WorkerError("the distance worker answered out of contract") from error


def _gap(told: Mapping[str, Any]) -> Distance:
    return Distance(_share(told["recorded"]), _share(told["beyond"]))


def _share(value: Any) -> float | None:
    if value is None:
        return None
    # No test for NaN, which fails this one, nor for infinity: an integer may be too large to be asked.
    if not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        raise ValueError("not a number between 0 and 1")
    return float(value)


def _named(told: Mapping[str, Any]) -> dict[str, Any]:
    """Component names, as an identifier is, to numbers between 0 and 1."""
    return {clean(name, _NAME_CHARS): _share(value) for name, value in list(told.items())[:_MOST_COMPONENTS]}
