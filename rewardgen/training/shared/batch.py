"""Training of a batch of slices, each by a learner's own networks, side by side in one batched simulator.

Shapes: T steps, S slices, N envs per slice, O observation size, A action size.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from rewardgen.store.records import SliceResult
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.protocol import Task
from rewardgen.training.artifacts import TrainJob
from rewardgen.training.policies import PolicyStack
from rewardgen.training.shared.eyes import Eyes
from rewardgen.training.shared.rollout import Collector, Rollout
from rewardgen.training.shared.seeding import slice_generators
from rewardgen.training.shared.slices import Report, Slices, training_envs


class SavedStack(PolicyStack, Protocol):
    """Policies that act side by side and can be kept."""

    def save(self, index: int, path: Path) -> None:
        """Write the policy of one slice to a file; raise a RunFolderError if that fails."""
        ...


class SliceLearner(Protocol):
    """The learning half of a batch of S slices. A slice learns the same alone and among others, to the last bit."""

    bonus_shares: Sequence[float]
    """Part of an exploration bonus in what each slice learned from last, by size; empty if there is no bonus."""

    def act(self, observation: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Actions and their means (S, N, A), in units of half the action range.

        Takes observations (S, N, O) as simulated, and standard normal noise (S, N, A), to explore with.
        """
        ...

    def learn(self, rollout: Rollout, reward: Tensor) -> list[float]:
        """Improve the policies by one rollout and its rewards (T, S, N); return the clipped share of each slice's."""
        ...

    def diverged(self) -> list[int]:
        """Indices of the slices with parameters that are not finite."""
        ...

    def keep(self, kept: Sequence[int]) -> None:
        """Drop all slices but those with these indices, in order."""
        ...

    def policies(self, low: Tensor, high: Tensor, choices: Sequence[int]) -> SavedStack:
        """Return the present deterministic policies; actions lie between `low` and `high`, (S, A).

        For `choices`, see `VecEnv`.
        """
        ...


MakeLearner = Callable[[int, int, Sequence[int], Any, torch.device], SliceLearner]
"""Makes a learner from the sizes of observations and actions, the slices' seeds, the settings, and the device."""


def train_batch(job: TrainJob, make: MakeLearner, report: Report) -> dict[str, Any]:
    """Train all slices of a job in one batch; return `slices`, one `SliceResult` each without final fitness."""
    torch.set_num_threads(1)
    results = SliceBatch(load_task(job.task), job, report, make).run()
    return {"slices": [result.model_dump(mode="json") for result in results]}


class SliceBatch:
    """All slices of a training job, side by side; `report` gets each slice's progress at each evaluation.

    The job's settings have `num_envs`, `rollout_steps` and `device`.
    """

    def __init__(self, task: Task, job: TrainJob, report: Report, make: MakeLearner) -> None:
        self._env_steps = 0
        seeds = [spec.seed for spec in job.slices]
        settings: Any = job.settings
        device = settings.device
        envs = training_envs(device, task, seeds, settings)
        self._settings = settings.model_copy(update={"num_envs": envs.num_envs // len(seeds)})
        self._slices = Slices(task, job, report, device, has_eyes=True)
        eyes = Eyes(self._slices.rewards, envs)
        self._learner = make(envs.observation_size + eyes.size, envs.action_size, seeds, self._settings, envs.device)
        self._action_range = envs.action_low, envs.action_high
        self._envs = envs
        noise = slice_generators(seeds, "exploration", envs.device)
        self._collector = Collector(envs, len(seeds), self._slices.rewards.input_names, noise, eyes)

    def run(self) -> list[SliceResult]:
        """Train to the end; return one result per slice, failed ones included."""
        began = time.perf_counter()
        settings = self._settings
        updates = max(1, round(settings.env_steps / (settings.num_envs * settings.rollout_steps)))
        phases = evaluation_updates(updates, settings.evaluation_phases)
        for number in range(1, updates + 1):
            if settings.levels:
                self._envs.ease(difficulty(settings.levels, (number - 1) / updates))
            self._improve()
            self._drop_ended()
            if number in phases and self._slices.training:
                low, high = (limit.expand(len(self._slices.training), -1) for limit in self._action_range)
                policies = self._learner.policies(low, high, self._envs.choices)
                self._slices.evaluate(policies, self._env_steps)
                if number in phases[-2:]:
                    self._slices.save(policies.save, final=number == phases[-1])
                self._drop_ended()
            if not self._slices.training:
                break
        wall_s = (time.perf_counter() - began) / len(self._slices.logs)
        return [log.result(self._env_steps, wall_s) for log in self._slices.logs]

    def _improve(self) -> None:
        learner, settings, slices = self._learner, self._settings, self._slices
        rollout = self._collector.collect(learner.act, settings.rollout_steps)
        self._env_steps += settings.rollout_steps * settings.num_envs
        for index in unobservable(rollout):
            slices.disable(index, "non-finite", "the task's observation is not finite", self._env_steps)
        priced = slices.rewards.price(rollout.inputs, slices.active(), rollout.begins)
        for fault in priced.faults:
            slices.disable(fault.slice, fault.kind, fault.message, self._env_steps)
        for log, share in zip(slices.training, learner.learn(rollout, priced.total), strict=True):
            log.clipped.append(share)
        for log, share in zip(slices.training, learner.bonus_shares, strict=False):
            log.bonus.append(share)
        for index in learner.diverged():
            slices.disable(index, "diverged", "the networks' parameters are no longer finite", self._env_steps)

    def _drop_ended(self) -> None:
        """Remove the slices that have failed from the stack, so that they cost nothing."""
        if kept := self._slices.keep_active():
            for part in (self._learner, self._collector):
                part.keep(kept)


def difficulty(levels: Sequence[float], done: float) -> float:
    """Difficulty of starts after a share of the training: the levels in the first half, equally long each, then 1."""
    return (*levels, 1.0)[min(int(2.0 * done * len(levels)), len(levels))]


def evaluation_updates(updates: int, phases: int) -> list[int]:
    """Updates (from 1) after which to evaluate: evenly spread, the last one at the end."""
    return sorted({max(1, round(updates * number / phases)) for number in range(1, phases + 1)})


def unobservable(rollout: Rollout) -> list[int]:
    """Indices of the slices with an observation that is not finite."""
    finite = rollout.observation.isfinite() & rollout.final_observation.isfinite()
    return (~finite.flatten(3).all(3).all(2).all(0)).nonzero()[:, 0].tolist()
