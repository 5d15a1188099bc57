"""Measuring recorded episodes with the task's own fitness and success."""

from __future__ import annotations

from torch import Tensor

from rewardgen.sim.contract import Problem, require, tensor_problems
from rewardgen.sim.episodes import Episode
from rewardgen.sim.faults import task_faults
from rewardgen.tasks.protocol import Task


def measure_episodes(task: Task, episode: Episode) -> tuple[Tensor, Tensor]:
    """Fitness (N,) float64 and success (N,) bool of recorded episodes.

    Raises:
        TaskError: The task's `fitness` or `success` raised or broke the contract.
    """
    worlds = len(episode.lengths)
    with task_faults(task.path, "fitness"):
        fitness = task.fitness(episode)
    with task_faults(task.path, "success"):
        success = task.success(episode)
    problems = tensor_problems("`fitness`", fitness, (worlds,))
    problems += tensor_problems("`success`", success, (worlds,), boolean=True)
    if not problems and not bool(fitness.isfinite().all()):
        problems.append(Problem("`fitness` is not finite", "guard its divisions and logarithms"))
    require(problems)
    return fitness.double(), success
