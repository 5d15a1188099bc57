"""The trainer `sac`."""

from __future__ import annotations

from rewardgen.sandbox.jobs import register
from rewardgen.tasks.measure import TASK_FILES
from rewardgen.training.process_trainer import ProcessTrainer
from rewardgen.training.protocol import NORMALISED, STANDALONE, TRAINERS, TrainerKind, TrainerSetup
from rewardgen.training.sac.settings import SacSettings

TRAIN_SAC = register("train-sac", "rewardgen.training.sac.train_job:train_sac_job", inputs=TASK_FILES)


def sac_trainer(setup: TrainerSetup) -> ProcessTrainer:
    """Make the trainer `sac`: a batch of slices in each worker process."""
    return ProcessTrainer(setup, TRAIN_SAC)


_kind = TrainerKind(
    sac_trainer, SacSettings, "SAC", NORMALISED, loader=STANDALONE, has_eyes=True, randomises=True, has_levels=True
)
TRAINERS.register("sac", _kind)
"""`NORMALISED` holds: rewards are divided by the deviation of the return."""
