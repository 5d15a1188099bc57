"""Trains one reward outside a run: with some seeds, in a folder that a later call continues, or as a task's expert."""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections.abc import Sequence
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import RewardgenError, TaskError, UsageError
from rewardgen.core.files import read_plain, write_atomic
from rewardgen.core.schema import Frozen
from rewardgen.reward.export import reward_file
from rewardgen.sandbox.folders import scratch_folder
from rewardgen.sandbox.process import Limits
from rewardgen.store.names import AbsolutePath, Digest
from rewardgen.store.origin import signature
from rewardgen.store.records import RewardSpec, SliceResult, SliceSpec, TaskCard, Training
from rewardgen.store.run_folder import TRAINING
from rewardgen.tasks.loading import expert_file, resolve_task
from rewardgen.training.cache import TRAINING_SOURCES, code, get_or_measure
from rewardgen.training.protocol import TRAINERS, OnProgress, TrainerSetup
from rewardgen.training.result_validation import TaskNames
from rewardgen.training.setup import DEFAULT_TRAINER, settings_for

_MOST_BYTES = 256 << 20
_BY_CHANCE = ("timeout", "crash", "memory")
"""Failures that the machine may have caused: such a seed is trained again."""


class RewardTraining(NamedTuple):
    """A reward and everything that its training depends on."""

    task: str
    """Task reference; a path is absolute."""
    task_files: dict[str, str]
    """Path to digest of the task's files."""
    card: TaskCard
    reward: RewardSpec
    training: Training
    workers: int = 1
    limits: Limits = Limits(wall_s=3600.0)
    """Limits of a worker; the time is that of one seed."""

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
    signature: str = ""
    """The user's, of the digest and the task; see `rewardgen.store.origin`."""


def train_reward(
    plan: RewardTraining, seeds: Sequence[int], folder: Path, *, on_progress: OnProgress, anew: bool = False
) -> list[SliceResult]:
    """Train a reward with some seeds, except those that the folder has results of; return the result of each seed.

    The folder gets the policies, `training.json`, `curves.csv`, and `reward.py` for a user to import. With `anew`,
    results in it are replaced, as somebody else may have written them.

    Raises:
        UsageError: The reward is not written in the reward language, or the folder holds another training or other
            files.
        MachineError: The trainer's package is not installed; as with a UsageError, nothing is written then.
        RewardgenError: The task cannot be simulated, or a file cannot be written.
    """
    try:
        importable = reward_file(plan.reward.source)
    except UsageError as error:
        raise UsageError(f"{plan.reward.candidate_id} cannot be trained: {error.message}", error.hint) from error
    _require_own_folder(folder, importable)
    results = {} if anew else {result.seed: result for result in _stored(folder, plan)}

    def keep(result: SliceResult) -> None:
        results[result.seed] = result
        _write(folder, plan, [results[seed] for seed in sorted(results)])

    kind = TRAINERS.get(plan.training.trainer)
    missing = [seed for seed in dict.fromkeys(seeds) if seed not in results]
    with scratch_folder() as scratch:
        settings = kind.recorded(plan.training.settings)
        names = TaskNames.of(plan.card)
        setup = TrainerSetup(plan.task, settings, plan.workers, scratch, plan.limits, names=names)
        trainer = kind.make(setup) if missing else None  # fails without its package, before anything is written
        write_atomic(folder / "reward.py", importable)
        if trainer:
            trainer.train(
                [plan.reward],
                [SliceSpec(candidate_id=plan.reward.candidate_id, seed=seed) for seed in missing],
                folder=folder.resolve(),
                on_progress=on_progress,
                on_slice=keep,
            )
    return [results[seed] for seed in seeds]


def _require_own_folder(folder: Path, importable: str) -> None:
    """Refuse a folder with files of the user's, unless a training stands there or began with the same reward."""
    if read_training(folder) or not folder.is_dir() or not any(folder.iterdir()):
        return
    reward = folder / "reward.py"
    if not (reward.is_file() and reward.read_text(errors="replace") == importable):
        raise UsageError(f"{folder} holds other files", "name a new folder with `--folder`")


