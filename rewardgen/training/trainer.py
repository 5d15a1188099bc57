"""The orchestrator's side of training: slices to worker processes, failures to their culprits, fitness from clean ones.

Loads no torch. Trusts nothing that a training worker says about fitness: that is measured by another process, which
never loads generated code, on the policy files that the first one left.
"""

from __future__ import annotations

import queue
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from rewardgen.errors import RewardgenError, WorkerError
from rewardgen.files import write_atomic
from rewardgen.records import RewardSpec, SliceFailure, SliceResult, SliceSpec, TrainJob, TrainSettings
from rewardgen.sandbox.process import Limits, WorkerCancelled, run_worker
from rewardgen.schema import Frozen
from rewardgen.training.names import policy_names

EPISODES = 16
"""Episodes for the fitness of one policy; a slice has two, its last and the one an evaluation phase before."""
_EVALUATION_SEED = 0
_POLL_S = 0.02

Record = TypeVar("Record", bound=Frozen)
OnProgress = Callable[[dict[str, Any]], None]
OnSlice = Callable[[SliceResult], None]


class Progress(Frozen):
    """What a training worker reports of a slice at an evaluation phase."""

    candidate_id: str
    seed: int
    env_steps: int
    fitness: float
    success_rate: float


class _Measured(Frozen):
    """What a clean worker reports of a slice."""

    candidate_id: str
    seed: int
    fitness: float | None = None
    success_rate: float | None = None
    problem: str = ""


class _Batch(NamedTuple):
    """Slices that train in one process."""

    rewards: tuple[RewardSpec, ...]
    slices: tuple[SliceSpec, ...]

    def by_candidate(self) -> list[_Batch]:
        """One batch for each of its candidates."""
        return [
            _Batch((reward,), tuple(each for each in self.slices if each.candidate_id == reward.candidate_id))
            for reward in self.rewards
        ]


class ProcessTrainer:
    """Trains slices in worker processes, a batch of them in each.

    Args:
        task_reference: Name or path of the task.
        settings: Settings of the training.
        workers: Processes at a time.
        scratch: Folder for the workers' own folders.
        limits: Limits of each worker; its wall-clock time is that of one slice, so a batch has as many times more.
    """

    def __init__(
        self, task_reference: str, settings: TrainSettings, workers: int, scratch: Path, limits: Limits
    ) -> None:
        self._task = task_reference
        self._settings = settings
        self._workers = workers
        self._scratch = scratch
        self._limits = limits

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
        """Train all slices; returns when every one was handed to `on_slice`. A failed slice is a result too.

        A worker that crashes, hangs or takes too much memory takes its whole batch down. Then each candidate of the
        batch is trained again in a process of its own, and only the one that does it again has failed.

        Args:
            rewards: The programs.
            slices: Which candidate to train with which seed.
            folder: Where the policies are kept, as `SliceResult.policy` names them.
            on_progress: Called in this thread with the fields of `Progress`, at each evaluation of each slice.
            on_slice: Called in this thread with each slice's result, its fitness included, as soon as it is known.
            cancel: Ends the workers when set.

        Raises:
            WorkerCancelled: `cancel` was set.
            RewardgenError: The task cannot be simulated, or a file cannot be written.
        """
        work = _Work(self._task, self._settings, self._scratch, self._limits)
        by_id = {reward.candidate_id: reward for reward in rewards}
        with ThreadPoolExecutor(self._workers, thread_name_prefix="train") as pool:
            try:
                pending = {pool.submit(work.run, _batch(part, by_id)) for part in split(slices, self._workers)}
                while pending:
                    if cancel is not None and cancel.is_set():
                        work.stop.set()
                    _hand_over(work.news, folder, on_progress, on_slice)
                    pending = _follow_up(pending, pool, work)
                _hand_over(work.news, folder, on_progress, on_slice, wait_s=0.0)
            except BaseException:
                work.stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise


