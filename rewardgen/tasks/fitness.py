"""Measure recorded episodes with the task's own fitness and success."""

from __future__ import annotations

import torch

from rewardgen.sim.contract import Problem, require, tensor_problems
from rewardgen.sim.episodes import Episode
from rewardgen.sim.faults import task_faults
from rewardgen.tasks.protocol import METRIC, EpisodeMeasures, Task


def measure_episodes(task: Task, episode: Episode) -> EpisodeMeasures:
    """Return fitness (N,) float64, success (N,) bool and the parts of the fitness of recorded episodes.

    In a task without a fitness all episodes have the fitness 0, and none is a success.

    Raises:
        TaskError: The task's `fitness`, `success` or `metric` raised or broke the contract.
    """
    device, num_envs = episode.lengths.device, len(episode.lengths)
    if not task.has_fitness:
        none = torch.zeros(num_envs, dtype=torch.float64, device=device)
        return EpisodeMeasures(none, none > 0.0, {})
    with task_faults(task.path, METRIC, device):
        measures = task.measured(episode)
    if measures is not None:
        return measures._replace(fitness=measures.fitness.double())
    with task_faults(task.path, "fitness", device):
        fitness = task.fitness(episode)
    with task_faults(task.path, "success", device):
        success = task.success(episode)
    problems = tensor_problems("`fitness`", fitness, (num_envs,))
    problems += tensor_problems("`success`", success, (num_envs,), boolean=True)
    if not problems and not bool(fitness.isfinite().all()):
        problems.append(Problem("`fitness` is not finite", "guard its divisions and logarithms"))
    require(problems)
    return EpisodeMeasures(fitness.double(), success, {})
