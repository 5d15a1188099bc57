"""Recording whole episodes of a task under a policy, and measuring them with the task's fitness and success."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from rewardgen.sim.contract import fitness_problems, require, tensor_problems
from rewardgen.sim.faults import task_faults
from rewardgen.sim.vec_env import Step, VecEnv
from rewardgen.tasks.task import Episode, Task

TIME_LIMIT = "time limit"
"""How an episode ended that no termination condition ended."""

Policy = Callable[[Tensor], Tensor]
"""Observation (N, O) to action (N, A)."""


@dataclass(frozen=True)
class Recording:
    """One episode of each of N worlds.

    Attributes:
        episode: The episodes, as `fitness` and `success` get them.
        endings: How each world's episode ended: a termination cause, or `time limit`.
        inputs: The inputs of rewards that were asked for, name to (T, N, ...), among them the episode's values.
    """

    episode: Episode
    endings: tuple[str, ...]
    inputs: dict[str, Tensor]


def record_episodes(
    worlds: VecEnv,
    policy: Policy,
    *,
    names: Iterable[str] = (),
    watch: Callable[[Step, Tensor], None] | None = None,
) -> Recording:
    """Run one whole episode in every world, from a reset. A world whose episode is over is simulated no further.

    Args:
        worlds: N worlds; they are reset first.
        policy: Acts at every step, also in worlds whose episode is over.
        names: Inputs of rewards to record, besides the variables and the action.
        watch: Is given each step, and which worlds are still in their episode, (N,) bool.

    Raises:
        TaskError: Task code raised or broke the contract.
    """
    observation = worlds.reset()
    alive = torch.ones(worlds.num_envs, dtype=torch.bool)
    lengths = torch.zeros(worlds.num_envs, dtype=torch.int64)
    terminated = torch.zeros_like(alive)
    endings = [TIME_LIMIT] * worlds.num_envs
    variables = (*worlds.task.declared(), "action")
    recorded = dict.fromkeys((*variables, *names))
    history: list[dict[str, Tensor]] = []
    while bool(alive.any()):
        step = worlds.step(policy(observation))
        history.append({name: step.inputs[name] for name in recorded})
        lengths += alive
        if watch is not None:
            watch(step, alive)
        _note_endings(step, alive, endings)
        terminated |= alive & step.terminated
        ended = step.terminated | step.truncated
        if bool(ended.any()):
            alive &= ~ended
            worlds.rest(ended)
        observation = step.observation
    inputs = {name: torch.stack([each[name] for each in history]) for name in recorded}
    values = {name: inputs[name] for name in variables}
    episode = Episode(values, lengths, terminated, worlds.view.control_step_s, worlds.task.episode_steps)
    return Recording(episode, tuple(endings), inputs)


def _note_endings(step: Step, alive: Tensor, endings: list[str]) -> None:
    for world in (alive & step.terminated).nonzero()[:, 0].tolist():
        endings[world] = next(cause for cause, holds in step.causes.items() if holds[world])


def measure(task: Task, episode: Episode) -> tuple[Tensor, Tensor]:
    """Fitness (N,) float64 and success (N,) bool of recorded episodes.

    Raises:
        TaskError: The task's `fitness` or `success` raised or broke the contract.
    """
    worlds = len(episode.lengths)
    with task_faults(task, "fitness"):
        fitness = task.fitness(episode)
    with task_faults(task, "success"):
        success = task.success(episode)
    require(fitness_problems(fitness, worlds) + tensor_problems("`success`", success, (worlds,), boolean=True))
    return fitness.double(), success


def ending_shares(endings: Sequence[str]) -> dict[str, float]:
    """Share of the episodes that ended by each cause."""
    return {cause: endings.count(cause) / len(endings) for cause in dict.fromkeys(endings)}
