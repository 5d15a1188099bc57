"""Worker jobs of PPO: one trains rewards, one compiles the kernels that a device needs for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from rewardgen.tasks.loading import load_task
from rewardgen.training.ppo.batch import Report, SliceBatch
from rewardgen.training.ppo.settings import PpoJob


def train_job(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Train all slices of a `PpoJob` in one batch.

    Returns:
        `slices`: one `SliceResult` per slice, without the final fitness.
    """
    torch.set_num_threads(1)
    job = PpoJob.model_validate(payload)
    if job.kernels:
        use_kernels(Path(job.kernels))
    results = SliceBatch(load_task(job.task), job, report).run()
    return {"slices": [result.model_dump(mode="json") for result in results]}


def compile_job(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Compile the kernels of a task for a device. No generated code runs here, so this job may write what others load.

    Returns:
        `most_envs`: envs that fit into the device's free memory; None if unknown.
    """
    used = Path(payload["used"])
    use_kernels(used.parent)
    envs = load_task(payload["task"]).make_envs([0], 2, device=payload["device"])
    envs.reset()
    envs.step(envs.action_low.expand(2, -1))
    used.touch()
    return {"most_envs": envs.most_envs}


def use_kernels(folder: Path) -> None:
    """Keep compiled kernels in a folder. Call it in a process that has simulated nothing yet."""
    import warp  # an extra  # pyright: ignore[reportMissingImports]

    warp.config.kernel_cache_dir = str(folder)
    warp.config.cuda_output = "cubin"  # not PTX, which each worker's driver would compile once more
