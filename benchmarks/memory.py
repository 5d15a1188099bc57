"""Peak memory of a training worker."""

from __future__ import annotations

import resource
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from benchmarks.setups import setup_of
from rewardgen.store.records import SliceSpec
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.mujoco_task import MujocoTask
from rewardgen.training.ppo.learner import Learner
from rewardgen.training.ppo.settings import PpoJob, PpoSettings
from rewardgen.training.shared.batch import SliceBatch

_UPDATES = 2


class Memory:
    """A contender that trains a batch of slices in its own process, and tells the peak of its resident memory."""

    def train(self, task: str, slices: int) -> dict[str, float]:
        """Train for two updates and evaluate, with nothing that ends an episode early: the longest recordings.

        Args:
            task: Name of the task.
            slices: Slices in the batch, two for each candidate.

        Returns:
            `mib`: the peak [MiB].
        """
        torch.set_num_threads(1)
        loaded = load_task(task)
        assert isinstance(loaded, MujocoTask)
        loaded.terminated = lambda sim, variables: {}
        settings = loaded.training["ppo"]
        assert isinstance(settings, PpoSettings)
        steps = _UPDATES * settings.num_envs * settings.rollout_steps
        rewards = setup_of(task).rewards(-(-slices // 2))
        with TemporaryDirectory() as folder:
            job = PpoJob(
                task=task,
                rewards=tuple(rewards),
                slices=tuple(
                    SliceSpec(candidate_id=rewards[number // 2].candidate_id, seed=number % 2)
                    for number in range(slices)
                ),
                settings=settings.model_copy(update={"env_steps": steps, "evaluation_phases": 1}),
                folder=folder,
            )
            SliceBatch(loaded, job, lambda message: None, Learner).run()
        return {"mib": peak_mib()}


def peak_mib() -> float:
    """Peak resident memory of this process [MiB]."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
