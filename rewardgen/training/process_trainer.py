"""Training in worker processes, from the orchestrator's side: slices to processes, failures to their culprits.

Loads no torch. A training worker's claims decide nothing: fitness comes from `rewardgen.training.measuring`.
"""

from __future__ import annotations

import queue
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from rewardgen.core.errors import MachineError, RewardgenError, RunFolderError, WorkerError
from rewardgen.core.files import explain_os_error, write_atomic
from rewardgen.reward.observation import observed_names
from rewardgen.reward.stages import stage_names
from rewardgen.sandbox.folders import discard
from rewardgen.sandbox.jobs import Job
from rewardgen.sandbox.process import WorkerCancelled, run_worker
from rewardgen.store.progress import Progress
from rewardgen.store.records import RewardSpec, SliceFailure, SliceResult, SliceSpec
from rewardgen.tasks.measure import MEASURE_TASK
from rewardgen.training.artifacts import TrainJob
from rewardgen.training.measuring import evaluated, limits_for
from rewardgen.training.protocol import OnProgress, OnSlice, TrainerSetup
from rewardgen.training.result_validation import ResultValidator

_POLL_S = 0.02
_PROBE_BYTES = 8 << 20
"""More than a training leaves: if this can be written, the disk is not full."""


class Compiled(NamedTuple):
    """Kernels of a device; a device without a `folder` needs none."""

    folder: Path | None = None
    most: int | None = None
    """Slices that fit into the device's memory; None if unknown."""


