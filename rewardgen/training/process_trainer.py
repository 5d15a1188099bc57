"""The orchestrator's side of training in worker processes: slices to processes, failures to their culprits.

Loads no torch. What a training worker says decides nothing: fitness comes from `rewardgen.training.measuring`.
"""

from __future__ import annotations

import queue
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from rewardgen.core.errors import MachineError, RewardgenError, RunFolderError, WorkerError
from rewardgen.core.files import explain_os_error, write_atomic
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
_ROOM_BYTES = 8 << 20
"""More than a training leaves: a disk on which this can be written is not full."""


class Compiled(NamedTuple):
    """What a job needs for its device, and what that has room for.

    Attributes:
        folder: Where the kernels are.
        most: How many slices its memory has room for at a time, if that is known.
    """

    folder: Path
    most: int | None = None


class ProcessTrainer:
    """Trains slices in worker processes, a batch of them in each.

    Args:
        setup: What every trainer is made of.
        job: The worker job that trains: from a `TrainJob`, as plain data, to `{"slices": results}`, with a report of
            each slice at each evaluation and the policies saved under `policy_names`.
        compiled: Compiles what the job needs for its device, where that is not the CPU.
        batches: Batches trained at a time; as many as there are workers if not given.
    """

    def __init__(
        self,
        setup: TrainerSetup,
        job: Job,
        *,
        compiled: Callable[[], Compiled] | None = None,
        batches: int | None = None,
    ) -> None:
        self._setup = setup
        self._job = job
        self._compile = compiled
        self._compiled: Compiled | None = None
        self._batches = batches or setup.workers

    def train(
        self,
        rewards: Sequence[RewardSpec],
        slices: Sequence[SliceSpec],
        *,
        folder: Path,
        on_progress: OnProgress,
        on_slice: OnSlice,
        stop_hacking: bool = False,
        cancel: threading.Event | None = None,
    ) -> None:
        """See `rewardgen.training.protocol.Trainer.train`.

        A worker that crashes, hangs, passes a limit, answers out of contract or is killed from outside takes its whole
        batch down. Then each candidate of the batch is trained again in a process of its own, and only the one that
        does it again has failed; one that is killed from outside is begun anew, and the next time ends the run.
        That a training says that the task cannot be simulated, or the disk is full, is not enough to end the run: it
        must be seen without generated code.
        """
        if self._compile and not self._compiled:
            self._compiled = self._compile()
        by_id = {each.candidate_id: each for each in rewards}
        if self._setup.isolate:
            parts = by_candidate(slices)
        else:
            own = {each.candidate_id for each in rewards if each.own}
            groups = [[each for each in slices if (each.candidate_id in own) == of_task] for of_task in (True, False)]
            parts = [part for group in groups if group for part in split(group, self._parts(len(group)))]
        at_once = self._at_once(len(slices), len(parts))
        kernels, measuring = self._compiled and self._compiled.folder, max(1, self._setup.workers // at_once)
        work = _Work(self._setup, self._job, by_id, folder, kernels, stop_hacking, measuring)
        with ThreadPoolExecutor(at_once, thread_name_prefix="train") as pool:
            try:
                pending = {pool.submit(work.run, part) for part in parts}
                while pending:
                    if cancel is not None and cancel.is_set():
                        work.stop.set()
                    work.announce(on_progress, on_slice, _POLL_S)
                    done = {future for future in pending if future.done()}
                    again = {pool.submit(work.run, part) for future in done for part in future.result()}
                    pending = (pending - done) | again
                work.announce(on_progress, on_slice, 0.0)
            except BaseException:
                work.stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    @property
    def _most(self) -> int | None:
        return self._compiled.most if self._compiled else None

    def _parts(self, slices: int) -> int:
        """Of how many batches slices are, some of which run at the same time: more where memory has no room for all."""
        share = self._most and max(1, self._most // self._batches)
        return max(self._batches, -(-slices // share)) if share else self._batches

    def _at_once(self, slices: int, parts: int) -> int:
        """How many of the batches run at the same time: also the task's own rewards beside the others, if they fit."""
        fits = self._batches == 1 and parts == 2 and self._most is not None and slices <= self._most
        return 2 if fits and self._setup.workers > 1 else self._batches


def by_candidate(slices: Sequence[SliceSpec]) -> list[list[SliceSpec]]:
    """The slices of each candidate."""
    groups: dict[str, list[SliceSpec]] = {}
    for each in slices:
        groups.setdefault(each.candidate_id, []).append(each)
    return list(groups.values())


def split(slices: Sequence[SliceSpec], workers: int) -> list[list[SliceSpec]]:
    """Spread slices over processes evenly, with the seeds of a candidate together if that costs no balance.

    Args:
        slices: The slices.
        workers: Processes.

    Returns:
        The slices of each process that gets any.
    """
    share = -(-len(slices) // workers)
    groups = by_candidate(slices)
    parts: list[list[SliceSpec]] = [[] for _ in range(workers)]
    for group in sorted(groups, key=len, reverse=True):
        min(parts, key=len).extend(group)
    if max(map(len, parts)) > share:
        lined_up = [each for group in groups for each in group]
        cuts = [round(number * len(lined_up) / workers) for number in range(workers + 1)]
        parts = [lined_up[cuts[number] : cuts[number + 1]] for number in range(workers)]
    return [part for part in parts if part]


class _Work:
    """What the threads share: how to run a batch of slices, the news for the caller, and the word to stop."""

    def __init__(
        self,
        setup: TrainerSetup,
        job: Job,
        rewards: dict[str, RewardSpec],
        folder: Path,
        kernels: Path | None,
        stop_hacking: bool,
        measuring: int,
    ) -> None:
        self._setup = setup
        self._job = job
        self._rewards = rewards
        self._folder = folder
        self._kernels = kernels
        self._stop_hacking = stop_hacking
        self._measuring = measuring
        self._news: queue.Queue[Progress | SliceResult] = queue.Queue()
        self.stop = threading.Event()

    def announce(self, on_progress: OnProgress, on_slice: OnSlice, wait_s: float) -> None:
        """Pass on, in the caller's thread, what the workers' threads have to tell; wait so long for the first of it."""
        try:
            while True:
                news = self._news.get(timeout=wait_s) if wait_s else self._news.get_nowait()
                wait_s = 0.0
                if isinstance(news, Progress):
                    on_progress(news.model_dump())
                else:
                    on_slice(news)
        except queue.Empty:
            return

    def run(self, batch: list[SliceSpec]) -> list[list[SliceSpec]]:
        """Train and measure a batch in processes of their own, and have its results announced.

        Returns:
            What has to be done again, each candidate by itself; nothing if all is announced.
        """
        scratch = self._setup.scratch
        try:
            scratch.mkdir(parents=True, exist_ok=True)
            own = Path(tempfile.mkdtemp(prefix="train-", dir=scratch))
        except OSError as error:
            raise explain_os_error(scratch, error) from error
        try:
            return self._run(batch, own)
        except (WorkerCancelled, MachineError):
            discard(own)  # neither is the fault of what ran, so nothing in it is of use
            raise

    def _run(self, batch: list[SliceSpec], own: Path) -> list[list[SliceSpec]]:
        try:
            trained = self._train(batch, own / "train")
        except WorkerCancelled:
            raise
        except RewardgenError as error:
            return self._blame(batch, error, own)
        options = {"folder": self._folder, "scratch": own, "processes": self._measuring, "cancel": self.stop}
        for result in evaluated(self._setup, trained, own / "train", **options):
            self._news.put(result)
        discard(own)
        return []

    def _train(self, batch: list[SliceSpec], scratch: Path) -> list[SliceResult]:
        job = TrainJob(
            task=self._setup.task,
            rewards=tuple(self._rewards[id] for id in dict.fromkeys(each.candidate_id for each in batch)),
            slices=tuple(batch),
            settings=self._setup.settings,
            folder=str(scratch),
            kernels=str(self._kernels) if self._kernels else None,
            stop_hacking=self._stop_hacking,
        )
        limits = limits_for(len(batch), self._setup.limits, self._setup.settings)
        validator = ResultValidator(job, limits.wall_s, names=self._setup.names)

        def report(message: dict[str, Any]) -> None:
            self._news.put(validator.progress(message))

        payload = job.model_dump(mode="json")
        restart = validator.restart if len(job.rewards) == 1 else None  # less memory is needed by each alone
        heard = {"on_message": report, "on_restart": restart, "cancel": self.stop}
        return validator.results(run_worker(self._job, payload, limits=limits, scratch=scratch, **heard))

    def _blame(self, batch: list[SliceSpec], error: RewardgenError, own: Path) -> list[list[SliceSpec]]:
        if not isinstance(error, WorkerError | MachineError):
            self._confirm(error, own)
        candidates = by_candidate(batch)
        if len(candidates) > 1:
            discard(own)
            return candidates
        if isinstance(error, MachineError):
            raise error
        # Of what it left only the log is of use, and it may be a lot.
        discard(own / "train", log="worker.log")
        kind = error.kind if isinstance(error, WorkerError) else "crash"
        failure = SliceFailure(kind=kind, message=error.message)
        for each in batch:
            self._news.put(SliceResult(**each.model_dump(), failure=failure))
        return []

    def _confirm(self, error: RewardgenError, own: Path) -> None:
        """Raise what a training worker says is wrong with the task or the disk if that is so.

        Otherwise one hostile candidate could end the run by saying so.
        """
        if isinstance(error, RunFolderError):
            write_atomic(own / "room", bytes(_ROOM_BYTES))
            (own / "room").unlink()
        else:
            payload = {"task": self._setup.task}
            run_worker(MEASURE_TASK, payload, limits=self._setup.limits, scratch=own / "measure", cancel=self.stop)
