"""The trainer `rsl-rl`: RSL-RL's PPO."""

from __future__ import annotations

from importlib.util import find_spec

from rewardgen.core.errors import MachineError
from rewardgen.core.extras import install_hint
from rewardgen.extras.rsl_rl.settings import RslRlSettings
from rewardgen.sandbox.jobs import register
from rewardgen.tasks.measure import TASK_FILES
from rewardgen.training.process_trainer import ProcessTrainer
from rewardgen.training.protocol import NORMALISED, STANDALONE, TRAINERS, TrainerKind, TrainerSetup
from rewardgen.training.trainers import trainer_on

TRAIN_RSL_RL = register(
    "train-rsl-rl",
    "rewardgen.extras.rsl_rl.train_job:train_rsl_rl_job",
    reads=("kernels",),
    device=("settings", "device"),
    inputs=TASK_FILES,
)


def rsl_rl_trainer(setup: TrainerSetup) -> ProcessTrainer:
    """Make a trainer whose worker processes train slices one after another; on a GPU one process."""
    if not find_spec("rsl_rl"):
        raise MachineError("the trainer `rsl-rl` needs RSL-RL, which is not installed", install_hint("rsl-rl"))
    return trainer_on(setup, TRAIN_RSL_RL)


TRAINERS.register(
    "rsl-rl",
    TrainerKind(
        make=rsl_rl_trainer,
        settings=RslRlSettings,
        learner="PPO (RSL-RL)",
        notes=NORMALISED,
        chooses=False,
        loader=STANDALONE,
        randomises=True,
    ),
)
