"""Measuring recorded episodes with the task's own fitness and success."""

from __future__ import annotations

from rewardgen.sim.contract import Problem, require, tensor_problems
from rewardgen.sim.episodes import Episode
from rewardgen.sim.faults import task_faults
from rewardgen.tasks.metric import Measured
from rewardgen.tasks.metric_contract import METRIC
from rewardgen.tasks.protocol import Task


def measure_episodes(task: Task, episode: Episode) -> Measured:
    """Fitness (N,) float64, success (N,) bool and the parts of the fitness, of recorded episodes.

    Raises:
        TaskError: The task's `fitness`, `success` or `metric` raised or broke the contract.
    """
    device = episode.lengths.device
    with task_faults(task.path, METRIC, device):
        measured = task.measured(episode)
    if measured is not None:
        return measured._replace(fitness=measured.fitness.double())
    num_envs = len(episode.lengths)
    with task_faults(task.path, "fitness", device):
        fitness = task.fitness(episode)
    with task_faults(task.path, "success", device):
        success = task.success(episode)
    problems = tensor_problems("`fitness`", fitness, (num_envs,))
    problems += tensor_problems("`success`", success, (num_envs,), boolean=True)
    if not problems and not bool(fitness.isfinite().all()):
        problems.append(Problem("`fitness` is not finite", "guard its divisions and logarithms"))
    require(problems)
    return Measured(fitness.double(), success, {})
