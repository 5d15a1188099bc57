"""The trainer of a task, its settings, and what the task's card says of them."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from rewardgen.core.config import Bonus, Device, RunConfig
from rewardgen.core.errors import MachineError, UsageError
from rewardgen.core.extras import install_hint
from rewardgen.core.physics import cannot_vary, parse_ranges, range_text, words
from rewardgen.reward.observation import eyes_text
from rewardgen.store.records import TaskCard, TrainerSettings, Training
from rewardgen.tasks.measure import MeasuredTask
from rewardgen.training import trainers as _trainers  # noqa: F401  (they register themselves)
from rewardgen.training.ppo.settings import CALM, DeviceSettings, PpoSettings
from rewardgen.training.protocol import TRAINERS

DEFAULT_TRAINER = "ppo"
_NOISE_NOTE = "At first, actions scatter about the policy's with a standard deviation of {:g} times half their range."
_BONUS_NOTE = "In the first four fifths of training, a bonus for rare observations is added to the reward."
_PHYSICS_NOTE = "Each training episode draws factors on the physics, or a delay of actions in control steps: {}."
_LEVELS_NOTE = "In the first half of training, episodes begin easier than the task's; evaluations never do."
USUAL = "usual"
"""Name of a trainer's defaults where settings race."""
_SAC = "sac"
_FEWER = 4
"""SAC races with as many times fewer control steps, as each takes it many times as long."""


def trainer_of(task: MeasuredTask) -> str:
    """Return the trainer of a task: the first that it has settings for, else `ppo`."""
    return next(iter(task.training), DEFAULT_TRAINER)


def settings_for(
    trainer: str | None,
    task: MeasuredTask,
    env_steps: int | None = None,
    device: Device | Literal["auto"] = "cpu",
    bonus: Bonus | None = None,
    randomise: Sequence[str] = (),
    levels: bool = False,
) -> TrainerSettings:
    """Return the settings of a trainer on a task: the task's, else tuned ones for its environment, else the defaults.

    Raises:
        UsageError: The trainer or a setting is unknown, the trainer has no exploration bonus, the trainer or the task
            has no levels, or needs the CPU.
        MachineError: The device needs a package that is not installed.
    """
    trainer = trainer or trainer_of(task)
    kind = TRAINERS.get(trainer)
    settings = kind.settings.model_validate(
        task.training[trainer] if trainer in task.training else kind.tuned(task.environment)
    )
    if isinstance(settings, DeviceSettings) and task.on_device:
        settings = settings.on(_available("cpu" if randomise and device == "auto" else device))
        if settings.device != "cpu" and not find_spec("mujoco_warp"):
            raise MachineError("`--device` needs MuJoCo Warp, which is not installed", install_hint("gpu"))
    elif device not in ("cpu", "auto"):
        if not task.on_device:
            raise UsageError(f"{task.card.name} is simulated on the CPU only", "leave out `--device`")
        hint = f"leave out `--device`, or take `--trainer {DEFAULT_TRAINER}`"
        raise UsageError(f"the trainer `{trainer}` trains on the CPU only", hint)
    if bonus and "bonus" not in kind.settings.model_fields:
        message = f"the trainer `{trainer}` has no exploration bonus"
        raise UsageError(message, f"leave out `--bonus`, or train with `--trainer {DEFAULT_TRAINER}`")
    ranges = randomised(trainer, task, randomise or settings.randomise, getattr(settings, "device", "cpu"))
    if levels and not (kind.has_levels and task.levels):
        lacks = f"the trainer `{trainer}`" if task.levels else f"the task {task.card.name}"
        raise UsageError(f"{lacks} has no levels", "leave out `--levels`; docs/tasks.md says how a task gets them")
    changes = {"env_steps": env_steps, "bonus": bonus, "randomise": ranges or None, "levels": levels and task.levels}
    return settings.model_copy(update={name: value for name, value in changes.items() if value})


def randomised(trainer: str, task: MeasuredTask, ranges: Sequence[str], device: str) -> tuple[str, ...]:
    """Return ranges of the physics for the trainings of a task on a device; see `parse_ranges`.

    Raises a UsageError if the trainer does not randomise, or not on the device; a TaskError if the task cannot vary.
    """
    if not ranges:
        return ()
    if not TRAINERS.get(trainer).randomises:
        hint = f"leave out `--randomise`, or train with `--trainer {DEFAULT_TRAINER}`"
        raise UsageError(f"the trainer `{trainer}` does not randomise physics", hint)
    if not task.varies:
        raise cannot_vary()
    if device != "cpu":
        raise UsageError("`--randomise` changes physics on the CPU only", "leave out `--device`")
    return tuple(range_text(name, *bounds) for name, bounds in parse_ranges(ranges).items())


