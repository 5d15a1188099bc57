"""Reading and probing rewards in workers: one that crashes or hangs takes down nothing but its own verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rewardgen.core.errors import RewardgenError, WorkerError
from rewardgen.critic.static.detectors import not_read
from rewardgen.sandbox.answers import clean
from rewardgen.sandbox.folders import discard
from rewardgen.sandbox.jobs import Job, register
from rewardgen.sandbox.process import Limits, WorkerCancelled, run_worker
from rewardgen.store.records import Finding, RewardSpec, TaskCard

READ = register("read", "rewardgen.critic.static.job:read_job")
PROBE = register("probe", "rewardgen.critic.probe.job:probe_job", reads=("bank",))

_START_S = 30.0
_EACH_S = 15.0
_READ_EACH_S = 4.0
"""Processor time, a little more than the jobs take before they give a reward up."""
_WALL = 4.0
"""Wall-clock time is so much more: that a machine is busy is no fault of a reward."""
_MEMORY_BYTES = 2 << 30
"""Recorded transitions take a few MiB; a reward that needs gigabytes of temporaries cannot be trained with."""
_MOST_FINDINGS, _NAME_CHARS = 100, 60


class SandboxedProber:
    """Runs the jobs `read`, and `probe` on a bank of recorded transitions.

    Args:
        bank: The bank's file.
        limits: Upper limits of a worker; time and memory are tightened to what each job takes.
        scratch: The workers' folder.
    """

    def __init__(self, bank: Path, limits: Limits, scratch: Path) -> None:
        self._bank = bank.resolve()
        self._limits = limits
        self._scratch = scratch

    def read(self, rewards: Sequence[RewardSpec], card: TaskCard) -> dict[str, tuple[Finding, ...]]:
        """Read all texts in one worker or, if that fails, each in its own.

        Args:
            rewards: With different candidate ids.
            card: The task.

        Returns:
            Findings of the gate `static` by candidate id; only a warning where a text could not be read.

        Raises:
            WorkerCancelled: The run is being stopped.
            SandboxError: No worker can be run here.
        """
        try:
            return self._run(READ, {"card": card.model_dump(mode="json")}, rewards, _READ_EACH_S)
        except WorkerCancelled:
            raise
        except WorkerError as error:
            if len(rewards) == 1:
                return {rewards[0].candidate_id: (not_read(_said(error)),)}
        return {id: findings for reward in rewards for id, findings in self.read([reward], card).items()}

    def probe(self, rewards: Sequence[RewardSpec]) -> dict[str, tuple[Finding, ...]]:
        """Probe all rewards in one worker or, if that fails, each in its own.

        Args:
            rewards: With different candidate ids.

        Returns:
            Findings by candidate id, empty for a sound reward.

        Raises:
            WorkerCancelled: The run is being stopped.
            RewardgenError: The bank cannot be read. That a worker with rewards says so is not enough.
        """
        try:
            return self._probed(rewards)
        except WorkerCancelled:
            raise
        except RewardgenError as error:
            if not rewards:
                raise
            if not isinstance(error, WorkerError):
                self._probed([])
            if len(rewards) == 1:
                return {rewards[0].candidate_id: (_fatal(error),)}
        return {id: findings for reward in rewards for id, findings in self.probe([reward]).items()}

    def _probed(self, rewards: Sequence[RewardSpec]) -> dict[str, tuple[Finding, ...]]:
        return self._run(PROBE, {"bank": str(self._bank)}, rewards, _EACH_S)

    def _run(
        self, job: Job, asked: dict[str, Any], rewards: Sequence[RewardSpec], each_s: float
    ) -> dict[str, tuple[Finding, ...]]:
        payload = asked | {"rewards": [reward.model_dump(mode="json") for reward in rewards]}
        folder = self._scratch / job.name
        discard(folder)
        limits = self._tightened(_START_S + each_s * len(rewards))
        return _findings(job.name, rewards, run_worker(job, payload, limits=limits, scratch=folder))

    def _tightened(self, cpu_s: float) -> Limits:
        wall_s = min(self._limits.wall_s, _WALL * cpu_s)
        memory_bytes = min(self._limits.memory_bytes, _MEMORY_BYTES)
        return self._limits.model_copy(update={"wall_s": wall_s, "cpu_s": cpu_s, "memory_bytes": memory_bytes})


def _findings(job: str, rewards: Sequence[RewardSpec], answer: dict[str, Any]) -> dict[str, tuple[Finding, ...]]:
    """What a worker answered of each reward. It ran them, so this may be anything."""
    try:
        told = {each.candidate_id: answer["findings"][each.candidate_id][:_MOST_FINDINGS] for each in rewards}
        return {id: tuple(_legible(Finding.model_validate(each)) for each in found) for id, found in told.items()}
    except (KeyError, TypeError, ValidationError, RewardgenError) as error:
        raise WorkerError(f"the {job} worker answered with malformed findings") from error


def _legible(finding: Finding) -> Finding:
    texts = {"detector": finding.detector, "message": finding.message, "hint": finding.hint}
    if finding.component is not None:
        texts["component"] = finding.component
    evidence = {clean(name, _NAME_CHARS): value for name, value in finding.evidence.items() if math.isfinite(value)}
    return finding.model_copy(update={**{name: clean(text) for name, text in texts.items()}, "evidence": evidence})


def _said(error: RewardgenError) -> str:
    """The first line of what it says; a worker that ran a reward may say nothing."""
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
        message=f"the reward ends its process: {_said(error)}",
        hint=hints[kind],
    )
