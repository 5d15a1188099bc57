"""Trains one reward with some seeds outside a run's search, in a folder that a later call continues. Loads no torch."""

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
    """A reward and everything that its training depends on."""

    task: str
    """Task reference; a path is absolute."""
    task_files: dict[str, str]
    """Path to digest of the task's files."""
    reward: RewardSpec
    training: Training
    workers: int = 1
    limits: Limits = Limits(wall_s=3600.0)
    """Limits of a worker; the time is that of one seed."""
    names: TaskNames | None = None

    @property
    def digest(self) -> str:
        """Digest of everything that decides the result of a training."""
        parts = (self.task, *self.task_files.values(), self.reward.model_dump_json(), self.training.model_dump_json())
        return hashlib.sha256("\0".join((*parts, *code(TRAINING_SOURCES))).encode()).hexdigest()[:8]


class Trained(Frozen):
    """Content of `training.json`: the trainings in a folder."""

    digest: Digest
    task: str
    task_files: dict[AbsolutePath, Digest]
    reward: RewardSpec
    training: Training
    results: tuple[SliceResult, ...] = ()


def train_reward(
    wanted: RewardTraining, seeds: Sequence[int], folder: Path, *, on_progress: OnProgress, anew: bool = False
) -> list[SliceResult]:
    """Train a reward with some seeds, except those that the folder has results of; return the result of each seed.

    The folder gets the policies, `training.json`, `curves.csv`, and `reward.py` for a user to import; another training
    in it is replaced. With `anew`, results in it are ignored, as somebody else may have written them.

    Raises:
        UsageError: The reward is not written in the reward language, or the folder holds other files; nothing is
            written then.
        RewardgenError: The task cannot be simulated, or a file cannot be written.
    """
    try:
        importable = reward_file(wanted.reward.source)
    except UsageError as error:
        raise UsageError(f"{wanted.reward.candidate_id} cannot be trained: {error.message}", error.hint) from error
    _require_own_folder(folder, importable)
    results = {} if anew else {result.seed: result for result in _stored(folder, wanted)}

    def keep(result: SliceResult) -> None:
        results[result.seed] = result
        _write(folder, wanted, [results[seed] for seed in sorted(results)])

    write_atomic(folder / "reward.py", importable)
    kind = TRAINERS.get(wanted.training.trainer)
    missing = [seed for seed in dict.fromkeys(seeds) if seed not in results]
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
    return [results[seed] for seed in seeds]


def _require_own_folder(folder: Path, importable: str) -> None:
    """Refuse a folder with files of the user's, unless a training stands there or began with the same reward."""
    if _trained(folder) or not folder.is_dir() or not any(folder.iterdir()):
        return
    reward = folder / "reward.py"
    if not (reward.is_file() and reward.read_text(errors="replace") == importable):
        raise UsageError(f"{folder} holds other files", "name a new folder with `--folder`")


def _trained(folder: Path) -> Trained | None:
    with suppress(OSError, ValidationError, RewardgenError):
        return Trained.model_validate_json(read_plain(folder / TRAINING, _MOST_BYTES))
    return None


def _stored(folder: Path, wanted: RewardTraining) -> list[SliceResult]:
    trained = _trained(folder)
    if trained is None or trained.digest != wanted.digest:
        return []
    return [result for result in trained.results if result.policy is None or (folder / result.policy).is_file()]


def _write(folder: Path, wanted: RewardTraining, results: Sequence[SliceResult]) -> None:
    fields = {name: getattr(wanted, name) for name in ("digest", "task", "task_files", "reward", "training")}
    write_atomic(folder / TRAINING, Trained(**fields, results=tuple(results)).model_dump_json(indent=1))
    table = io.StringIO()
    columns = ("env_steps", "fitness", "success_rate", "episode_steps", "episode_return")
    rows = csv.writer(table)
    rows.writerow(["seed", *columns])
    rows.writerows(
        [result.seed, *(getattr(point, column) for column in columns)] for result in results for point in result.curve
    )
    write_atomic(folder / "curves.csv", table.getvalue())
