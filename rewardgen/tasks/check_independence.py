"""Checks that envs are reproducible and none depends on another, in the dynamics, in fitness and in success."""

from __future__ import annotations

import torch
from torch import Tensor

from rewardgen.sim.contract import Problem
from rewardgen.sim.episodes import Episode
from rewardgen.sim.vec_env import VecEnv
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.metric import Measured
from rewardgen.tasks.protocol import Task

_SEED = 50_000_017
_OTHER_SEED = 50_000_021
_NUM_ENVS = 4
_STEPS = 25
_PADDING = 1e4


def independence_problems(task: Task) -> list[Problem]:
    """Whether a seed gives the same episodes again, and the same among other envs as alone.

    Args:
        task: The task.

    Raises:
        TaskError: Task code raised.
    """
    first, again = (_trace(task.make_envs([_SEED], _NUM_ENVS), 1) for _ in range(2))
    if not _same(first, again):
        hint = "draw all random numbers from `draw` and keep nothing on the task between calls"
        if hasattr(task, "env"):
            hint = "draw random numbers from `self.np_random`, after `super().reset(seed=seed)`, and forget the rest"
        return [Problem("the same seed and actions give different episodes", hint)]
    among = _trace(task.make_envs([_OTHER_SEED, _SEED], _NUM_ENVS), 2)
    if not _same(first, among[:, first.shape[1] :]):
        hint = "compute each env from its own row: no means or maxima over the first axis, no running state"
        return [Problem("an env's episode changes with the envs beside it", hint)]
    return []


def _trace(envs: VecEnv, groups: int) -> Tensor:
    """Observations and variables of a few steps, (T, N, k), with the same actions for each group of envs."""
    generator = torch.Generator(envs.device).manual_seed(_SEED)
    span = envs.action_high - envs.action_low
    rows = [envs.reset()]
    size = 0
    for _ in range(_STEPS):
        each = envs.num_envs // groups
        noise = torch.rand(each, envs.action_size, generator=generator, device=envs.device)
        step = envs.step(envs.action_low + span * noise.repeat(groups, 1))
        rows.append(torch.cat((step.observation, *(each.reshape(len(each), -1) for each in step.inputs.values())), 1))
        size = rows[-1].shape[1]
    rows[0] = torch.nn.functional.pad(rows[0], (0, size - rows[0].shape[1]))
    return torch.stack(rows)


def _same(one: Tensor, other: Tensor) -> bool:
    # Batched operations may round differently at another batch size; a dependence shows far above that.
    return torch.allclose(one, other, rtol=1e-4, atol=1e-5, equal_nan=True)


def measurement_problems(task: Task, episode: Episode, together: int = 1) -> list[Problem]:
    """Whether fitness and success read only the steps lived, and each env by itself.

    Args:
        task: The task.
        episode: Recorded episodes of several envs.
        together: Agents of a game, whose episodes may depend on each other.

    Raises:
        TaskError: Fitness or success raised or broke the contract.
    """
    found = measure_episodes(task, episode)
    problems = []
    if not _equal(found, measure_episodes(task, _with_other_padding(episode))):
        hint = "use `episode.mean`, `total`, `last`, `share` or `mask`, which heed each env's length"
        problems.append(Problem("fitness or success reads steps after an episode's end", hint))
    half = len(found.fitness) // together // 2 * together
    first = found._replace(fitness=found.fitness[:half], success=found.success[:half])
    if not _equal(first, measure_episodes(task, episode.of_envs(slice(half)))):
        hint = "reduce over steps (axis 0) only, never over envs (axis 1)"
        problems.append(Problem("the fitness or success of an env depends on the envs beside it", hint))
    return problems


def _equal(one: Measured, other: Measured) -> bool:
    alike = torch.allclose(one.fitness, other.fitness, rtol=1e-4, atol=1e-6)
    return alike and bool((one.success == other.success).all())


def _with_other_padding(episode: Episode) -> Episode:
    """The same episodes with other values, and one more step, after each env's end."""
    values = {name: torch.cat((each, each[-1:])) for name, each in episode.items()}
    longer = Episode(values, episode.lengths, episode.terminated, episode.control_step_s, episode.max_steps)
    for each in values.values():
        each[~longer.mask] = _PADDING if each.is_floating_point() else 0
    return longer
