"""Makes an expert policy: trains a task's human reward, and keeps the best policy beside the task file."""

from __future__ import annotations

import os
from pathlib import Path

from rewardgen.core.errors import RewardgenError, TaskError, UsageError
from rewardgen.core.files import write_atomic
from rewardgen.sandbox.folders import scratch_folder
from rewardgen.store.records import RewardSpec, SliceResult, Training
from rewardgen.tasks.loading import expert_file, resolve_task
from rewardgen.training.cache import get_or_measure
from rewardgen.training.protocol import OnProgress
from rewardgen.training.retraining import RewardTraining, train_reward
from rewardgen.training.setup import DEFAULT_TRAINER, settings_for


def make_expert(
    task: str, seeds: int, *, env_steps: int | None = None, workers: int = 1, on_progress: OnProgress
) -> tuple[Path, SliceResult]:
    """Train a task's human reward with some seeds, and keep the policy with the best fitness beside the task file.

    Returns:
        The policy file, and the result of its training.

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
    plan = RewardTraining(task, measured.files, reward, training, workers)
    with scratch_folder() as scratch:
        results = train_reward(plan, range(seeds), scratch / "policies", on_progress=on_progress)
        best = max(results, key=_fitness)
        if best.final_fitness is None:
            reason = best.failure.message if best.failure else "its policy could not be measured"
            raise RewardgenError(f"no policy could be trained with the human reward: {reason}", "fix `human_reward`")
        trivial = max((probe.fitness for probe in measured.card.probes), default=-float("inf"))
        if best.final_fitness <= trivial:
            message = f"the best policy reaches a fitness of {best.final_fitness:.4g}, a trivial one {trivial:.4g}"
            raise RewardgenError(message, "train longer with `--env-steps`, or with more `--seeds`")
        write_atomic(path, (scratch / "policies" / str(best.policy)).read_bytes())
    return path, best


def _fitness(result: SliceResult) -> float:
    return -float("inf") if result.final_fitness is None else result.final_fitness
