"""The worker's side of a job, in a fresh child of `forkserver`: read a request, give up rights, run, answer in JSON."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from rewardgen.core.errors import RewardgenError, lacks_memory
from rewardgen.sandbox import layers
from rewardgen.sandbox.jobs import Job, JobFunction, files_of, imported, uses_gpu
from rewardgen.sandbox.limits import GPU_FILES, Limits


def serve(request: int, pipe: int) -> NoReturn:
    """Serve the request in a file, given by its descriptor, write answers to a pipe, then end this process."""
    with open(request) as file:
        file.seek(0)
        order = json.load(file)
    answer = _answer(order, lambda message: _send(pipe, {"message": message}))
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    _send(pipe, answer)
    os._exit(0)


def _answer(request: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    try:
        _settle(request["environment"], request["folder"])
        job = Job.model_validate(request["job"])
        function = _load(job)
        layers.apply(_policy(job, request))
        return {"result": function(request["payload"], report)}
    except RewardgenError as error:
        kind = getattr(error, "kind", None)
        return {"error": {"type": type(error).__name__, "message": error.message, "hint": error.hint, "kind": kind}}
    except BaseException as error:
        traceback.print_exc()
        kind = "memory" if lacks_memory(error) else "crash"
        return {"error": {"type": "WorkerError", "message": _in_words(error), "kind": kind}}


def _settle(environment: dict[str, str], folder: str) -> None:
    """Replace the environment, folder and random state that the process was forked with by the job's own."""
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    os.chdir(folder)
    tempfile.tempdir = None
    # Python's own generator does this by itself at a fork; torch's starts at a fixed state in every process.
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()


def _load(job: Job) -> JobFunction:
    function = imported(job.function)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
    return function


def _policy(job: Job, request: dict[str, Any]) -> layers.Confinement:
    reads, writes = files_of(job, request["payload"])
    limits = Limits.model_validate(request["limits"])
    gpu = uses_gpu(job, request["payload"])
    if gpu:
        limits = limits.model_copy(update={"open_files": max(limits.open_files, GPU_FILES)})
    folder = Path(request["folder"])
    return layers.Confinement(folder=folder, reads=tuple(reads), writes=tuple(writes), gpu=gpu, limits=limits)


def _in_words(error: BaseException) -> str:
    text = " ".join(str(error).split())[:300]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _send(pipe: int, answer: dict[str, Any]) -> None:
    data = json.dumps(answer).encode() + b"\n"
    while data:
        data = data[os.write(pipe, data) :]
