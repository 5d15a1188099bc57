"""The trainer `sac`."""

from __future__ import annotations

from functools import partial

from rewardgen.sandbox.jobs import register
from rewardgen.tasks.measure import TASK_FILES
from rewardgen.training.process_trainer import ProcessTrainer
from rewardgen.training.protocol import NORMALISED, STANDALONE, TRAINERS, TrainerKind
from rewardgen.training.sac.settings import SacSettings

TRAIN_SAC = register("train-sac", "rewardgen.training.sac.learner:train_sac_job", inputs=TASK_FILES)

_kind = TrainerKind(
    partial(ProcessTrainer, job=TRAIN_SAC),
    SacSettings,
    "SAC",
    NORMALISED,
    chooses=False,
    loader=STANDALONE,
    has_eyes=True,
    randomises=True,
    has_levels=True,
)
TRAINERS.register("sac", _kind)
"""`NORMALISED` holds: rewards are divided by the deviation of the return."""
