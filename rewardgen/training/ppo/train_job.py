"""Worker jobs of PPO: one trains a batch of slices, one compiles the kernels that a device needs for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rewardgen.tasks.loading import load_task
from rewardgen.training.ppo.learner import Learner
from rewardgen.training.ppo.settings import PpoJob
from rewardgen.training.shared.batch import train_batch
from rewardgen.training.shared.slices import Report


def train_job(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Train all slices of a `PpoJob`; see `train_batch`."""
    job = PpoJob.model_validate(payload)
    if job.kernels:
        use_kernels(Path(job.kernels))
    return train_batch(job, Learner, report)


def compile_job(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Compile the kernels of a task for a device; return `most_envs`, which fit into its free memory, if known.

    No generated code runs here, so this job may write what others load.
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
