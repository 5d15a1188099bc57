"""The executor `ray`: each candidate, with all its seeds, is a task of a Ray cluster.

`rewardgen.extras.ray.node` trains; results and files come back as they are ready, and only this process, the driver,
writes them to the run's folder. Ray is loaded when a run asks for it.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rewardgen.core.errors import MachineError, UsageError
from rewardgen.core.extras import install_hint
from rewardgen.extras.ray.node import order_of, result_of, software, train_on_node
from rewardgen.extras.ray.task_files import packed
from rewardgen.sandbox.process import WorkerCancelled
from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.training.process_trainer import by_candidate
from rewardgen.training.protocol import EXECUTORS, ExecutorKind, ExecutorSetup, OnProgress, OnSlice

_POLL_S, _REACH_S = 0.1, 5.0
_START = "start one with `ray start --head`, name it with `--cluster`, or train here with `--executor processes`"
_AGAIN = "finished trainings are kept: see `ray status`, then `rewardgen resume latest`"


def require_ray() -> Any:
    """Import Ray; raise a UsageError if it is not installed."""
    # With `uv run`, Ray would send the current folder to all nodes.
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    try:
        import ray
        import ray.exceptions
    except ImportError as error:
        raise UsageError("`--executor ray` needs the package ray", install_hint("ray")) from error
    return ray


class RayTrainer:
    """Trains each candidate on some node of a cluster, by an ordinary trainer."""

    def __init__(self, job: ExecutorSetup) -> None:
        setup = job.setup
        task, files = packed(setup.task, job.task_files)
        self._ray = _connected(job.cluster)
        needs = {"CPU": 1, "GPU": 1 if getattr(setup.settings, "device", "cpu") == "cuda" else 0}
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        if not any(all(node.get(name, 0) >= number for name, number in needs.items()) for node in nodes):
            needed = " and ".join(f"a {name}" for name, number in needs.items() if number)
            raise MachineError(f"no node of the Ray cluster has {needed}", "add one; see `ray status`")
        options = {"num_cpus": needs["CPU"], "num_gpus": needs["GPU"]}
        self._task = self._ray.remote(num_returns="streaming", max_retries=0, **options)(_on_node)
        self._files = self._ray.put(files)
        self._software = software()
        self._most = job.at_once
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

        A candidate whose node is lost is trained once more on another node, without the results that have arrived. If
        that node is lost too, the run ends.
        """
        ray, errors = self._ray, self._ray.exceptions
        lost = (errors.NodeDiedError, errors.WorkerCrashedError, errors.LocalRayletDiedError)
        lost += (errors.ObjectLostError, errors.OutOfMemoryError)
        sources = {reward.candidate_id: reward for reward in rewards}
        missing = {group[0].candidate_id: {spec.seed: spec for spec in group} for group in by_candidate(slices)}
        waiting, running, repeated = [*missing], dict[Any, str](), set[str]()
        with self._explained(running):
            while waiting or running:
                while waiting and (self._most is None or len(running) < self._most):
                    id = waiting.pop(0)
                    running[self._begin(sources[id], [*missing[id].values()])] = id
                for task in ray.wait([*running], timeout=_POLL_S)[0]:
                    id = running[task]
                    try:
                        news = ray.get(next(task))
                    except (StopIteration, *lost) as error:
                        del running[task]
                        if missing[id] and id in repeated:
                            message = f"the training of {id} was lost with its node twice: {_in_brief(error)}"
                            raise MachineError(message, _AGAIN) from error
                        if missing[id]:
                            repeated.add(id)
                            waiting.append(id)
                        continue
                    if "progress" in news:
                        on_progress(news["progress"])
                    else:
                        result = result_of(news, news.get("files", {}).__getitem__, folder)
                        del missing[id][result.seed]
                        on_slice(result)
                if cancel is not None and cancel.is_set():
                    raise WorkerCancelled("the training was cancelled")

    def _begin(self, reward: RewardSpec, slices: Sequence[SliceSpec]) -> Any:
        order = self._order | {"reward": reward.model_dump(), "slices": [spec.model_dump() for spec in slices]}
        return self._task.remote(self._software, order, [self._files])

    @contextmanager
    def _explained(self, running: Iterable[Any]) -> Iterator[None]:
        """Explain Ray's errors, and cancel what still runs at the end."""
        errors = self._ray.exceptions
        try:
            yield
        except errors.RayTaskError as error:
            message = f"a node cannot train: {str(error).strip().splitlines()[-1]}"
            raise MachineError(message, "install the same rewardgen, and what the task needs, on every node") from error
        except errors.RayError as error:
            raise MachineError(f"the Ray cluster failed: {_in_brief(error)}", _AGAIN) from error
        finally:
            for task in running:
                with suppress(errors.RayError):
                    self._ray.cancel(task, force=True)


def _on_node(expected: dict[str, str], order: dict[str, Any], files: list[Any]) -> Iterator[dict[str, Any]]:
    """Run on a node by Ray. The files lie in a list so that a node fetches them only if it lacks them."""
    yield from train_on_node(expected, order, lambda: require_ray().get(files[0]))


def _in_brief(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def _connected(address: str | None) -> Any:
    """Return Ray, connected to a cluster; an existing connection is used."""
    ray = require_ray()
    if ray.is_initialized():
        return ray
    address = address or os.environ.get("RAY_ADDRESS") or "auto"
    before = signal.getsignal(signal.SIGTERM)
    try:
        _reach(address)
        # Ray reports lost nodes on standard output, which belongs to results.
        ray._private.worker.print_to_stdstream = lambda *_, **__: None
        ray.init(address, log_to_driver=False, logging_level="ERROR")
    except (OSError, RuntimeError, ValueError) as error:
        raise MachineError(f"cannot connect to the Ray cluster at {address}: {_in_brief(error)}", _START) from error
    finally:
        # Ray makes the process exit at SIGTERM, and a run must be saved.
        if threading.current_thread() is threading.main_thread() and before is not None:
            signal.signal(signal.SIGTERM, before)
    return ray


def _reach(address: str) -> None:
    """Check an address: Ray itself tries for two minutes, then ends the process."""
    if address == "auto":
        return
    parts = urlsplit(f"//{address}")
    if "://" in address or not parts.hostname or not parts.port:
        raise ValueError("write HOST:PORT; `ray://` returns no result before the end")
    socket.create_connection((parts.hostname, parts.port), _REACH_S).close()


EXECUTORS.register("ray", ExecutorKind(RayTrainer, require_ray))
