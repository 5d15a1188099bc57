"""Evaluation: whole episodes of the deterministic policy, measured with the task's fitness and success.

Knows nothing of generated rewards. Shapes: T steps, S slices, E episodes per slice, W = S * E envs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from rewardgen.core.errors import TaskError
from rewardgen.sim.episodes import Episode, Recording, record_episodes
from rewardgen.sim.vec_env import VecEnv
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.protocol import Task
from rewardgen.training.policies import PolicyStack


@dataclass(frozen=True)
class Evaluation:
    """One episode in each of W envs.

    Args:
        recording: The episodes, how they ended, and the inputs of rewards that were asked for.
        fitness: (W,) float64; not a number in slices that could not be measured.
        success: (W,) bool.
        parts: Name of each part of the fitness to its values, (W,), as far as they could be measured.
        problems: Index of a slice to why it could not be measured.
    """

    recording: Recording
    fitness: Tensor
    success: Tensor
    parts: dict[str, Tensor]
    problems: dict[int, str]


def evaluate(task: Task, envs: VecEnv, policy: PolicyStack, names: Iterable[str] = ()) -> Evaluation:
    """Run the first episode of every env, the same whenever it is called, and measure it.

    Args:
        task: The task.
        envs: Evaluation envs of it, slice-major.
        policy: One policy per slice.
        names: Reward inputs to record, besides the variables and the action.

    What the task cannot measure is no error here: whether one slice or all of them are concerned may be chance.
    """
    recording = record_episodes(envs, policy.act, names=names, anew=True)
    return Evaluation(recording, *_measured(task, recording.episode, policy.slices))


def _measured(task: Task, episode: Episode, slices: int) -> tuple[Tensor, Tensor, dict[str, Tensor], dict[int, str]]:
    """Fitness (W,), success (W,), parts and problems, each slice measured as if it were alone."""
    episodes = len(episode.lengths) // slices
    fitness = torch.full_like(episode.lengths, torch.nan, dtype=torch.float64)
    success = torch.zeros_like(episode.terminated)
    parts: dict[str, Tensor] = {}
    problems: dict[int, str] = {}
    for index in range(slices):
        own = slice(index * episodes, (index + 1) * episodes)
        try:
            found = measure_episodes(task, episode.of_envs(own))
        except TaskError as error:
            problems[index] = error.message
            continue
        fitness[own], success[own] = found.fitness, found.success
        for name, values in found.parts.items():
            parts.setdefault(name, torch.full_like(fitness, torch.nan))[own] = values.double()
    return fitness, success, parts, problems
