"""Stable-Baselines3's algorithms as kinds of trainer: their worker job, and what the designer is told of them."""

from __future__ import annotations

from functools import partial

from rewardgen.sandbox.jobs import register
from rewardgen.tasks.measure import TASK_FILES
from rewardgen.training.process_trainer import ProcessTrainer
from rewardgen.training.protocol import NORMALISED, STANDALONE, TRAINERS, TrainerKind, TrainerSetup
from rewardgen.training.sb3.settings import SacSettings, Sb3PpoSettings, Td3Settings, tuned

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
        notes=NORMALISED,
        tuned=partial(tuned, "ppo"),
        loader=STANDALONE,
    ),
)
for _name, _settings in {"sac": SacSettings, "td3": Td3Settings}.items():
    _learner = f"{_name.upper()} (Stable-Baselines3)"
    TRAINERS.register(
        f"sb3-{_name}",
        TrainerKind(sb3_trainer, _settings, _learner, _OFF_POLICY, False, partial(tuned, _name), STANDALONE),
    )
