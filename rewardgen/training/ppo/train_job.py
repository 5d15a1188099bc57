"""Worker jobs of PPO: one trains a batch of slices, one compiles the kernels that a device needs for it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch

from rewardgen.store.records import SliceResult
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.protocol import Task
from rewardgen.training.ppo.learner import Learner
from rewardgen.training.ppo.networks import NetworkSizes
from rewardgen.training.ppo.policy import StackedPolicy
from rewardgen.training.ppo.rollout import Collector, Rollout
from rewardgen.training.ppo.settings import PpoJob
from rewardgen.training.shared.seeding import slice_generators
from rewardgen.training.shared.slices import Report, Slices, derived, envs_on


def train_job(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Train all slices of a `PpoJob` in one batch; return `slices`, one `SliceResult` each without final fitness."""
    torch.set_num_threads(1)
    job = PpoJob.model_validate(payload)
    if job.kernels:
        use_kernels(Path(job.kernels))
    results = SliceBatch(load_task(job.task), job, report).run()
    return {"slices": [result.model_dump(mode="json") for result in results]}


def compile_job(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Compile the kernels of a task for a device; return `most_envs`, which fit into its free memory, if known.

    No generated code runs here, so this job may write what others load.
    """
    used = Path(payload["used"])
    use_kernels(used.parent)
    envs = load_task(payload["task"]).make_envs([0], 2, device=payload["device"])
    envs.reset()
    envs.step(envs.action_low.expand(2, -1))
    used.touch()
    return {"most_envs": envs.most_envs}


def use_kernels(folder: Path) -> None:
    """Keep compiled kernels in a folder. Call it in a process that has simulated nothing yet."""
    import warp  # an extra  # pyright: ignore[reportMissingImports]

    warp.config.kernel_cache_dir = str(folder)
    warp.config.cuda_output = "cubin"  # not PTX, which each worker's driver would compile once more


class SliceBatch:
    """All slices of a training job, side by side; `report` gets each slice's progress at each evaluation."""

    def __init__(self, task: Task, job: PpoJob, report: Report) -> None:
        self._env_steps = 0
        seeds = [spec.seed for spec in job.slices]
        device = job.settings.device
        envs = envs_on(device, task, derived(seeds, "training"), job.settings.num_envs)
        self._settings = job.settings.model_copy(update={"num_envs": envs.num_envs // len(seeds)})
        self._slices = Slices(task, job, report, device)
        sizes = NetworkSizes(envs.observation_size, envs.action_size, job.settings.hidden)
        self._learner = Learner(sizes, seeds, self._settings, envs.device)
        self._action_range = envs.action_low, envs.action_high
        noise = slice_generators(seeds, "exploration", envs.device)
        self._collector = Collector(envs, len(seeds), self._slices.rewards.input_names, noise)

    def run(self) -> list[SliceResult]:
        """Train to the end; return one result per slice, failed ones included."""
        began = time.perf_counter()
        settings = self._settings
        updates = max(1, round(settings.env_steps / (settings.num_envs * settings.rollout_steps)))
        phases = evaluation_updates(updates, settings.evaluation_phases)
        for number in range(1, updates + 1):
            self._improve()
            self._drop_ended()
            if number in phases and self._slices.training:
                final = number == phases[-1]
                self._slices.evaluate(self._policy, self._env_steps)
                self._slices.save(self._policy.save, final=final, kept=number in phases[-2:])
                self._drop_ended()
            if not self._slices.training:
                break
        wall_s = (time.perf_counter() - began) / len(self._slices.logs)
        return [log.result(self._env_steps, wall_s) for log in self._slices.logs]

    @property
    def _policy(self) -> StackedPolicy:
        low, high = (limit.expand(len(self._slices.training), -1) for limit in self._action_range)
        return StackedPolicy(self._learner.networks, self._learner.normaliser, low, high)

    def _improve(self) -> None:
        """Collect one rollout and make one update."""
        learner, settings, slices = self._learner, self._settings, self._slices
        rollout = self._collector.collect(learner.networks, learner.normaliser, settings.rollout_steps)
        for index in unobservable(rollout):
            slices.disable(index, "non-finite", "the task's observation is not finite", self._env_steps)
        priced = slices.rewards.price(rollout.inputs, slices.active(), rollout.begins)
        for fault in priced.faults:
            further_steps = (fault.step + 1) * settings.num_envs
            slices.disable(fault.slice, fault.kind, fault.message, self._env_steps + further_steps)
        for log, share in zip(slices.training, learner.learn(rollout, priced.total), strict=True):
            log.clipped.append(share)
        self._env_steps += settings.rollout_steps * settings.num_envs
        for index in learner.diverged():
            slices.disable(index, "diverged", "the networks' parameters are no longer finite", self._env_steps)

    def _drop_ended(self) -> None:
        """Remove the slices that have failed from the stack, so that they cost nothing."""
        if kept := self._slices.keep_active():
            for part in (self._learner, self._collector):
                part.keep(kept)


def evaluation_updates(updates: int, phases: int) -> list[int]:
    """Updates (from 1) after which to evaluate: evenly spread, the last one at the end."""
    return sorted({max(1, round(updates * number / phases)) for number in range(1, phases + 1)})


def unobservable(rollout: Rollout) -> list[int]:
    """Indices of the slices with an observation that is not finite."""
    finite = rollout.observation.isfinite() & rollout.final_observation.isfinite()
    return (~finite.flatten(3).all(3).all(2).all(0)).nonzero()[:, 0].tolist()
