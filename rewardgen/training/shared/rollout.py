"""Collecting rollouts: all slices act in one batched simulator, with exploration noise of their own.

Shapes: T steps, S slices, N envs per slice, O observation size, A action size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from rewardgen.sim.vec_env import Step, VecEnv
from rewardgen.training.policies import from_policy_units
from rewardgen.training.shared.eyes import Eyes

Act = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""Actions and their means for observations and noise; see `SliceLearner.act`."""


@dataclass(frozen=True)
class Rollout:
    """T control steps of all envs."""

    observation: Tensor  # as simulated, before the step, with what policies see besides, (T, S, N, O)
    final_observation: Tensor  # after the step and before any reset, (T, S, N, O)
    action: Tensor  # in units of half the action range, before clipping, (T, S, N, A)
    mean: Tensor  # of the policy, (T, S, N, A)
    terminated: Tensor  # (T, S, N) bool
    done: Tensor  # terminated or truncated, (T, S, N) bool
    begins: Tensor  # first steps of episodes, (T, S * N) bool
    inputs: dict[str, Tensor]  # of the rewards, name to (T, S * N, ...)


class Collector:
    """Steps the training envs from rollout to rollout."""

    def __init__(
        self,
        envs: VecEnv,
        slices: int,
        names: Iterable[str],
        generators: Sequence[torch.Generator],
        eyes: Eyes,
    ) -> None:
        self._envs, self._eyes = envs, eyes
        self._ids = torch.arange(envs.num_envs, device=envs.device).view(slices, -1)
        self._names = tuple(names)
        self._generators = generators
        self._observation = eyes.see(envs.reset(staggered=True))
        self._begins = torch.ones(envs.num_envs, dtype=torch.bool, device=envs.device)

    @torch.no_grad()
    def collect(self, act: Act, steps: int) -> Rollout:
        """Act for T control steps; see `SliceLearner.act`."""
        observations, actions, means, begins, outcomes, finals = [], [], [], [], [], []
        for noise in self._noise(steps):
            observations.append(self._observation)
            action, mean = act(self._by_slice(self._observation), noise)
            actions.append(action)
            means.append(mean)
            step = self._step(from_policy_units(action.flatten(0, 1), self._envs.action_low, self._envs.action_high))
            outcomes.append(step)
            finals.append(self._eyes.follow(step))
            begins.append(self._begins)
            self._observation, self._begins = self._eyes.see(step.observation), step.terminated | step.truncated
        return Rollout(
            observation=self._by_slice(torch.stack(observations)),
            final_observation=self._by_slice(torch.stack(finals)),
            action=torch.stack(actions),
            mean=torch.stack(means),
            terminated=self._by_slice(torch.stack([step.terminated for step in outcomes])),
            done=self._by_slice(torch.stack([step.terminated | step.truncated for step in outcomes])),
            begins=torch.stack(begins),
            inputs={name: torch.stack([step.inputs[name] for step in outcomes]) for name in self._names},
        )

    def keep(self, kept: Sequence[int]) -> None:
        """See `SliceLearner.keep`; the envs of dropped slices rest."""
        rows = list(kept)
        self._eyes.keep(rows, len(self._ids))
        self._observation = self._by_slice(self._observation)[rows].flatten(0, 1)
        self._begins = self._by_slice(self._begins)[rows].flatten(0, 1)
        self._generators = [self._generators[row] for row in rows]
        self._ids = self._ids[rows]
        rests = torch.ones(self._envs.num_envs, dtype=torch.bool, device=self._envs.device)
        rests[self._ids.flatten()] = False
        self._envs.rest(rests)

    def _step(self, action: Tensor) -> Step:
        ids = self._ids.flatten()
        if len(ids) == self._envs.num_envs:
            return self._envs.step(action)
        step = self._envs.step(action.new_zeros(self._envs.num_envs, action.shape[1]).index_copy(0, ids, action))
        names = ("observation", "final_observation", "terminated", "truncated")
        kept = {name: getattr(step, name)[ids] for name in names}
        return replace(step, **kept, inputs={name: step.inputs[name][ids] for name in self._names})

    def _noise(self, steps: int) -> Tensor:
        shape = (steps, self._ids.shape[1], self._envs.action_size)
        noise = [torch.randn(shape, generator=source, device=source.device) for source in self._generators]
        return torch.stack(noise, dim=1)

    def _by_slice(self, values: Tensor) -> Tensor:
        env_axis = values.dim() - (1 if values.dtype == torch.bool else 2)
        return values.unflatten(env_axis, self._ids.shape)
