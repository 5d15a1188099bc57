"""Trainers with the algorithms of Stable-Baselines3."""

from __future__ import annotations

from functools import partial

from rewardgen.sandbox.jobs import register
from rewardgen.tasks.measure import TASK_FILES
from rewardgen.training.process_trainer import ProcessTrainer
from rewardgen.training.protocol import NORMALISED, STANDALONE, TRAINERS, TrainerKind
from rewardgen.training.sb3.settings import Sb3PpoSettings, Sb3SacSettings, Sb3Td3Settings, tuned

TRAIN_SB3 = register("train-sb3", "rewardgen.training.sb3.train_job:train_sb3_job", inputs=TASK_FILES, preloaded=False)

_make = partial(ProcessTrainer, job=TRAIN_SB3)

_AS_IT_IS = (
    "Rewards are taken as they are, so their scale matters; one in which good and bad steps differ by about 1 is"
)
_OFF_POLICY = f"{_AS_IT_IS} learned from well. The time limit is no end for it."

for _name, _settings, _notes in (
    ("ppo", Sb3PpoSettings, NORMALISED),
    ("sac", Sb3SacSettings, _OFF_POLICY),
    ("td3", Sb3Td3Settings, _OFF_POLICY),
):
    _learner, _tuned = f"{_name.upper()} (Stable-Baselines3)", partial(tuned, _name)
    _kind = TrainerKind(_make, _settings, _learner, _notes, _name == "ppo", _tuned, STANDALONE, randomises=True)
    TRAINERS.register(f"sb3-{_name}", _kind)