def read_training(folder: Path) -> Trained | None:
    """Return the trainings in a folder; None if there are none."""
    with suppress(OSError, ValidationError, RewardgenError):
        return Trained.model_validate_json(read_plain(folder / TRAINING, _MOST_BYTES))
    return None


def _stored(folder: Path, plan: RewardTraining) -> list[SliceResult]:
    trained = read_training(folder)
    if trained is None:
        return []
    if trained.digest != plan.digest:
        other = f"trainings of `{trained.reward.candidate_id}` with another reward, task, setting or version"
        raise UsageError(f"{folder} holds {other}", "name a new folder with `--folder`, or delete it")
    kept = [result for result in trained.results if not (result.failure and result.failure.kind in _BY_CHANCE)]
    return [result for result in kept if result.policy is None or (folder / result.policy).is_file()]


def _write(folder: Path, plan: RewardTraining, results: Sequence[SliceResult]) -> None:
    fields = {name: getattr(plan, name) for name in ("digest", "task", "task_files", "reward", "training")}
    signed = signature(plan.digest, RunConfig(task=plan.task))
    trained = Trained(**fields, results=tuple(results), signature=signed)
    write_atomic(folder / TRAINING, trained.model_dump_json(indent=1))
    table = io.StringIO()
    measures = ("fitness", "success_rate") if plan.card.has_fitness else ()
    columns = ("env_steps", *measures, "episode_steps", "episode_return")
    rows = csv.writer(table)
    rows.writerow(["seed", *columns])
    rows.writerows(
        [result.seed, *(getattr(point, column) for column in columns)] for result in results for point in result.curve
    )
    write_atomic(folder / "curves.csv", table.getvalue())


def make_expert(
    task: str, seeds: int, *, env_steps: int | None = None, workers: int = 1, on_progress: OnProgress
) -> tuple[Path, SliceResult]:
    """Train a task's human reward with some seeds, and keep the policy with the best fitness beside the task file.

    Returns the policy file, and the result of its training.

    Raises:
        UsageError: The task's folder cannot be written.
        TaskError: The task has no human reward, or cannot be simulated.
        RewardgenError: No policy could be trained, or none is better than doing nothing or acting at random.
    """
    path, measured = expert_file(resolve_task(task)), get_or_measure(task)
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise UsageError(f"cannot write {path}", "copy the task file and its model to a folder that you may write")
    if "human" not in measured.baselines:
        raise TaskError(f"{measured.card.name} has no human reward", "add a static method `human_reward` to its class")
    settings = settings_for(DEFAULT_TRAINER, measured, env_steps)
    reward = RewardSpec(candidate_id="human", source=measured.baselines["human"], is_baseline=True)
    training = Training(trainer=DEFAULT_TRAINER, settings=settings.model_dump(mode="json"))
    plan = RewardTraining(task, measured.files, measured.card, reward, training, workers)
    with scratch_folder() as scratch:
        results = train_reward(plan, range(seeds), scratch / "policies", on_progress=on_progress)
        best = max(results, key=lambda result: -inf if result.final_fitness is None else result.final_fitness)
        if best.final_fitness is None:
            reason = best.failure.message if best.failure else "its policy could not be measured"
            raise RewardgenError(f"no policy could be trained with the human reward: {reason}", "fix `human_reward`")
        trivial = max((probe.fitness for probe in measured.card.probes), default=-inf)
        if best.final_fitness <= trivial:
            message = f"the best policy reaches a fitness of {best.final_fitness:.4g}, a trivial one {trivial:.4g}"
            raise RewardgenError(message, "train longer with `--env-steps`, or with more `--seeds`")
        write_atomic(path, (scratch / "policies" / str(best.policy)).read_bytes())
    return path, best
