"""Trying rewards on recorded episodes in a worker process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, FiniteFloat, TypeAdapter, ValidationError

from rewardgen.core.errors import RewardgenError, WorkerError
from rewardgen.sandbox.folders import discard
from rewardgen.sandbox.jobs import register
from rewardgen.sandbox.process import Limits, WorkerCancelled, run_worker
from rewardgen.store.records import RewardSpec

PRICE = register("price", "rewardgen.critic.pricing:price_job", reads=("folder",))

_START_S = 30.0
_EACH_S = 10.0

Sums = dict[str, list[float]]
"""Component name to its sum over each episode."""
_Name = Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_]{0,47}$")]
_ANSWER = TypeAdapter(dict[str, dict[_Name, list[FiniteFloat]]])


class SandboxedReturnEvaluator:
    """Runs the `price` job on the files of episodes that a run has kept.

    Args:
        folder: Where the files are.
        limits: Upper limits of a worker; time is tightened to what pricing takes.
        scratch: The workers' folder.
    """

    def __init__(self, folder: Path, limits: Limits, scratch: Path) -> None:
        self._folder = folder.resolve()
        self._limits = limits
        self._scratch = scratch

    def price(self, rewards: Sequence[RewardSpec], files: Sequence[str]) -> dict[str, Sums]:
        """What each component of each reward sums up to over each episode.

        Args:
            rewards: Rewards that passed the probe.
            files: Names of files of episodes.

        Returns:
            Sums by candidate id. A reward that fails on the episodes, or ends its process, is left out: training will
            tell more about it than a comparison could. So are all of them if a file is missing or damaged.

        Raises:
            WorkerCancelled: The run is being stopped.
        """
        try:
            return self._run(rewards, files)
        except WorkerCancelled:
            raise
        except RewardgenError:
            if len(rewards) <= 1:
                return {}
        return {id: sums for reward in rewards for id, sums in self.price([reward], files).items()}

    def _run(self, rewards: Sequence[RewardSpec], files: Sequence[str]) -> dict[str, Sums]:
        payload = {
            "folder": str(self._folder),
            "files": list(files),
            "rewards": [reward.model_dump(mode="json") for reward in rewards],
        }
        wall_s = min(self._limits.wall_s, _START_S + _EACH_S * len(rewards))
        limits = self._limits.model_copy(update={"wall_s": wall_s})
        folder = self._scratch / "price"
        discard(folder)
        found = _sums(run_worker(PRICE, payload, limits=limits, scratch=folder))
        return {reward.candidate_id: sums for reward in rewards if (sums := found.get(reward.candidate_id))}


def _sums(answer: dict[str, Any]) -> dict[str, Sums]:
    """What a worker answered. It ran the rewards, so this may be anything."""
    try:
        return _ANSWER.validate_python(answer.get("sums"))
    except ValidationError as error:
        raise WorkerError("the price worker answered out of contract") from error
