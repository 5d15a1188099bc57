"""Evaluation: whole episodes of the deterministic policy, measured with the task's fitness and success.

Knows nothing of generated rewards. Shapes: T steps, S slices, E episodes per slice, W = S * E worlds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from rewardgen.simulation.episodes import TIME_LIMIT, measure
from rewardgen.simulation.worlds import Step, Worlds
from rewardgen.task import Episode, Task
from rewardgen.training.policy_file import StackedPolicy
from rewardgen.training.rollout import stack_inputs


@dataclass(frozen=True)
class Evaluation:
    """One episode in each of W worlds.

    Args:
        episode: The variables and actions of the whole episodes.
        inputs: What was asked for, name to (T, W, ...).
        fitness: (W,) float64.
        success: (W,) bool.
        endings: Termination cause of each world, or `time limit`.
    """

    episode: Episode
    inputs: dict[str, Tensor]
    fitness: Tensor
    success: Tensor
    endings: list[str]


class EvaluationWorlds(Worlds):
    """Worlds for several evaluations: what each begins with depends on how many came before it, and on nothing else.

    Otherwise a world that ends early, and goes on until the last one ends, would begin the next evaluation with another
    episode than it would among other slices.
    """

    _resets = 0

    def reset(self) -> Tensor:
        """Begin an evaluation's episodes."""
        self._episode[:] = self._resets << 32
        self._resets += 1
        return super().reset()


def evaluate(task: Task, worlds: Worlds, policy: StackedPolicy, names: Iterable[str] = ()) -> Evaluation:
    """Run one new episode in every world and measure it.

    Args:
        task: The task.
        worlds: Evaluation worlds, slice-major.
        policy: One policy per slice.
        names: Reward inputs to record as well.

    Raises:
        TaskError: The task's fitness or success fails.
    """
    variables = (*task.declared(), "action")
    inputs, ended_at, endings = _run_episodes(worlds, policy, task.episode_steps, {*variables, *names})
    episode = Episode(
        {name: inputs[name] for name in variables},
        lengths=ended_at,
        terminated=torch.tensor([ending != TIME_LIMIT for ending in endings]),
        control_step_s=worlds.view.control_step_s,
        max_steps=task.episode_steps,
    )
    return Evaluation(episode, inputs, *measure(task, episode), endings)


def _run_episodes(
    worlds: Worlds, policy: StackedPolicy, limit: int, names: Collection[str]
) -> tuple[dict[str, Tensor], Tensor, list[str]]:
    """Inputs until every world's first episode is over, at which step (from 1) each ended, and by what."""
    observation = worlds.reset()
    ended_at = torch.zeros(worlds.num_worlds, dtype=torch.int64)
    endings = [TIME_LIMIT] * worlds.num_worlds
    steps: list[dict[str, Tensor]] = []
    while len(steps) < limit and not bool((ended_at > 0).all()):
        step = worlds.step(policy.act(observation))
        observation = step.observation
        steps.append({name: step.inputs[name] for name in names})
        for world in ((ended_at == 0) & (step.terminated | step.truncated)).nonzero()[:, 0].tolist():
            ended_at[world] = len(steps)
            endings[world] = _ending(step, world)
    return stack_inputs(steps, names), ended_at, endings


def _ending(step: Step, world: int) -> str:
    return next((cause for cause, holds in step.causes.items() if bool(holds[world])), TIME_LIMIT)
