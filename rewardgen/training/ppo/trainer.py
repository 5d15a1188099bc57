"""PPO as a kind of trainer: its worker job, its settings, and what the designer is told of it."""

from __future__ import annotations

from importlib.metadata import version
from typing import cast

from rewardgen.core.errors import MachineError
from rewardgen.core.files import cache_folder
from rewardgen.sandbox.jobs import Job, register
from rewardgen.sandbox.process import run_worker
from rewardgen.tasks.measure import TASK_FILES
from rewardgen.training.ppo.settings import PpoSettings
from rewardgen.training.process_trainer import Compiled, ProcessTrainer
from rewardgen.training.protocol import NORMALISED, STANDALONE, TRAINERS, TrainerKind, TrainerSetup
from rewardgen.training.shared.device_settings import DeviceSettings

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

_COMPILING_S = 1800.0
"""That all kernels of a model may take [s], at most: on a GPU minutes."""


def ppo_trainer(setup: TrainerSetup) -> ProcessTrainer:
    """The batched PPO, a batch of slices in each worker process; on a GPU one batch at a time."""
    return trainer_on(setup, TRAIN)


def trainer_on(setup: TrainerSetup, job: Job) -> ProcessTrainer:
    """Trains on the device of the settings, which have `num_envs` too.

    Args:
        setup: What every trainer is made of.
        job: The worker job that trains.
    """
    device = setup.settings.device
    if device == "cpu":
        return ProcessTrainer(setup, job)
    return ProcessTrainer(setup, job, compiled=lambda: _compiled(setup), batches=1 if device == "cuda" else None)


def _compiled(setup: TrainerSetup) -> Compiled:
    """The task's compiled kernels, in a folder that lasts, and how many slices the device has room for."""
    used = cache_folder("kernels") / f"warp-{version('warp-lang')}-{version('mujoco-warp')}" / "used"
    used.parent.mkdir(parents=True, exist_ok=True)
    payload = {"task": setup.task, "device": setup.settings.device, "used": str(used)}
    limits = setup.limits.model_copy(update={"wall_s": max(setup.limits.wall_s, _COMPILING_S)})
    most = run_worker(COMPILE, payload, limits=limits, scratch=setup.scratch / "compile")["most_envs"]
    if most is None:
        return Compiled(used.parent)
    settings = cast("DeviceSettings", setup.settings)
    each = settings.num_envs + settings.evaluation_envs
    if most < each:
        what = f"the device's free memory has room for {most} envs, and one policy is trained and tried in {each}"
        raise MachineError(what, "train with a smaller `num_envs`, or `--device cpu`")
    return Compiled(used.parent, most // each)


TRAINERS.register(
    "ppo",
    TrainerKind(
        make=ppo_trainer,
        settings=PpoSettings,
        learner="PPO",
        notes=NORMALISED,
        loader=STANDALONE,
    ),
)
