"""Training one reward with some seeds outside a run's search, in a folder that is gone on with.

The orchestrator's side; loads no torch.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from rewardgen.core.errors import RewardgenError, UsageError
from rewardgen.core.files import read_plain, write_atomic
from rewardgen.core.schema import Frozen
from rewardgen.reward.export import reward_file
from rewardgen.sandbox.folders import scratch_folder
from rewardgen.sandbox.process import Limits
from rewardgen.store.names import AbsolutePath, Digest
from rewardgen.store.records import RewardSpec, SliceResult, SliceSpec, Training
from rewardgen.store.run_folder import TRAINING
from rewardgen.training.cache import TRAINING_SOURCES, code
from rewardgen.training.protocol import TRAINERS, OnProgress, TrainerSetup
from rewardgen.training.result_validation import TaskNames

_MOST_BYTES = 256 << 20


class RewardTraining(NamedTuple):
    """What to train, and how.

    Attributes:
        task: Task reference; a path is absolute.
        task_files: Path to hash of what it is made of.
        reward: The reward.
        training: The trainer and its settings.
        workers: Training processes.
        limits: Of a worker; the time is that of one seed.
        names: Names of the task, where they are known.
    """

    task: str
    task_files: dict[str, str]
    reward: RewardSpec
    training: Training
    workers: int = 1
    limits: Limits = Limits(wall_s=3600.0)
    names: TaskNames | None = None

    @property
    def digest(self) -> str:
        """Changes whenever a training of it would have another result."""
        parts = (self.task, *self.task_files.values(), self.reward.model_dump_json(), self.training.model_dump_json())
        return hashlib.sha256("\0".join((*parts, *code(TRAINING_SOURCES))).encode()).hexdigest()[:8]


class Trained(Frozen):
    """What was trained in a folder: the content of `training.json`."""

    digest: Digest
    task: str
    task_files: dict[AbsolutePath, Digest]
    reward: RewardSpec
    training: Training
    results: tuple[SliceResult, ...] = ()


def train_reward(
    wanted: RewardTraining, seeds: Sequence[int], folder: Path, *, on_progress: OnProgress, anew: bool = False
) -> list[SliceResult]:
    """Train a reward with some seeds; those that the folder has results of are not trained again.

    The folder gets the policies, `training.json`, `curves.csv` and `reward.py`, for a user to import.

    Args:
        wanted: What to train.
        seeds: Of the trainings.
        folder: Where it goes; one that holds something else is begun anew.
        on_progress: Called with the fields of `Progress`, at each evaluation of each training.
        anew: Whether nothing that the folder has is taken for a result, as somebody else may have put it there.

    Returns:
        The result of each seed, in their order; a failure is one too.

    Raises:
        UsageError: The reward is not written in the reward language; nothing is written then.
        RewardgenError: The task cannot be simulated, or a file cannot be written.
    """
    try:
        importable = reward_file(wanted.reward.source)
    except UsageError as error:
        raise UsageError(f"{wanted.reward.candidate_id} cannot be trained: {error.message}", error.hint) from error
    found = {} if anew else {each.seed: each for each in _kept(folder, wanted)}
    missing = [seed for seed in dict.fromkeys(seeds) if seed not in found]

    def keep(result: SliceResult) -> None:
        found[result.seed] = result
        _write(folder, wanted, [found[seed] for seed in sorted(found)])

    write_atomic(folder / "reward.py", importable)
    kind = TRAINERS.get(wanted.training.trainer)
    with scratch_folder() as scratch:
        settings = kind.settings.model_validate(wanted.training.settings)
        setup = TrainerSetup(wanted.task, settings, wanted.workers, scratch, wanted.limits, names=wanted.names)
        if missing:
            kind.make(setup).train(
                [wanted.reward],
                [SliceSpec(candidate_id=wanted.reward.candidate_id, seed=seed) for seed in missing],
                folder=folder.resolve(),
                on_progress=on_progress,
                on_slice=keep,
            )
    return [found[seed] for seed in seeds]


def _kept(folder: Path, wanted: RewardTraining) -> list[SliceResult]:
    """Results of exactly this that are there, with their policies."""
    with suppress(OSError, ValidationError, RewardgenError):
        kept = Trained.model_validate_json(read_plain(folder / TRAINING, _MOST_BYTES))
        if kept.digest == wanted.digest:
            return [each for each in kept.results if each.policy is None or (folder / each.policy).is_file()]
    return []


def _write(folder: Path, wanted: RewardTraining, results: Sequence[SliceResult]) -> None:
    kept = Trained(
        digest=wanted.digest,
        task=wanted.task,
        task_files=wanted.task_files,
        reward=wanted.reward,
        training=wanted.training,
        results=tuple(results),
    )
    write_atomic(folder / TRAINING, kept.model_dump_json(indent=1))
    table = io.StringIO()
    lines = csv.writer(table)
    lines.writerow(["seed", "env_steps", "fitness", "success_rate", "episode_steps", "episode_return"])
    for each in results:
        for point in each.curve:
            measured = (point.fitness, point.success_rate, point.episode_steps, point.episode_return)
            lines.writerow([each.seed, point.env_steps, *measured])
    write_atomic(folder / "curves.csv", table.getvalue())
