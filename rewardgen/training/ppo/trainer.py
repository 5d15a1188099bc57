"""PPO as a kind of trainer: its worker job, its settings, and what the designer is told of it."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from rewardgen.core.files import cache_folder
from rewardgen.sandbox.jobs import register
from rewardgen.sandbox.process import run_worker
from rewardgen.tasks.measure import TASK_FILES
from rewardgen.training.ppo.settings import PpoSettings
from rewardgen.training.process_trainer import ProcessTrainer
from rewardgen.training.protocol import STANDALONE, TRAINERS, TrainerKind, TrainerSetup

TRAIN = register(
    "train",
    "rewardgen.training.ppo.train_job:train_job",
    reads=("kernels",),
    device=("settings", "device"),
    inputs=TASK_FILES,
)
COMPILE = register(
    "compile", "rewardgen.training.ppo.train_job:compile_job", writes=("used",), device=("device",), inputs=TASK_FILES
)


def ppo_trainer(setup: TrainerSetup) -> ProcessTrainer:
    """The batched PPO, a batch of slices in each worker process; on a GPU one batch at a time."""
    device = setup.settings.device
    if device == "cpu":
        return ProcessTrainer(setup, TRAIN)
    return ProcessTrainer(setup, TRAIN, kernels=lambda: _kernels(setup), batches=1 if device == "cuda" else None)


def _kernels(setup: TrainerSetup) -> Path:
    """The folder of the task's compiled kernels, which lasts."""
    used = cache_folder("kernels") / f"warp-{version('warp-lang')}-{version('mujoco-warp')}" / "used"
    used.parent.mkdir(parents=True, exist_ok=True)
    payload = {"task": setup.task, "device": setup.settings.device, "used": str(used)}
    run_worker(COMPILE, payload, limits=setup.limits, scratch=setup.scratch / "compile")
    return used.parent


TRAINERS.register(
    "ppo",
    TrainerKind(
        make=ppo_trainer,
        settings=PpoSettings,
        learner="PPO",
        notes="Observations are normalised, and so is the scale of the summed reward: only the balance between"
        " components matters. The time limit is no end for it.",
        loader=STANDALONE,
    ),
)
