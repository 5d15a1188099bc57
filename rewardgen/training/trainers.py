"""The trainers `ppo` and `sac`, those with the algorithms of Stable-Baselines3, and trainers on a device in general."""

from __future__ import annotations

from functools import partial
from importlib.metadata import version
from typing import cast

from rewardgen.core.errors import MachineError
from rewardgen.core.files import cache_folder
from rewardgen.sandbox.jobs import Job, register
from rewardgen.sandbox.process import run_worker
from rewardgen.tasks.measure import TASK_FILES
from rewardgen.training.ppo.settings import PROFILES, DeviceSettings, PpoSettings
from rewardgen.training.process_trainer import Compiled, ProcessTrainer
from rewardgen.training.protocol import NORMALISED, STANDALONE, TRAINERS, TrainerKind, TrainerSetup
from rewardgen.training.sac.settings import SacSettings
from rewardgen.training.sb3.settings import Sb3PpoSettings, Sb3SacSettings, Sb3Td3Settings, tuned

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
TRAIN_SAC = register("train-sac", "rewardgen.training.sac.learner:train_sac_job", inputs=TASK_FILES)
TRAIN_SB3 = register("train-sb3", "rewardgen.training.sb3.train_job:train_sb3_job", inputs=TASK_FILES, preloaded=False)

_COMPILING_S = 1800.0
"""Time limit for compiling all kernels of a model [s]; minutes on a GPU."""


def trainer_on(setup: TrainerSetup, job: Job) -> ProcessTrainer:
    """Make a trainer on the device of its `DeviceSettings`; on a GPU, one batch of slices at a time."""
    device = setup.settings.device
    if device == "cpu":
        return ProcessTrainer(setup, job)
    return ProcessTrainer(setup, job, compiled=lambda: _compiled(setup), batches=1 if device == "cuda" else None)


def _compiled(setup: TrainerSetup) -> Compiled:
    """Compile the task's kernels in a folder that lasts, and find how many slices fit on the device."""
    used = cache_folder("kernels") / f"warp-{version('warp-lang')}-{version('mujoco-warp')}" / "used"
    used.parent.mkdir(parents=True, exist_ok=True)
    payload = {"task": setup.task, "device": setup.settings.device, "used": str(used)}
    limits = setup.limits.model_copy(update={"wall_s": max(setup.limits.wall_s, _COMPILING_S)})
    most = run_worker(COMPILE, payload, limits=limits, scratch=setup.scratch / "compile")["most_envs"]
    settings = cast("DeviceSettings", setup.settings)
    per_slice = settings.num_envs + settings.evaluation_envs
    if most is not None and most < per_slice:
        message = f"the device's free memory has room for {most} envs, and one policy needs {per_slice}"
        raise MachineError(message, "train with a smaller `num_envs`, or `--device cpu`")
    return Compiled(used.parent, most and most // per_slice)


ppo_trainer = partial(trainer_on, job=TRAIN)
_ppo = TrainerKind(ppo_trainer, PpoSettings, "PPO", NORMALISED, profiles=PROFILES, loader=STANDALONE)
_ppo = _ppo._replace(has_eyes=True, randomises=True, has_levels=True)
TRAINERS.register("ppo", _ppo)

# `NORMALISED` holds for SAC too: rewards are divided by the deviation of the return.
_sac = TrainerKind(partial(ProcessTrainer, job=TRAIN_SAC), SacSettings, "SAC", NORMALISED, loader=STANDALONE)
_sac = _sac._replace(chooses=False, has_eyes=True, randomises=True, has_levels=True)
TRAINERS.register("sac", _sac)

_sb3 = partial(ProcessTrainer, job=TRAIN_SB3)
_AS_IT_IS = (
    "Rewards are taken as they are, so their scale matters; one in which good and bad steps differ by about 1 is"
    " learned from well. The time limit is no end for it."
)
for _name, _settings, _notes in (
    ("ppo", Sb3PpoSettings, NORMALISED),
    ("sac", Sb3SacSettings, _AS_IT_IS),
    ("td3", Sb3Td3Settings, _AS_IT_IS),
):
    _learner, _tuned = f"{_name.upper()} (Stable-Baselines3)", partial(tuned, _name)
    _kind = TrainerKind(_sb3, _settings, _learner, _notes, _name == "ppo", _tuned, STANDALONE, randomises=True)
    TRAINERS.register(f"sb3-{_name}", _kind)
