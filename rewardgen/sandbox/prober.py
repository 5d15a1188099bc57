"""Probing rewards in a worker process, so that one that crashes or hangs takes down nothing but its own verdict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rewardgen.errors import WorkerError
from rewardgen.records import Finding, RewardSpec
from rewardgen.sandbox.process import Limits, WorkerCancelled, run_worker

_START_S = 30.0
_EACH_S = 15.0
_MEMORY_BYTES = 2 << 30
"""Recorded transitions take a few MiB; a reward that needs gigabytes of temporaries cannot be trained with."""


class SandboxedProber:
    """Runs the `probe` job on a bank of recorded transitions.

    Args:
        bank: The bank's file.
        limits: Upper limits of a worker; time and memory are tightened to what probing takes.
        scratch: The workers' folder.
    """

    def __init__(self, bank: Path, limits: Limits, scratch: Path) -> None:
        self._bank = bank.resolve()
        self._limits = limits
        self._scratch = scratch

    def probe(self, rewards: Sequence[RewardSpec]) -> dict[str, tuple[Finding, ...]]:
        """Probe all rewards in one worker or, if that fails, each in its own.

        Args:
            rewards: With different candidate ids.

        Returns:
            Findings by candidate id, empty for a sound reward.

        Raises:
            WorkerCancelled: The run is being stopped.
            RewardgenError: The bank cannot be read.
        """
        try:
            return self._run(rewards)
        except WorkerCancelled:
            raise
        except WorkerError as error:
            if len(rewards) == 1:
                return {rewards[0].candidate_id: (_fatal(error),)}
        return {id: findings for reward in rewards for id, findings in self.probe([reward]).items()}

    def _run(self, rewards: Sequence[RewardSpec]) -> dict[str, tuple[Finding, ...]]:
        payload = {"bank": str(self._bank), "rewards": [reward.model_dump(mode="json") for reward in rewards]}
        result = run_worker("probe", payload, limits=self._tightened(len(rewards)), scratch=self._scratch / "probe")
        found = result["findings"]
        return {
            reward.candidate_id: tuple(Finding.model_validate(each) for each in found[reward.candidate_id])
            for reward in rewards
        }

    def _tightened(self, rewards: int) -> Limits:
        wall_s = min(self._limits.wall_s, _START_S + _EACH_S * rewards)
        memory_bytes = min(self._limits.memory_bytes, _MEMORY_BYTES)
        return self._limits.model_copy(update={"wall_s": wall_s, "memory_bytes": memory_bytes})


def _fatal(error: WorkerError) -> Finding:
    hints = {
        "timeout": "compute over the whole batch, without large loops",
        "memory": "keep every tensor at the size of the batch, (N,) or (N, k)",
        "crash": "use plain elementwise torch functions",
    }
    return Finding(
        gate="probe",
        detector=f"probe-{error.kind}",
        severity="reject",
        message=f"the reward ends its process: {error.message.splitlines()[0]}",
        hint=hints[error.kind],
    )
