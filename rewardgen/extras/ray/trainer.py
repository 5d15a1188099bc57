"""Training on the machines of a Ray cluster: each candidate is a task of it, with all its seeds.

The driver's side. What a node does is `rewardgen.extras.ray.node`; results and files come back from there as they are
ready, and only this process writes them to the run's folder. Ray is an extra, and is loaded when a run asks for it.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rewardgen.core.errors import (
    MachineError,
    RunFolderError,
    SandboxError,
    TaskError,
    UsageError,
    WorkerError,
)
from rewardgen.core.extras import install_hint
from rewardgen.core.files import write_atomic
from rewardgen.extras.ray.node import software, train_on_node
from rewardgen.extras.ray.task_files import packed
from rewardgen.sandbox.process import WorkerCancelled
from rewardgen.store.records import RewardSpec, SliceResult, SliceSpec
from rewardgen.training.process_trainer import by_candidate
from rewardgen.training.protocol import EXECUTORS, ExecutorKind, ExecutorSetup, OnProgress, OnSlice

_POLL_S = 0.1
_REACH_S = 5.0
_START = "start one with `ray start --head`, name it with `--cluster`, or train here with `--executor processes`"
_TOLD = {each.__name__: each for each in (TaskError, UsageError, RunFolderError, SandboxError, WorkerError)}
"""What a node tells of, beside what is wrong with its machine."""


def require_ray() -> Any:
    """The library.

    Raises:
        UsageError: It is not installed.
    """
    # With `uv run`, it would send the current folder to all nodes.
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    try:
        import ray
        import ray.exceptions
    except ImportError as error:
        raise UsageError("`--executor ray` needs the package ray", install_hint("ray")) from error
    return ray


class RayTrainer:
    """Trains each candidate on some node of a cluster, by the ordinary trainer of a kind.

    Args:
        job: The trainer and its arguments; each node has its own scratch folder and worker.

    Raises:
        UsageError: Ray is not installed.
        TaskError: A file of the task cannot be sent.
        MachineError: The cluster cannot be reached, or has nothing of what a training needs.
    """

    def __init__(self, job: ExecutorSetup) -> None:
        setup = job.setup
        task, files = packed(setup.task, job.task_files)
        self._ray = _connected(job.cluster)
        wanted = {"CPU": 1, "GPU": 1 if getattr(setup.settings, "device", "cpu") == "cuda" else 0}
        there = self._ray.cluster_resources()
        if missing := [name for name, number in wanted.items() if number > there.get(name, 0)]:
            what = f"the Ray cluster has no {' and no '.join(missing)}"
            raise MachineError(what, "add nodes that have; see `ray status`")
        nodes = [each["Resources"] for each in self._ray.nodes() if each["Alive"]]
        if not any(all(each.get(name, 0) >= number for name, number in wanted.items()) for each in nodes):
            raise MachineError("no node of the Ray cluster has a CPU and a GPU", "add one that has; see `ray status`")
        resources = {"num_cpus": wanted["CPU"], "num_gpus": wanted["GPU"]}
        self._task = self._ray.remote(num_returns="streaming", max_retries=0, **resources)(_on_node)
        self._files = self._ray.put(files)
        self._software = software()
        self._most = job.at_once
        self._order = {
            "trainer": job.trainer,
            "task": tuple(task),
            "settings": setup.settings.model_dump(mode="json"),
            "limits": setup.limits.model_dump(mode="json"),
            "names": setup.names and setup.names._asdict(),
        }

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

        A candidate whose node is lost is trained once more, on another, as far as its results are not here. If that
        one is lost too, the run ends.
        """
        ray, errors = self._ray, self._ray.exceptions
        lost = (errors.NodeDiedError, errors.WorkerCrashedError, errors.LocalRayletDiedError)
        lost += (errors.ObjectLostError, errors.OutOfMemoryError)
        sources = {each.candidate_id: each for each in rewards}
        left = {each[0].candidate_id: {spec.seed: spec for spec in each} for each in by_candidate(slices)}
        begun_anew: set[str] = set()

        def begin(id: str) -> Any:
            what = {"reward": sources[id].model_dump(), "slices": [each.model_dump() for each in left[id].values()]}
            order = self._order | what | {"stop_hacking": stop_hacking}
            return self._task.remote(self._software, order, [self._files])

        waiting, running = [*left], dict[Any, str]()
        try:
            while waiting or running:
                while waiting and (self._most is None or len(running) < self._most):
                    id = waiting.pop(0)
                    running[begin(id)] = id
                for each in ray.wait([*running], timeout=_POLL_S)[0]:
                    id = running[each]
                    try:
                        news = ray.get(next(each))
                    except (StopIteration, *lost) as error:
                        del running[each]
                        if left[id] and id in begun_anew:
                            what = f"the training of {id} was lost with its node, and not for the first time"
                            raise MachineError(f"{what}: {_in_brief(error)}", _AGAIN) from error
                        if left[id]:
                            begun_anew.add(id)
                            waiting.append(id)
                        continue
                    if "progress" in news:
                        on_progress(news["progress"])
                    elif "slice" in news:
                        result = SliceResult.model_validate(news["slice"])
                        for name in filter(None, (result.policy, result.episodes_file)):
                            write_atomic(folder / name, news["files"][name])
                        del left[id][result.seed]
                        on_slice(result)
                    else:
                        raise _TOLD.get(news["error"], MachineError)(news["message"], news["hint"])
                if cancel is not None and cancel.is_set():
                    raise WorkerCancelled("the training was cancelled")
        except errors.RayTaskError as error:
            what = f"a node cannot train: {str(error).strip().splitlines()[-1]}"
            raise MachineError(what, "install the same rewardgen, and what the task needs, on every node") from error
        except errors.RayError as error:
            raise MachineError(f"the Ray cluster failed: {_in_brief(error)}", _AGAIN) from error
        finally:
            for each in running:
                with suppress(errors.RayError):
                    ray.cancel(each, force=True)


