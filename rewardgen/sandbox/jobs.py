"""What worker processes can be asked to do: each job is registered by the package that owns it.

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
    """One kind of work for a worker process."""

    name: str
    """What messages call it: `the price worker was cancelled`."""
    function: str
    """`module:function`."""
    reads: tuple[str, ...] = ()
    """Keys of the payload whose values name a file or a folder that it reads."""
    writes: tuple[str, ...] = ()
    """Keys of the payload whose values name a file that it writes outside its own folder: not for jobs that run
    generated code."""
    device: tuple[str, ...] = ()
    """Keys of the payload, one within the other, that lead to the name of the device it computes on."""
    inputs: str | None = None
    """`module:function` from the payload to further files and folders that it reads. It runs before the worker is
    confined, so it may find them by running what is trusted, such as the user's own task file."""


_JOBS: Registry[Job] = Registry("job")


def register(
    name: str,
    function: str,
    *,
    reads: tuple[str, ...] = (),
    writes: tuple[str, ...] = (),
    device: tuple[str, ...] = (),
    inputs: str | None = None,
) -> Job:
    """Register a job, so that its module is imported once and for all workers.

    Args:
        name: What messages call it.
        function: `module:function`.
        reads: Keys of its payload that name what it reads.
        writes: Keys of its payload that name files that it writes.
        device: Keys of its payload that lead to its device.
        inputs: `module:function` that finds what else it reads.

    Raises:
        UsageError: Another job has this name.
    """
    return _JOBS.register(
        name, Job(name=name, function=function, reads=reads, writes=writes, device=device, inputs=inputs)
    )


def uses_gpu(job: Job, payload: dict[str, Any]) -> bool:
    """Whether a job computes on a GPU, for one payload."""
    found: Any = payload if job.device else None
    for key in job.device:
        found = found.get(key) if isinstance(found, dict) else None
    return found == "cuda"


def modules() -> list[str]:
    """The modules of all registered jobs, in the order of registration."""
    found = (each.partition(":")[0] for job in _JOBS for each in (job.function, job.inputs or ""))
    return list(dict.fromkeys(filter(None, found)))


def imported(target: str) -> Any:
    """The function behind `module:function`."""
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def files_of(job: Job, payload: dict[str, Any]) -> tuple[list[Path], list[Path]]:
    """What a job reads besides its own folder, and the folders that it writes to, for one payload."""
    reads = [Path(payload[key]) for key in job.reads if payload.get(key)]
    reads += imported(job.inputs)(payload) if job.inputs else []
    return reads, [Path(payload[key]).parent for key in job.writes]
