"""Stable-Baselines3's algorithms as kinds of trainer: their worker job, and what the designer is told of them."""

from __future__ import annotations

from rewardgen.sandbox.jobs import register
from rewardgen.tasks.measure import TASK_FILES
from rewardgen.training.process_trainer import ProcessTrainer
from rewardgen.training.protocol import TRAINERS, TrainerKind, TrainerSetup
from rewardgen.training.sb3.settings import SacSettings, Sb3PpoSettings, Td3Settings

TRAIN_SB3 = register("train-sb3", "rewardgen.training.sb3.train_job:train_sb3_job", inputs=TASK_FILES)


def sb3_trainer(setup: TrainerSetup) -> ProcessTrainer:
    """Trains slices one after another in each worker process."""
    return ProcessTrainer(setup, TRAIN_SB3)


_AS_IT_IS = (
    "Rewards are taken as they are, so their scale matters; one in which good and bad steps differ by about 1 is"
)
_OFF_POLICY = f"{_AS_IT_IS} learned from well. The time limit is no end for it."

TRAINERS.register(
    "sb3-ppo",
    TrainerKind(
        make=sb3_trainer,
        settings=Sb3PpoSettings,
        learner="PPO (Stable-Baselines3)",
        notes="Observations are normalised, and so is the scale of the summed reward: only the balance between"
        " components matters. The time limit is no end for it.",
    ),
)
TRAINERS.register(
    "sb3-sac", TrainerKind(sb3_trainer, SacSettings, "SAC (Stable-Baselines3)", _OFF_POLICY, chooses=False)
)
TRAINERS.register(
    "sb3-td3", TrainerKind(sb3_trainer, Td3Settings, "TD3 (Stable-Baselines3)", _OFF_POLICY, chooses=False)
)
