"""Jobs of worker processes, each registered by the package that owns it.

To add one, call `register` at the top of a module that the orchestrator imports and that loads nothing heavy:

    PRICE = register("price", "my_package.pricing:price_job", reads=("folder",))

and run it with `run_worker(PRICE, payload, ...)`. The function is imported in the worker only; it is given the payload
and a function that reports messages, and returns its result: JSON all three.
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
        device: Keys of the payload, one within the other, that lead to the name of the device it computes on.
        inputs: `module:function` from the payload to further files and folders that the job reads. It runs before the
            worker is confined, so it may find them by running trusted code, such as the user's own task file.
    """

    name: str
    function: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    device: tuple[str, ...] = ()
    inputs: str | None = None


_JOBS: Registry[Job] = Registry("job")


def register(name: str, function: str, **fields: Any) -> Job:
    """Register a job, so that its module is imported once and for all workers.

    Args:
        name: Its name.
        function: `module:function`.
        **fields: Further fields of `Job`.

    Raises:
        UsageError: Another job has this name.
    """
    return _JOBS.register(name, Job(name=name, function=function, **fields))


def uses_gpu(job: Job, payload: dict[str, Any]) -> bool:
    """True if a job computes on a GPU, for one payload."""
    value: Any = payload if job.device else None
    for key in job.device:
        value = value.get(key) if isinstance(value, dict) else None
    return value == "cuda"


def modules() -> list[str]:
    """The modules of all registered jobs, in the order of registration."""
    names = (target.partition(":")[0] for job in _JOBS for target in (job.function, job.inputs or ""))
    return list(dict.fromkeys(filter(None, names)))


def imported(target: str) -> Any:
    """The function behind `module:function`."""
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def files_of(job: Job, payload: dict[str, Any]) -> tuple[list[Path], list[Path]]:
    """Files that a job reads besides its own folder, and folders that it writes to, for one payload."""
    reads = [Path(payload[key]) for key in job.reads if payload.get(key)]
    reads += imported(job.inputs)(payload) if job.inputs else []
    return reads, [Path(payload[key]).parent for key in job.writes]
