"""A node's part of training on a cluster, Ray or Slurm: it trains one candidate as a single machine would.

Plain data goes in and out. The node's own process trainer confines the training, measures the policies and validates
the answers; its scratch folder lies in the node's temporary folder, and nothing of a run is written elsewhere.
"""

from __future__ import annotations

import hashlib
import platform
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rewardgen import __version__
from rewardgen.core.errors import (
    MachineError,
    RewardgenError,
    RunFolderError,
    SandboxError,
    TaskError,
    UsageError,
    WorkerError,
)
from rewardgen.core.files import write_atomic
from rewardgen.core.provenance import installed_version
from rewardgen.extras.ray.task_files import PackedTask, unpacked
from rewardgen.sandbox.folders import scratch_folder, sweep_scratch
from rewardgen.sandbox.process import Limits
from rewardgen.store.records import RewardSpec, SliceResult, SliceSpec
from rewardgen.training.cache import TRAINING_SOURCES, code
from rewardgen.training.protocol import ExecutorSetup, TrainerSetup
from rewardgen.training.result_validation import TaskNames
from rewardgen.training.setup import TRAINERS

_PACKAGES = ("gymnasium", "mujoco", "mujoco-warp", "numpy", "stable-baselines3", "torch", "warp-lang")
_ERRORS = {kind.__name__: kind for kind in (TaskError, UsageError, RunFolderError, SandboxError, WorkerError)}
"""Errors that a node reports, besides a `MachineError`."""


def software() -> dict[str, str]:
    """Return everything installed here that decides the numbers: versions, and a hash of the package's own code."""
    # Without the part behind `+`: torch with and without GPU counts as the same.
    versions = {package: (installed_version(package) or "missing").partition("+")[0] for package in _PACKAGES}
    sources = hashlib.sha256("\0".join(code(TRAINING_SOURCES)).encode()).hexdigest()
    return {"rewardgen": __version__, **versions, "code of rewardgen": sources[:12]}


def train_on_node(
    expected: dict[str, str], order: dict[str, Any], fetch: Callable[[], Mapping[str, bytes]]
) -> Iterator[dict[str, Any]]:
    """Train one candidate by an `order_of`, its `reward` and `slices`, if the software here is as `expected`.

    Yields:
        As they come: `{"progress": ...}` or `{"slice": result, "files": name to content}`; at last, if something is
        wrong, `{"error": name of its class, "message": ..., "hint": ...}`.
    """
    installed = software()
    if differing := [name for name, version in expected.items() if installed.get(name) != version]:
        versions = ", ".join(f"{name} {installed.get(name)}, not {expected[name]}" for name in differing)
        message = f"a node has {versions}: its numbers would differ"
        yield _as_news(MachineError(message, "install the same versions on every node"))
        return
    sweep_scratch()  # of tasks that were killed
    news: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
    cancel = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        training = pool.submit(_train, order, fetch, news, cancel)
        try:
            while (message := news.get()) is not None:
                yield message
        finally:
            cancel.set()
        training.result()


def order_of(job: ExecutorSetup, task: PackedTask) -> dict[str, Any]:
    """Return the part of an order that is the same for all candidates, as plain data."""
    setup = job.setup
    return {
        "trainer": job.trainer,
        "task": tuple(task),
        "settings": setup.settings.model_dump(mode="json"),
        "limits": setup.limits.model_dump(mode="json"),
        "names": setup.names and setup.names._asdict(),
    }


def result_of(news: dict[str, Any], read: Callable[[str], bytes], folder: Path) -> SliceResult:
    """Return a result from a node, with its files written to the folder."""
    if "slice" not in news:
        raise _ERRORS.get(news["error"], MachineError)(news["message"], news["hint"])
    result = SliceResult.model_validate(news["slice"])
    for name in filter(None, (result.policy, result.episodes_file)):
        write_atomic(folder / name, read(name))
    return result


def _train(
    order: dict[str, Any],
    fetch: Callable[[], Mapping[str, bytes]],
    news: queue.SimpleQueue[dict[str, Any] | None],
    cancel: threading.Event,
) -> None:
    try:
        with scratch_folder() as scratch:
            folder = scratch / "policies"

            def send(result: SliceResult) -> None:
                names = filter(None, (result.policy, result.episodes_file))
                files = {name: (folder / name).read_bytes() for name in names}
                news.put({"slice": result.model_dump(mode="json"), "files": files})

            kind = TRAINERS.get(order["trainer"])
            setup = TrainerSetup(
                task=unpacked(PackedTask(*order["task"]), fetch),
                settings=kind.settings.model_validate(order["settings"]),
                workers=1,
                scratch=scratch.resolve() / "work",
                limits=Limits.model_validate(order["limits"]),
                names=TaskNames(**order["names"]) if order["names"] else None,
            )
            kind.make(setup).train(
                [RewardSpec.model_validate(order["reward"])],
                [SliceSpec.model_validate(spec) for spec in order["slices"]],
                folder=folder,
                on_progress=lambda message: news.put({"progress": message}),
                on_slice=send,
                cancel=cancel,
            )
    except RewardgenError as error:
        news.put(_as_news(error))
    finally:
        news.put(None)


def _as_news(error: RewardgenError) -> dict[str, Any]:
    message = f"{error.message} (on the node {platform.node()})"
    return {"error": type(error).__name__, "message": message, "hint": error.hint}
