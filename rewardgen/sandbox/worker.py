"""The worker's side of a job: read one request, give up rights, run the job, answer in JSON lines over one pipe.

Started by `rewardgen.sandbox.process` as `python -P -m rewardgen.sandbox.worker <pipe> <parent>`.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from rewardgen.errors import RewardgenError
from rewardgen.sandbox.limits import Limits, confine, die_with

Job = Callable[[dict[str, Any], Callable[[dict[str, Any]], None]], dict[str, Any]]

JOBS = {
    "card": "rewardgen.simulation.card:card_job",
    "check": "rewardgen.simulation.check:check_job",
    "bank": "rewardgen.simulation.bank:bank_job",
    "baselines": "rewardgen.simulation.card:baselines_job",
    "probe": "rewardgen.training.probe:probe_job",
    "train": "rewardgen.training.jobs:train_job",
    "evaluate": "rewardgen.training.jobs:evaluate_job",
    "selftest": "rewardgen.sandbox.selftest:selftest_job",
}
"""Everything that a worker can be asked to do."""


def main() -> None:
    """Serve one request from standard input."""
    pipe, parent = int(sys.argv[1]), int(sys.argv[2])
    die_with(parent)
    os.set_inheritable(pipe, False)
    request = json.load(sys.stdin)
    _send(pipe, _answer(request, lambda message: _send(pipe, {"message": message})))
    os._exit(0)


def _answer(request: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    try:
        job = _load(request["job"])
        confine(Limits.model_validate(request["limits"]))
        return {"result": job(request["payload"], report)}
    except RewardgenError as error:
        kind = getattr(error, "kind", None)
        return {"error": {"type": type(error).__name__, "message": error.message, "hint": error.hint, "kind": kind}}
    except BaseException as error:
        traceback.print_exc()
        return {"error": {"type": "WorkerError", "message": _in_words(error), "kind": _kind(error)}}


def _load(name: str) -> Job:
    module, function = JOBS[name].split(":")
    job = getattr(importlib.import_module(module), function)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
    return job


def _in_words(error: BaseException) -> str:
    text = " ".join(str(error).split())[:300]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _kind(error: BaseException) -> str:
    """Torch reports a refused allocation as a RuntimeError, on a GPU as its subclass OutOfMemoryError."""
    refused = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    return "memory" if refused or "can't allocate memory" in str(error) else "crash"


def _send(pipe: int, answer: dict[str, Any]) -> None:
    data = json.dumps(answer).encode() + b"\n"
    while data:
        data = data[os.write(pipe, data) :]


if __name__ == "__main__":
    main()
