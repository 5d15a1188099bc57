"""The executor `slurm`: each candidate, with all its seeds, is one job of a Slurm array, submitted by submitit.

A job is a node of `rewardgen.extras.ray.node`. It leaves its messages and files in a folder beside the policies, on the
file system that all machines share; only this process writes to the run. submitit is loaded when a run asks for it.
"""

from __future__ import annotations

import json
import math
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rewardgen.core.errors import MachineError, UsageError, did_you_mean
from rewardgen.core.extras import install_hint
from rewardgen.core.files import write_atomic
from rewardgen.extras.ray.node import order_of, result_of, software, train_on_node
from rewardgen.extras.ray.task_files import packed
from rewardgen.sandbox.folders import discard
from rewardgen.sandbox.process import WorkerCancelled
from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.training.process_trainer import by_candidate
from rewardgen.training.protocol import EXECUTORS, ExecutorKind, ExecutorSetup, OnProgress, OnSlice

_POLL_S = 0.5
_LAG_S = 30.0
"""Time after a job's end within which the file system may still show files of it."""
_SPARE_S, _SPARE_BYTES = 900.0, 2 << 30
"""Beyond a training's limits, for measuring its policies and for the job's own process."""
_ENVIRONMENT = "PATH,HOME,USER,LANG,LD_LIBRARY_PATH,PYTHONPATH,VIRTUAL_ENV,XDG_CACHE_HOME,MUJOCO_GL"
"""Variables that jobs inherit: API keys stay on the machine of the run."""
_AGAIN = "finished trainings are kept: see `sacct`, then `rewardgen resume latest`"
_CLUSTERS = ("slurm", "local")


def require_submitit() -> Any:
    """Import submitit; raise a UsageError if it is not installed."""
    try:
        import submitit
    except ImportError as error:
        raise UsageError("`--executor slurm` needs the package submitit", install_hint("slurm")) from error
    return submitit


class _Running:
    def __init__(self, job: Any, id: str, place: Path) -> None:
        self.job, self.id, self.place = job, id, place
        self._read, self._ended = 0, math.inf

    def news(self) -> Iterator[dict[str, Any]]:
        while (path := self.place / f"{self._read}.json").is_file():
            self._read += 1
            yield json.loads(path.read_bytes())

    def ended_s(self) -> float:
        """Return for how long the job has ended [s], negative while it runs."""
        if self._ended == math.inf and self.job.done():
            self._ended = time.monotonic()
        return time.monotonic() - self._ended

    def last_words(self) -> str:
        with suppress(Exception):  # whatever the log is missing for
            return (self.job.stderr() or "").strip().splitlines()[-1][:200]
        return "it left no log"


class SlurmTrainer:
    """Trains each candidate as a job, by an ordinary trainer."""

    def __init__(self, job: ExecutorSetup) -> None:
        self._submitit, self._setup, self._most = require_submitit(), job.setup, job.at_once
        self._cluster = job.cluster or "slurm"
        if self._cluster not in _CLUSTERS:
            hint = f"{did_you_mean(self._cluster, _CLUSTERS)}; Slurm itself reads SBATCH_PARTITION and SBATCH_ACCOUNT"
            raise UsageError(f"`--cluster {self._cluster}` is no cluster of the executor slurm", hint)
        if self._cluster == "slurm" and not shutil.which("sbatch"):
            hint = "start the run on a login node, or try it on this machine with `--cluster local`"
            raise MachineError("there is no Slurm here: `sbatch` is missing", hint)
        task, self._files = packed(job.setup.task, job.task_files)
        self._order = order_of(job, task)

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

        A candidate whose job ends without its results is submitted once more; if that job does too, the run ends.
        """
        folder.mkdir(parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(prefix=".slurm-", dir=folder)).resolve()
        for name, content in self._files.items():
            write_atomic(place / "task" / name, content)
        sources = {reward.candidate_id: reward for reward in rewards}
        missing = {group[0].candidate_id: {spec.seed: spec for spec in group} for group in by_candidate(slices)}
        repeated, running = set[str](), list[_Running]()
        executor = self._executor(place, max(map(len, missing.values())))

        def submit(ids: Sequence[str]) -> None:
            places = [Path(tempfile.mkdtemp(prefix="job-", dir=place)) for _ in ids]
            orders = [
                self._order
                | {"reward": sources[id].model_dump(), "slices": [spec.model_dump() for spec in missing[id].values()]}
                for id in ids
            ]
            count = range(len(ids))
            jobs = executor.map_array(_on_node, places, [software() for _ in count], orders)
            running.extend(_Running(*one) for one in zip(jobs, ids, places, strict=True))

        try:
            submit([*missing])
            while running:
                for one in [*running]:
                    ended_s = one.ended_s()  # before its last messages are read
                    for news in one.news():
                        if "progress" in news:
                            on_progress(news["progress"])
                            continue
                        result = result_of(news, lambda name, at=one.place: (at / name).read_bytes(), folder)
                        del missing[one.id][result.seed]
                        on_slice(result)
                    if ended_s >= (_LAG_S if missing[one.id] and self._cluster == "slurm" else 0.0):
                        running.remove(one)
                        if missing[one.id] and one.id in repeated:
                            message = f"the job of {one.id} ended without results twice: {one.last_words()}"
                            raise MachineError(message, _AGAIN)
                        if missing[one.id]:
                            repeated.add(one.id)
                            submit([one.id])
                if cancel is not None and cancel.is_set():
                    raise WorkerCancelled("the training was cancelled")
                time.sleep(_POLL_S)
        finally:
            for one in running:
                one.job.cancel(check=False)
            discard(place)

    def _executor(self, place: Path, seeds: int) -> Any:
        limits = self._setup.limits
        executor = self._submitit.AutoExecutor(place / "log", cluster=self._cluster)
        executor.update_parameters(
            name="rewardgen",
            timeout_min=math.ceil((limits.wall_s * seeds + _SPARE_S) / 60),
            cpus_per_task=1,
            mem_gb=math.ceil((limits.memory_bytes + _SPARE_BYTES) / (1 << 30)),
            slurm_array_parallelism=self._most or 256,
            slurm_additional_parameters={"export": _ENVIRONMENT},
        )
        if getattr(self._setup.settings, "device", "cpu") == "cuda":
            executor.update_parameters(gpus_per_node=1)
        return executor


def _on_node(place: Path, expected: dict[str, str], order: dict[str, Any]) -> None:
    """Run as a job: leave each message as a file, numbered in their order, after the files that it names."""
    task = place.parent / "task"

    def fetch() -> dict[str, bytes]:
        return {str(path.relative_to(task)): path.read_bytes() for path in task.rglob("*") if path.is_file()}

    for number, news in enumerate(train_on_node(expected, order, fetch)):
        for name, content in news.pop("files", {}).items():
            write_atomic(place / name, content)
        write_atomic(place / f"{number}.json", json.dumps(news))


EXECUTORS.register("slurm", ExecutorKind(SlurmTrainer, require_submitit))