def raced_settings(
    config: RunConfig, task: MeasuredTask, usual: TrainerSettings
) -> dict[str, tuple[str, TrainerSettings]]:
    """Return all settings by name, with their trainers, among which trainings decide, `usual` first.

    Empty if nothing is open: for a task that has settings for its trainer, where fitness does not decide, and on a GPU,
    where none were compared. `calm` races where random actions end most episodes that doing nothing survives, SAC where
    the user names no trainer and wants nothing that it lacks.
    """
    trainer = config.trainer or trainer_of(task)
    profiles, on_cpu = TRAINERS.get(trainer).profiles, getattr(usual, "device", "cpu") == "cpu"
    by_fitness = config.needs_fitness and task.card.has_fitness
    if "race" in config.ablate or trainer in task.training or not (profiles and by_fitness and on_cpu):
        return {}
    of_task = {name: each for name, each in profiles.items() if name != CALM or _noise_ends_episodes(task.card)}
    raced = {name: usual.model_copy(update={**changes}) for name, changes in {USUAL: {}, **of_task}.items()}
    found = {name: (trainer, settings) for name, settings in raced.items()}
    if not (config.trainer or config.bonus or task.card.choices):
        steps = max(1, usual.env_steps // _FEWER)
        found[_SAC] = _SAC, settings_for(_SAC, task, steps, randomise=config.randomise, levels=config.levels)
    return found


def _noise_ends_episodes(card: TaskCard) -> bool:
    """Return whether random actions end most episodes that doing nothing survives."""
    steps = {probe.policy: probe.episode_steps for probe in card.probes}
    return steps["random"] < steps["zero"] / 2


def _available(device: Device | Literal["auto"]) -> Device:
    if device != "auto":
        return device
    gpu = glob.glob("/dev/nvidia[0-9]*") or Path("/dev/dxg").exists()  # the latter in Windows' Linux
    return "cuda" if gpu and find_spec("mujoco_warp") and "+cpu" not in version("torch") else "cpu"


def card_for(
    trainer: str | None, task: MeasuredTask, settings: TrainerSettings | None = None, seeds: int = 0
) -> TaskCard:
    """Return a task's card with its learner, settings (default: the usual ones) and number of seeds (0 if unknown).

    Raises as `settings_for`, and a UsageError if the trainer cannot learn the task's actions.
    """
    trainer = trainer or trainer_of(task)
    kind, settings = TRAINERS.get(trainer), settings or settings_for(trainer, task)
    if task.card.choices and not kind.chooses:
        message = f"actions of {task.card.name} are choices, which {kind.learner} does not learn"
        raise UsageError(message, "train with `--trainer ppo`")
    update = {"learner": kind.learner, "learner_notes": learner_notes(trainer, settings), "seeds": seeds}
    return task.card.model_copy(update=update | {"env_steps": settings.env_steps, "discount": settings.discount})


def learner_notes(trainer: str, settings: TrainerSettings) -> str:
    """Return sentences for designers on a trainer and its settings."""
    notes = (
        TRAINERS.get(trainer).notes,
        _NOISE_NOTE.format(settings.initial_std) if isinstance(settings, PpoSettings) else "",
        settings.origin,
        _BONUS_NOTE if getattr(settings, "bonus", None) else "",
        _PHYSICS_NOTE.format(words(settings.randomise)) if settings.randomise else "",
        _LEVELS_NOTE if settings.levels else "",
    )
    return " ".join(filter(None, notes))


def policy_loader(training: Training) -> str:
    """Return a Python file that loads a run's policies without rewardgen; empty if their trainer has none."""
    loader = TRAINERS.get(training.trainer).loader if training.trainer in TRAINERS else None
    return loader.read_text() if loader else ""


def policies_see(training: Training, source: str) -> str:
    """Return words for what policies see besides the task's observation; empty if that is all, or the trainer blind."""
    return eyes_text(source) if training.trainer in TRAINERS and TRAINERS.get(training.trainer).has_eyes else ""
