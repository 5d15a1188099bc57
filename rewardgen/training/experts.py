"""Making an expert policy: the task's human reward trained with some seeds, the best policy kept beside the task file.

The orchestrator's side; loads no torch.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import NamedTuple

from rewardgen.core.errors import RewardgenError, TaskError, UsageError
from rewardgen.core.files import write_atomic
from rewardgen.sandbox.folders import scratch_folder
from rewardgen.store.records import RewardSpec, SliceResult, Training
from rewardgen.tasks.loading import expert_file, resolve_task
from rewardgen.training.protocol import OnProgress
from rewardgen.training.retraining import RewardTraining, train_reward
from rewardgen.training.setup import DEFAULT_TRAINER, settings_for
from rewardgen.training.transition_cache import get_or_measure


class Expert(NamedTuple):
    """An expert policy that was made.

    Attributes:
        path: Its file.
        seed: The seed that it was trained with.
        fitness: Of its clean evaluation.
        success_rate: The same.
        trivial: Policy that knows nothing to its fitness: what has to be beaten.
        others: Seed to fitness of the policies that were not chosen.
    """

    path: Path
    seed: int
    fitness: float
    success_rate: float
    trivial: dict[str, float]
    others: dict[int, float]


def make_expert(
    task: str, seeds: int, *, env_steps: int | None = None, workers: int = 1, on_progress: OnProgress
) -> Expert:
    """Train a task's human reward, and keep the policy with the best fitness beside the task file.

    Args:
        task: Task reference; a path is absolute.
        seeds: How many policies are trained, side by side.
        env_steps: Control steps of each; the task's own setting if not given.
        workers: Training processes.
        on_progress: Called with the fields of `Progress`, at each evaluation of each policy.

    Raises:
        UsageError: The task has no human reward, or its folder cannot be written.
        TaskError: The task cannot be simulated.
        RewardgenError: No policy could be trained, or none that gets farther than doing nothing or anything.
    """
    path = expert_file(resolve_task(task))
    _require_room(path)
    known = get_or_measure(task)
    if "human" not in known.baselines:
        hint = "write the reward that is known to work as a static method `human_reward` of the task class"
        raise TaskError(f"{known.card.name} has no `human_reward` to train an expert policy with", hint)
    settings = settings_for(DEFAULT_TRAINER, known, env_steps)
    reward = RewardSpec(candidate_id="human", source=known.baselines["human"], own=True)
    training = Training(trainer=DEFAULT_TRAINER, settings=settings.model_dump(mode="json"))
    wanted = RewardTraining(task, known.files, reward, training, workers)
    with scratch_folder() as scratch:
        results = train_reward(wanted, range(seeds), scratch / "policies", on_progress=on_progress)
        fitness = _fitness(results)
        best = max(results, key=lambda each: fitness.get(each.seed, -math.inf))
        trivial = {probe.policy: probe.fitness for probe in known.card.probes}
        _require_skill(fitness[best.seed], trivial)
        write_atomic(path, (scratch / "policies" / str(best.policy)).read_bytes())
    others = {seed: value for seed, value in fitness.items() if seed != best.seed}
    return Expert(path, best.seed, fitness[best.seed], best.final_success_rate or 0.0, trivial, others)


def _require_room(path: Path) -> None:
    """Fail before the training where its result could not be written."""
    try:
        if path.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        hint = "copy the task file, and what it reads, to a folder that you may write, and name it by its path"
        raise UsageError(f"cannot write {path}: {error.strerror}", hint) from error


def _fitness(results: list[SliceResult]) -> dict[int, float]:
    """The fitness of each seed whose training succeeded, in the order of the seeds."""
    fitness = {each.seed: each.final_fitness for each in results if each.final_fitness is not None}
    if not fitness:
        failure = results[0].failure
        message = failure.message if failure else "its policies could not be measured"
        raise RewardgenError(f"no policy could be trained with the human reward: {message}", "fix `human_reward`")
    return dict(sorted(fitness.items()))


def _require_skill(fitness: float, trivial: dict[str, float]) -> None:
    policy = max(trivial, key=trivial.__getitem__)
    if fitness <= trivial[policy]:
        what = {"zero": "doing nothing", "random": "random actions"}[policy]
        message = (
            f"the best policy reaches a fitness of {fitness:.4g}, {what} {trivial[policy]:.4g}:"
            " it was not kept, since the critic would see nothing new of it"
        )
        raise RewardgenError(message, "train longer with `--env-steps`, or with more `--seeds`")