class ProcessTrainer:
    """A trainer in worker processes, each of which trains a batch of slices; `batches` at a time, or one per worker.

    The worker job goes from a `TrainJob`, as plain data, to `{"slices": results}`. It reports each slice at each
    evaluation, and saves policies under `policy_names`. `compiled` compiles the kernels of the device, if it needs any.
    """

    def __init__(
        self,
        setup: TrainerSetup,
        job: Job,
        *,
        compiled: Callable[[], Compiled] = Compiled,
        batches: int | None = None,
    ) -> None:
        self._setup, self._job, self._compiled = setup, job, cache(compiled)
        self._batches = batches or setup.workers

    def train(
        self,
        rewards: Sequence[RewardSpec],
        slices: Sequence[SliceSpec],
        *,
        folder: Path,
        on_progress: OnProgress,
        on_slice: OnSlice,
        cancel: threading.Event | None = None,
    ) -> None:
        """See `rewardgen.training.protocol.Trainer.train`.

        A worker that crashes, hangs, passes a limit or answers out of contract fails its whole batch. Each candidate of
        the batch is then trained again in its own process, and only the culprit fails again. A worker's claim that the
        task is broken or the disk is full is verified without generated code before it ends the run.
        """
        by_id = {reward.candidate_id: reward for reward in rewards}
        measuring = max(1, self._setup.workers // self._batches)
        work = _Work(self._setup, self._job, by_id, folder, self._compiled().folder, measuring)
        with ThreadPoolExecutor(self._batches, thread_name_prefix="train") as pool:
            try:
                pending = {pool.submit(work.run, batch) for batch in self._divided(slices, by_id)}
                while pending:
                    if cancel is not None and cancel.is_set():
                        work.stop.set()
                    work.announce(on_progress, on_slice, _POLL_S)
                    done = {future for future in pending if future.done()}
                    again = {pool.submit(work.run, batch) for future in done for batch in future.result()}
                    pending = (pending - done) | again
                work.announce(on_progress, on_slice, 0.0)
            except BaseException:
                work.stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _divided(self, slices: Sequence[SliceSpec], rewards: dict[str, RewardSpec]) -> list[list[SliceSpec]]:
        """Divide slices into batches.

        The task's own rewards train apart from generated code, and the policies of a batch see equally many numbers.
        """
        if self._setup.isolate:
            return by_candidate(slices)
        groups: dict[tuple[bool, int, int], list[SliceSpec]] = {}
        for spec in slices:
            reward = rewards[spec.candidate_id]
            seen = len(stage_names(reward.source)), len(observed_names(reward.source))
            groups.setdefault((not reward.is_baseline, *seen), []).append(spec)
        return [batch for _, group in sorted(groups.items()) for batch in split(group, self._parts(len(group)))]

    def _parts(self, slices: int) -> int:
        """Number of batches for some slices: more than run at once where memory has no room for all."""
        most = self._compiled().most
        return max(self._batches, -(-slices // max(1, most // self._batches))) if most else self._batches


def by_candidate(slices: Sequence[SliceSpec]) -> list[list[SliceSpec]]:
    """Group slices by candidate."""
    groups: dict[str, list[SliceSpec]] = {}
    for spec in slices:
        groups.setdefault(spec.candidate_id, []).append(spec)
    return list(groups.values())


def split(slices: Sequence[SliceSpec], workers: int) -> list[list[SliceSpec]]:
    """Spread slices over processes evenly; most candidates keep their seeds together."""
    in_order = [spec for group in by_candidate(slices) for spec in group]
    cuts = [round(number * len(in_order) / workers) for number in range(workers + 1)]
    return [in_order[begin:end] for begin, end in pairwise(cuts) if begin < end]


@dataclass
class _Work:
    """The work of all threads: training a batch, news for the caller, and the event that stops them."""

    setup: TrainerSetup
    job: Job
    rewards: dict[str, RewardSpec]
    folder: Path
    kernels: Path | None
    measuring: int
    """Processes that measure the policies of a batch."""
    news: queue.Queue[Progress | SliceResult] = field(default_factory=queue.Queue)
    stop: threading.Event = field(default_factory=threading.Event)

    def announce(self, on_progress: OnProgress, on_slice: OnSlice, wait_s: float) -> None:
        """Pass news on in the caller's thread; wait up to `wait_s` for the first."""
        with suppress(queue.Empty):
            while True:
                news = self.news.get(wait_s > 0.0, wait_s)
                wait_s = 0.0
                if isinstance(news, Progress):
                    on_progress(news.model_dump())
                else:
                    on_slice(news)

    def run(self, batch: list[SliceSpec]) -> list[list[SliceSpec]]:
        """Train and measure a batch; announce its results, or return batches to train again, one per candidate."""
        try:
            self.setup.scratch.mkdir(parents=True, exist_ok=True)
            scratch = Path(tempfile.mkdtemp(prefix="train-", dir=self.setup.scratch))
        except OSError as error:
            raise explain_os_error(self.setup.scratch, error) from error
        try:
            return self._run(batch, scratch)
        except (WorkerCancelled, MachineError):
            discard(scratch)  # no fault of the candidate, so nothing in it helps to find one
            raise

    def _run(self, batch: list[SliceSpec], scratch: Path) -> list[list[SliceSpec]]:
        try:
            results = self._train(batch, scratch / "train")
        except WorkerCancelled:
            raise
        except RewardgenError as error:
            return self._blame(batch, error, scratch)
        setup = self.setup._replace(scratch=scratch, workers=self.measuring)
        for result in evaluated(setup, results, scratch / "train", self.folder, self.rewards, self.stop):
            self.news.put(result)
        discard(scratch)
        return []

    def _train(self, batch: list[SliceSpec], scratch: Path) -> list[SliceResult]:
        job = TrainJob(
            task=self.setup.task,
            rewards=tuple(self.rewards[id] for id in dict.fromkeys(spec.candidate_id for spec in batch)),
            slices=tuple(batch),
            settings=self.setup.settings,
            folder=str(scratch),
            kernels=str(self.kernels) if self.kernels else None,
        )
        limits = limits_for(len(batch), self.setup.limits, self.setup.settings)
        validator = ResultValidator(job, limits.wall_s, names=self.setup.names)
        answer = run_worker(
            self.job,
            job.model_dump(mode="json"),
            limits=limits,
            scratch=scratch,
            on_message=lambda message: self.news.put(validator.progress(message)),
            # Several candidates are divided instead: each alone needs less memory.
            on_restart=validator.restart if len(job.rewards) == 1 else None,
            cancel=self.stop,
        )
        return validator.results(answer)

    def _blame(self, batch: list[SliceSpec], error: RewardgenError, scratch: Path) -> list[list[SliceSpec]]:
        if not isinstance(error, WorkerError | MachineError):
            self._verify(error, scratch)
        candidates = by_candidate(batch)
        if len(candidates) > 1:
            discard(scratch)
            return candidates
        if isinstance(error, MachineError):
            raise error
        discard(scratch / "train", log="worker.log")  # the rest may be large and helps nobody
        kind = error.kind if isinstance(error, WorkerError) else "crash"
        failure = SliceFailure(kind=kind, message=error.message)
        for spec in batch:
            self.news.put(SliceResult(**spec.model_dump(), failure=failure))
        return []

    def _verify(self, error: RewardgenError, scratch: Path) -> None:
        """Raise if the task or the disk is as broken as a training worker claims."""
        if isinstance(error, RunFolderError):
            write_atomic(scratch / "probe", bytes(_PROBE_BYTES))
            (scratch / "probe").unlink()
        else:
            payload = {"task": self.setup.task}
            run_worker(MEASURE_TASK, payload, limits=self.setup.limits, scratch=scratch / "measure", cancel=self.stop)
