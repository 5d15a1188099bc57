"""The worker's side of a job: read one request, give up rights, run the job, answer in JSON lines over one pipe.

It runs in a fresh child of `rewardgen.sandbox.forkserver`.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import json
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from rewardgen.core.errors import RewardgenError, TaskError
from rewardgen.sandbox import layers
from rewardgen.sandbox.grants import declared_reads
from rewardgen.sandbox.limits import Limits
from rewardgen.tasks.task import load_task, resolve_task, shipped_tasks

Job = Callable[[dict[str, Any], Callable[[dict[str, Any]], None]], dict[str, Any]]

JOBS = {
    "card": "rewardgen.tasks.card:card_job",
    "check": "rewardgen.training.expert_policy:check_job",
    "bank": "rewardgen.training.expert_policy:bank_job",
    "baselines": "rewardgen.tasks.card:baselines_job",
    "read": "rewardgen.critic.static.job:read_job",
    "probe": "rewardgen.critic.probe.job:probe_job",
    "price": "rewardgen.critic.pricing:price_job",
    "distance": "rewardgen.critic.distances:distance_job",
    "compare": "rewardgen.critic.distances:compare_job",
    "train": "rewardgen.training.jobs:train_job",
    "evaluate": "rewardgen.training.jobs:evaluate_job",
    "selftest": "rewardgen.sandbox.selftest:selftest_job",
}
"""Everything that a worker can be asked to do."""

_READS = {"evaluate": "folder", "probe": "bank", "price": "folder", "distance": "bank", "compare": "bank"}
"""What in a job's payload names a file or folder that it reads, besides the task."""
_WRITES = {"bank": "path"}
"""What in a job's payload names a file that it writes outside its own folder; only of jobs without generated code."""


def serve(request: int, pipe: int) -> NoReturn:
    """Serve one request, then end this process.

    Args:
        request: Descriptor of a file with the request.
        pipe: Descriptor that answers go to.
    """
    with open(request) as file:
        file.seek(0)
        asked = json.load(file)
    answer = _answer(asked, lambda message: _send(pipe, {"message": message}))
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    _send(pipe, answer)
    os._exit(0)


def _answer(request: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    try:
        _settle(request["environment"], request["folder"])
        job = _load(request["job"])
        layers.apply(_policy(request))
        return {"result": job(request["payload"], report)}
    except RewardgenError as error:
        kind = getattr(error, "kind", None)
        return {"error": {"type": type(error).__name__, "message": error.message, "hint": error.hint, "kind": kind}}
    except BaseException as error:
        traceback.print_exc()
        return {"error": {"type": "WorkerError", "message": _in_words(error), "kind": _kind(error)}}


def _settle(environment: dict[str, str], folder: str) -> None:
    """Take on what is this job's own, in place of what the process was forked with."""
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    os.chdir(folder)
    tempfile.tempdir = None
    # Python's own generator does this by itself at a fork; torch's starts at a fixed state in every process.
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()


def _load(name: str) -> Job:
    module, function = JOBS[name].split(":")
    job = getattr(importlib.import_module(module), function)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
    return job


def _policy(request: dict[str, Any]) -> layers.Policy:
    """What this job needs of the machine."""
    job, payload = request["job"], request["payload"]
    reads = [Path(payload[_READS[job]])] if job in _READS else []
    writes = [Path(payload[_WRITES[job]]).parent] if job in _WRITES else []
    if "task" in payload and payload["task"] not in shipped_tasks():
        reads += _task_files(payload["task"])
    limits = Limits.model_validate(request["limits"])
    return layers.Policy(folder=Path(request["folder"]), reads=tuple(reads), writes=tuple(writes), limits=limits)


def _task_files(reference: str) -> list[Path]:
    """The folder of a user's own task, what its model includes, and what it says it reads.

    What is wrong with the rest of it is for the job to tell.
    """
    model = importlib.import_module("rewardgen.sim.model")
    try:
        folder = resolve_task(reference).parent
    except TaskError:
        return []
    try:
        task = load_task(reference)
    except TaskError:
        return [folder]
    return [folder, *model.model_files(task), *declared_reads(task)]


def _in_words(error: BaseException) -> str:
    text = " ".join(str(error).split())[:300]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _kind(error: BaseException) -> str:
    """Torch reports a refused allocation as a RuntimeError, on a GPU as its subclass OutOfMemoryError."""
    refused = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    refused = refused or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
    return "memory" if refused or "can't allocate memory" in str(error) else "crash"


def _send(pipe: int, answer: dict[str, Any]) -> None:
    data = json.dumps(answer).encode() + b"\n"
    while data:
        data = data[os.write(pipe, data) :]