def split(slices: Sequence[SliceSpec], workers: int) -> list[list[SliceSpec]]:
    """Spread slices over processes evenly, with the seeds of a candidate together if that costs no balance.

    Args:
        slices: The slices.
        workers: Processes.

    Returns:
        The slices of each process that gets any.
    """
    share = -(-len(slices) // workers)
    groups: dict[str, list[SliceSpec]] = {}
    for each in slices:
        groups.setdefault(each.candidate_id, []).append(each)
    parts: list[list[SliceSpec]] = [[] for _ in range(workers)]
    for group in sorted(groups.values(), key=len, reverse=True):
        min(parts, key=len).extend(group)
    if max(map(len, parts)) > share:
        lined_up = [each for group in groups.values() for each in group]
        cuts = [round(number * len(lined_up) / workers) for number in range(workers + 1)]
        parts = [lined_up[cuts[number] : cuts[number + 1]] for number in range(workers)]
    return [part for part in parts if part]


def _batch(slices: Sequence[SliceSpec], rewards: dict[str, RewardSpec]) -> _Batch:
    ids = dict.fromkeys(each.candidate_id for each in slices)
    return _Batch(tuple(rewards[id] for id in ids), tuple(slices))


def _follow_up(pending: set[Future[list[_Batch]]], pool: ThreadPoolExecutor, work: _Work) -> set[Future[list[_Batch]]]:
    """The batches still under way, with what the finished ones left to do again."""
    done = {future for future in pending if future.done()}
    again = [batch for future in done for batch in future.result()]
    return (pending - done) | {pool.submit(work.run, batch) for batch in again}


class _Finished(NamedTuple):
    """A slice's result, and its final policy as a file's content."""

    result: SliceResult
    policy: bytes


def _hand_over(
    news: queue.Queue[Progress | _Finished],
    folder: Path,
    on_progress: OnProgress,
    on_slice: OnSlice,
    wait_s: float = _POLL_S,
) -> None:
    """Pass on, in the caller's thread, what the workers' threads have to tell."""
    try:
        while True:
            item = news.get(timeout=wait_s) if wait_s else news.get_nowait()
            wait_s = 0.0
            if isinstance(item, Progress):
                on_progress(item.model_dump())
                continue
            if item.result.policy:
                write_atomic(folder / item.result.policy, item.policy)
            on_slice(item.result)
    except queue.Empty:
        return


class _Work:
    """What the threads share: how to run a batch, the news for the caller, and the word to stop."""

    def __init__(self, task: str, settings: TrainSettings, scratch: Path, limits: Limits) -> None:
        self._task = task
        self._settings = settings
        self._scratch = scratch
        self._limits = limits
        self.news: queue.Queue[Progress | _Finished] = queue.Queue()
        self.stop = threading.Event()

    def run(self, batch: _Batch) -> list[_Batch]:
        """Train and measure a batch in processes of their own, and announce its results.

        Returns:
            What has to be done again, each candidate by itself; nothing if all is announced.
        """
        self._scratch.mkdir(parents=True, exist_ok=True)
        own = Path(tempfile.mkdtemp(prefix="train-", dir=self._scratch))
        try:
            trained = self._train(batch, own / "train")
        except WorkerCancelled:
            raise
        except WorkerError as error:
            # Its folder stays: the message names the log in it.
            return self._blame(batch, error)
        results = self._measure(trained, own)
        for result in results:
            content = (own / "train" / result.policy).read_bytes() if result.policy else b""
            self.news.put(_Finished(result, content))
        shutil.rmtree(own, ignore_errors=True)
        return []

    def _blame(self, batch: _Batch, error: WorkerError) -> list[_Batch]:
        if len(batch.rewards) > 1:
            return batch.by_candidate()
        failure = SliceFailure(kind=error.kind, message=error.message)
        for each in batch.slices:
            self.news.put(_Finished(SliceResult(**each.model_dump(), failure=failure), b""))
        return []

    def _train(self, batch: _Batch, own: Path) -> list[SliceResult]:
        job = TrainJob(
            task=self._task, rewards=batch.rewards, slices=batch.slices, settings=self._settings, folder=str(own)
        )
        expected = {(each.candidate_id, each.seed) for each in batch.slices}

        def announce(message: dict[str, Any]) -> None:
            (progress,) = _validated(Progress, [message])
            if (progress.candidate_id, progress.seed) in expected:
                self.news.put(progress)

        answer = self._run("train", job.model_dump(mode="json"), own, announce, len(batch.slices))
        results = _validated(SliceResult, answer.get("slices"))
        _require_all(results, expected)
        return [_distrusted(result) for result in results]

    def _measure(self, results: list[SliceResult], own: Path) -> list[SliceResult]:
        """The results with the fitness of the sound slices, from a process that loads no generated code."""
        slices = [SliceSpec(candidate_id=each.candidate_id, seed=each.seed) for each in results if not each.failure]
        found = {(each.candidate_id, each.seed): each for each in self._measured(slices, own)} if slices else {}
        return [each if each.failure else _concluded(each, found[each.candidate_id, each.seed]) for each in results]

    def _measured(self, slices: list[SliceSpec], own: Path) -> list[_Measured]:
        """Measurements of slices: in one process or, if that fails, one for each. Nothing is trained again."""
        try:
            return self._evaluate(slices, own)
        except WorkerCancelled:
            raise
        except WorkerError as error:
            if len(slices) == 1:
                return [_Measured(**slices[0].model_dump(), problem=error.message)]
        return [measured for each in slices for measured in self._measured([each], own)]

    def _evaluate(self, slices: list[SliceSpec], own: Path) -> list[_Measured]:
        payload = {
            "task": self._task,
            "folder": str(own / "train"),
            "slices": [each.model_dump() for each in slices],
            "hidden": self._settings.hidden,
            "seed": _EVALUATION_SEED,
            "episodes": EPISODES,
        }
        answer = self._run("evaluate", payload, own / "evaluate", None, len(slices))
        measured = _validated(_Measured, answer.get("slices"))
        _require_all(measured, {(each.candidate_id, each.seed) for each in slices})
        return measured

    def _run(
        self,
        job: str,
        payload: dict[str, Any],
        scratch: Path,
        on_message: Callable[[dict[str, Any]], None] | None,
        slices: int,
    ) -> dict[str, Any]:
        limits = self._limits.model_copy(update={"wall_s": self._limits.wall_s * slices})
        return run_worker(job, payload, limits=limits, scratch=scratch, on_message=on_message, cancel=self.stop)


def _validated(kind: type[Record], items: Any) -> list[Record]:
    try:
        return [kind.model_validate(item) for item in items]
    except (ValidationError, RewardgenError, TypeError) as error:
        raise WorkerError(f"a worker answered with a malformed {kind.__name__}: {error}") from error


def _require_all(found: Iterable[SliceResult] | Iterable[_Measured], expected: set[tuple[str, int]]) -> None:
    keys = [(each.candidate_id, each.seed) for each in found]
    if sorted(keys) != sorted(expected):
        raise WorkerError("a worker answered for other slices than it was given")


def _distrusted(result: SliceResult) -> SliceResult:
    """A training worker's result without what it has no say in: the fitness, and the name of the policy's file."""
    spec = SliceSpec(candidate_id=result.candidate_id, seed=result.seed)
    policy = None if result.failure else policy_names(spec)[0]
    return result.model_copy(update={"policy": policy, "final_fitness": None, "final_success_rate": None})


def _concluded(result: SliceResult, measured: _Measured) -> SliceResult:
    if measured.problem or measured.fitness is None:
        message = f"its policy could not be measured: {measured.problem}"
        failure = SliceFailure(kind="crash", message=message, env_steps=result.env_steps)
        return result.model_copy(update={"failure": failure, "policy": None})
    rates = {"final_fitness": measured.fitness, "final_success_rate": measured.success_rate}
    return result.model_copy(update=rates)
