"""The orchestrator's side of training: slices to worker processes, failures to their culprits, fitness from clean ones.

Loads no torch. Trusts nothing that a training worker says about fitness: that is measured by another process, which
never loads generated code, on the policy files that the first one left.
"""

from __future__ import annotations

import queue
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from rewardgen.core.errors import RewardgenError, RunFolderError, WorkerError
from rewardgen.core.files import write_atomic
from rewardgen.sandbox.folders import discard
from rewardgen.sandbox.jobs import Job, register
from rewardgen.sandbox.process import Limits, WorkerCancelled, run_worker
from rewardgen.store.records import RewardSpec, SliceFailure, SliceResult, SliceSpec, TrainJob, TrainSettings
from rewardgen.tasks.measure import TASK_FILES
from rewardgen.training.artifacts import episodes_name, take_policies
from rewardgen.training.protocol import POLICY_KINDS
from rewardgen.training.result_validation import Measured, Progress, ResultValidator, TaskNames, measurements
from rewardgen.training.transition_cache import RECORD_TRANSITIONS

TRAIN = register("train", "rewardgen.training.ppo.train_job:train_job", inputs=TASK_FILES)
EVALUATE = register(
    "evaluate", "rewardgen.training.clean_evaluation:evaluate_job", reads=("folder",), inputs=TASK_FILES
)

EPISODES = 16
"""Episodes for the fitness of one policy; a slice has two, its last and the one an evaluation phase before."""
_EVALUATION_SEED = 0
_POLL_S = 0.02
_POLICY_BYTES = 64 << 20
_ROOM_BYTES = 8 << 20
"""More than a training leaves: a disk on which this can be written is not full."""

OnProgress = Callable[[dict[str, Any]], None]
OnSlice = Callable[[SliceResult], None]


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
        isolate: Whether each candidate trains in a process of its own, with all its seeds.
        names: Names of the task; without them, an episode's digest may hold any that look like names.
    """

    def __init__(
        self,
        task_reference: str,
        settings: TrainSettings,
        workers: int,
        scratch: Path,
        limits: Limits,
        *,
        isolate: bool = False,
        names: TaskNames | None = None,
    ) -> None:
        self._workers = workers
        self._isolate = isolate
        self._job = _Job(task_reference, settings, scratch, limits, names)

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
        """Train all slices; returns when every one was handed to `on_slice`. A failed slice is a result too.

        A worker that crashes, hangs, passes a limit or answers out of contract takes its whole batch down. Then each
        candidate of the batch is trained again in a process of its own, and only the one that does it again has failed.

        Args:
            rewards: The programs.
            slices: Which candidate to train with which seed.
            folder: Where the policies are kept, as `SliceResult.policy` names them.
            on_progress: Called in this thread with the fields of `Progress`, at each evaluation of each slice.
            on_slice: Called in this thread with each slice's result, its fitness included, as soon as it is known.
            stop_hacking: Whether to stop slices whose reward rises while their fitness falls.
            cancel: Ends the workers when set.

        Raises:
            WorkerCancelled: `cancel` was set.
            RewardgenError: The task cannot be simulated, or a file cannot be written. That a training says so is not
                enough: it must be seen without generated code.
        """
        work = _Work(self._job, stop_hacking)
        by_id = {reward.candidate_id: reward for reward in rewards}
        with ThreadPoolExecutor(self._workers, thread_name_prefix="train") as pool:
            try:
                pending = {pool.submit(work.run, _batch(part, by_id)) for part in self._split(slices)}
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

    def _split(self, slices: Sequence[SliceSpec]) -> list[list[SliceSpec]]:
        return list(by_candidate(slices).values()) if self._isolate else split(slices, self._workers)


def by_candidate(slices: Sequence[SliceSpec]) -> dict[str, list[SliceSpec]]:
    """The slices of each candidate."""
    groups: dict[str, list[SliceSpec]] = {}
    for each in slices:
        groups.setdefault(each.candidate_id, []).append(each)
    return groups


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
    """A slice's result, and the files that go with it: name to content."""

    result: SliceResult
    files: dict[str, bytes]


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
            for name, content in item.files.items():
                write_atomic(folder / name, content)
            on_slice(item.result)
    except queue.Empty:
        return


class _Job(NamedTuple):
    """What all batches of a trainer have in common."""

    task: str
    settings: TrainSettings
    scratch: Path
    limits: Limits
    names: TaskNames | None


