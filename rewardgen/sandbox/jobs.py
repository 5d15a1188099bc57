"""Registry of the jobs of worker processes.

To add one, call `register` at the top of a module that the orchestrator imports and that loads nothing heavy:

    PRICE = register("price", "my_package.pricing:price_job", reads=("folder",))

and run it with `run_worker(PRICE, payload, ...)`. The worker imports the function, and calls it with the payload and a
function that reports messages. Payload, messages and result are JSON.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rewardgen.core.registry import Registry
from rewardgen.core.schema import Frozen

JobFunction = Callable[[dict[str, Any], Callable[[dict[str, Any]], None]], dict[str, Any]]


class Job(Frozen):
    """One kind of work for a worker process.

    Attributes:
        name: Name in messages: `the price worker was cancelled`.
        function: `module:function`.
        reads: Keys of the payload whose values name a file or a folder that the job reads.
        writes: Keys of the payload whose values name a file that the job writes outside its own folder; not for jobs
            that run generated code.
        device: Nested keys of the payload that lead to the name of the device.
        inputs: `module:function` from the payload to further readable files and folders. It runs before the worker is
            confined, and may run trusted code such as the user's task file.
        preloaded: False where the module loads a large library that few runs need; then each worker imports the module.
    """

    name: str
    function: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    device: tuple[str, ...] = ()
    inputs: str | None = None
    preloaded: bool = True


_JOBS: Registry[Job] = Registry("job")


def register(name: str, function: str, **fields: Any) -> Job:
    """Register a job by the fields of `Job`, so that its module is imported once and for all workers.

    Raises:
        UsageError: Another job has this name.
    """
    return _JOBS.register(name, Job(name=name, function=function, **fields))


def uses_gpu(job: Job, payload: dict[str, Any]) -> bool:
    """Return True if a job with this payload computes on a GPU."""
    value: Any = payload if job.device else None
    for key in job.device:
        value = value.get(key) if isinstance(value, dict) else None
    return value == "cuda"


def modules() -> list[str]:
    """Return the modules of the registered jobs that are preloaded, in the order of registration."""
    targets = (target for job in _JOBS if job.preloaded for target in (job.function, job.inputs or ""))
    names = (target.partition(":")[0] for target in targets)
    return list(dict.fromkeys(filter(None, names)))


def imported(target: str) -> Any:
    """Import the function `module:function`."""
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def files_of(job: Job, payload: dict[str, Any]) -> tuple[list[Path], list[Path]]:
    """Return the files that a job with this payload reads, and the folders that it writes."""
    reads = [Path(payload[key]) for key in job.reads if payload.get(key)]
    reads += imported(job.inputs)(payload) if job.inputs else []
    return reads, [Path(payload[key]).parent for key in job.writes]
