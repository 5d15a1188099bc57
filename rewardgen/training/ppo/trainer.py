"""PPO as a kind of trainer: its worker job, its settings, and what the designer is told of it."""

from __future__ import annotations

from rewardgen.sandbox.jobs import register
from rewardgen.tasks.measure import TASK_FILES
from rewardgen.training.ppo.settings import PpoSettings
from rewardgen.training.process_trainer import ProcessTrainer
from rewardgen.training.protocol import STANDALONE, TRAINERS, TrainerKind, TrainerSetup

TRAIN = register("train", "rewardgen.training.ppo.train_job:train_job", inputs=TASK_FILES)


def ppo_trainer(setup: TrainerSetup) -> ProcessTrainer:
    """The batched PPO, a batch of slices in each worker process."""
    return ProcessTrainer(setup, TRAIN)


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