_AGAIN = "what was finished is kept, and `rewardgen resume latest` goes on; `ray status` tells of the cluster"


def _on_node(expected: dict[str, str], order: dict[str, Any], files: list[Any]) -> Iterator[dict[str, Any]]:
    """What Ray runs on a node. The files lie in a list so that they are only fetched where they are missing."""
    yield from train_on_node(expected, order, lambda: require_ray().get(files[0]))


def _in_brief(error: BaseException) -> str:
    """The first of the many lines that Ray says."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def _connected(address: str | None) -> Any:
    """Ray, connected to a cluster; as it is if this process has a connection already.

    Raises:
        MachineError: There is no cluster, or it is one of another version.
    """
    ray = require_ray()
    if ray.is_initialized():
        return ray
    address = address or os.environ.get("RAY_ADDRESS") or "auto"
    before = signal.getsignal(signal.SIGTERM)
    try:
        _reach(address)
        # It tells of lost nodes on standard output, which belongs to results.
        ray._private.worker.print_to_stdstream = lambda *_, **__: None
        ray.init(address, log_to_driver=False, logging_level="ERROR")
    except (OSError, RuntimeError, ValueError) as error:
        raise MachineError(f"cannot connect to the Ray cluster at {address}: {_in_brief(error)}", _START) from error
    finally:
        # It has the process exit at SIGTERM, and a run has to be saved.
        if threading.current_thread() is threading.main_thread() and before is not None:
            signal.signal(signal.SIGTERM, before)
    return ray


def _reach(address: str) -> None:
    """Ray itself tries for two minutes, and ends the process then.

    Raises:
        OSError: Nobody listens there.
        ValueError: It is no address.
    """
    if address == "auto":
        return
    parts = urlsplit(f"//{address}")
    if "://" in address or not parts.hostname or not parts.port:
        raise ValueError("it has the form HOST:PORT; through `ray://`, no result comes as it is ready")
    socket.create_connection((parts.hostname, parts.port), _REACH_S).close()


EXECUTORS.register("ray", ExecutorKind(RayTrainer, require_ray))