class _Work:
    """What the threads share: how to run a batch, the news for the caller, and the word to stop."""

    def __init__(self, job: _Job, stop_hacking: bool) -> None:
        self._job = job
        self._stop_hacking = stop_hacking
        self.news: queue.Queue[Progress | _Finished] = queue.Queue()
        self.stop = threading.Event()

    def run(self, batch: _Batch) -> list[_Batch]:
        """Train and measure a batch in processes of their own, and announce its results.

        Returns:
            What has to be done again, each candidate by itself; nothing if all is announced.
        """
        self._job.scratch.mkdir(parents=True, exist_ok=True)
        own = Path(tempfile.mkdtemp(prefix="train-", dir=self._job.scratch))
        try:
            trained = self._train(batch, own / "train")
        except WorkerCancelled:
            raise
        except RewardgenError as error:
            return self._blame(batch, error, own)
        for result in self._measure(trained, own):
            self.news.put(_Finished(result, _files(result, own)))
        discard(own)
        return []

    def _blame(self, batch: _Batch, error: RewardgenError, own: Path) -> list[_Batch]:
        if not isinstance(error, WorkerError):
            self._confirm(error, own)
        if len(batch.rewards) > 1:
            discard(own)
            return batch.by_candidate()
        # Of what it left only the log is of use, and it may be a lot.
        discard(own / "train", log="worker.log")
        kind = error.kind if isinstance(error, WorkerError) else "crash"
        failure = SliceFailure(kind=kind, message=error.message)
        for each in batch.slices:
            self.news.put(_Finished(SliceResult(**each.model_dump(), failure=failure), {}))
        return []

    def _confirm(self, error: RewardgenError, own: Path) -> None:
        """Raise what a training worker says is wrong with the task or the disk if that is so.

        Otherwise one hostile candidate could end the run by saying so.
        """
        if isinstance(error, RunFolderError):
            write_atomic(own / "room", bytes(_ROOM_BYTES))
            (own / "room").unlink()
        else:
            payload = {"task": self._job.task, "path": str(own / "transitions" / "transitions.npz")}
            self._run(RECORD_TRANSITIONS, payload, own / "transitions", None, 1)

    def _train(self, batch: _Batch, own: Path) -> list[SliceResult]:
        task, settings = self._job.task, self._job.settings
        job = TrainJob(
            task=task,
            rewards=batch.rewards,
            slices=batch.slices,
            settings=settings,
            folder=str(own),
            stop_hacking=self._stop_hacking,
        )
        wall_s = self._job.limits.wall_s * len(batch.slices)
        validator = ResultValidator(batch.slices, settings, wall_s, stops=self._stop_hacking, names=self._job.names)

        def announce(message: dict[str, Any]) -> None:
            self.news.put(validator.progress(message))

        answer = self._run(TRAIN, job.model_dump(mode="json"), own, announce, len(batch.slices))
        return validator.results(answer)

    def _measure(self, results: list[SliceResult], own: Path) -> list[SliceResult]:
        """The results with the fitness of the sound slices, from a process that loads no generated code."""
        most = min(_POLICY_BYTES, self._job.limits.file_bytes)
        specs = {each.spec: each for each in results if not each.failure}
        problems = {spec: take_policies(spec, own / "train", own / "policies", most) for spec in specs}
        sound = [spec for spec, problem in problems.items() if not problem]
        found = {spec: Measured(**spec.model_dump(), problem=problem) for spec, problem in problems.items() if problem}
        found |= {each.spec: each for each in self._measured(sound, own)} if sound else {}
        return [each if each.failure else _concluded(each, found[each.spec]) for each in results]

    def _measured(self, slices: list[SliceSpec], own: Path) -> list[Measured]:
        """Measurements of slices: in one process or, if that fails, one for each. Nothing is trained again."""
        try:
            return self._evaluate(slices, own)
        except WorkerCancelled:
            raise
        except WorkerError as error:
            if len(slices) == 1:
                return [Measured(**slices[0].model_dump(), problem=error.message)]
        return [measured for each in slices for measured in self._measured([each], own)]

    def _evaluate(self, slices: list[SliceSpec], own: Path) -> list[Measured]:
        payload = {
            "task": self._job.task,
            "folder": str(own / "policies"),
            "slices": [each.model_dump() for each in slices],
            "kinds": {kind: POLICY_KINDS.get(kind) for kind in POLICY_KINDS.names()},
            "seed": _EVALUATION_SEED,
            "episodes": EPISODES,
            "keep": str(own / "evaluate"),
        }
        return measurements(self._run(EVALUATE, payload, own / "evaluate", None, len(slices)), slices)

    def _run(
        self,
        job: Job,
        payload: dict[str, Any],
        scratch: Path,
        on_message: Callable[[dict[str, Any]], None] | None,
        slices: int,
    ) -> dict[str, Any]:
        limits = self._job.limits
        most = min(limits.answer_bytes, answer_bytes(slices, self._job.settings))
        limits = limits.model_copy(update={"wall_s": limits.wall_s * slices, "answer_bytes": most})
        return run_worker(job, payload, limits=limits, scratch=scratch, on_message=on_message, cancel=self.stop)


def answer_bytes(slices: int, settings: TrainSettings) -> int:
    """Room for all that the worker of so many slices may have to say [bytes]; each byte costs this process several."""
    return (1 << 20) + slices * ((128 << 10) + settings.evaluation_phases * (16 << 10))


def _concluded(result: SliceResult, measured: Measured) -> SliceResult:
    if measured.problem or measured.fitness is None:
        message = f"its policy could not be measured: {measured.problem}"
        failure = SliceFailure(kind="crash", message=message, env_steps=result.env_steps)
        return result.model_copy(update={"failure": failure, "policy": None})
    rates = {"final_fitness": measured.fitness, "final_success_rate": measured.success_rate}
    episodes = episodes_name(result.spec) if measured.kept else None
    return result.model_copy(update={**rates, "kept": measured.kept, "episodes_file": episodes})


def _files(result: SliceResult, own: Path) -> dict[str, bytes]:
    """What is kept of a slice: its final policy, and the episodes that the clean process recorded with it."""
    places = {result.policy: own / "policies", result.episodes_file: own / "evaluate"}
    return {name: (folder / name).read_bytes() for name, folder in places.items() if name}
