"""Training of one slice by a learner of another library, which steps the envs itself."""

from __future__ import annotations

import gc
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import torch
from torch import Tensor

from rewardgen.core.config import Device
from rewardgen.sim.vec_env import Step
from rewardgen.store.records import SliceResult
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.protocol import Task
from rewardgen.training.artifacts import TrainJob
from rewardgen.training.mlp_policy import MlpPolicy
from rewardgen.training.policies import side_by_side
from rewardgen.training.shared.seeding import derive_seed
from rewardgen.training.shared.slices import Report, Slices, training_envs

Job = TypeVar("Job", bound=TrainJob)


def train_in_turn(training: Callable[[Task, Job, Report], SliceTraining], job: Job, report: Report) -> dict[str, Any]:
    """Train all slices of a job, one after another; return `slices`, one `SliceResult` each without final fitness.

    `training` makes the training of one slice from the task, a job with that slice alone, and `report`.
    """
    torch.set_num_threads(1)
    task, results = load_task(job.task), []
    for spec in job.slices:
        results.append(training(task, job.model_copy(update={"slices": (spec,)}), report).run())
        gc.collect()  # envs and learner refer to each other, and the next ones need their memory
    return {"slices": [result.model_dump(mode="json") for result in results]}


class SliceEndedError(Exception):
    """The slice has failed; the learner lets this exception pass."""


class SliceTraining(ABC):
    """The training of one slice. A subclass makes the learner, over `envs` with the rewards of `price`.

    The training takes `env_steps` control steps: whole rollouts of `rollout_steps` per env, if given. The job has
    this slice alone; its settings have `num_envs`.
    """

    def __init__(
        self, task: Task, job: TrainJob, report: Report, device: Device = "cpu", rollout_steps: int | None = None
    ) -> None:
        (spec,) = job.slices
        settings: Any = job.settings
        self.envs = training_envs(device, task, [spec.seed], settings)
        self.seed = derive_seed(spec.seed, "learner")
        self._begins = torch.ones(1, self.envs.num_envs, dtype=torch.bool, device=self.envs.device)
        least = self.envs.num_envs * rollout_steps if rollout_steps else 1
        self.env_steps = least * max(1, round(settings.env_steps / least))
        self.slices = Slices(task, job, report, device)
        phases = settings.evaluation_phases
        self._milestones = [round(self.env_steps * number / phases) for number in range(1, phases + 1)]

    @property
    @abstractmethod
    def steps(self) -> int:
        """Control steps so far."""

    @abstractmethod
    def learn(self) -> None:
        """Train for `env_steps` control steps, calling `advance` now and then."""

    @abstractmethod
    def policy(self) -> MlpPolicy:
        """Return the current policy, on the CPU."""

    def run(self) -> SliceResult:
        """Train to the end; a failure is a result too."""
        began = time.perf_counter()
        try:
            self.learn()
            if self.slices.active() == [True]:
                self._evaluate(final=True)
        except SliceEndedError:
            pass
        return self.slices.logs[0].result(self.steps, time.perf_counter() - began)

    def advance(self) -> None:
        """Evaluate if an evaluation is due, except the final one; raise a SliceEndedError if the slice ends with it."""
        due = [steps for steps in self._milestones[:-1] if steps <= self.steps]
        if due:
            self._milestones = self._milestones[len(due) :]
            self._evaluate(final=False)

    def price(self, step: Step) -> Tensor:
        """Rewards of a step, (N,) float32; raise a SliceEndedError if the reward fails."""
        self.require_finite([step.final_observation])
        inputs = {name: step.inputs[name].unsqueeze(0) for name in self.slices.rewards.input_names}
        priced = self.slices.rewards.price(inputs, [True], self._begins)
        for fault in priced.faults:
            self._end(fault.kind, fault.message)
        self._begins = (step.terminated | step.truncated).unsqueeze(0)
        return priced.total[0, 0]

    def require_finite(self, observations: Iterable[Tensor]) -> None:
        """Fail the slice, by a SliceEndedError, if an observation is not finite."""
        if not all(bool(observation.isfinite().all()) for observation in observations):
            self._end("non-finite", "the task's observation is not finite")

    def _evaluate(self, *, final: bool) -> None:
        policy, log = self.policy(), self.slices.logs[0]
        if any(not bool(part.isfinite().all()) for layer in policy.layers for part in layer):
            self._end("diverged", "the networks' parameters are no longer finite")
        log.clipped = log.clipped or [0.0]
        self.slices.evaluate(side_by_side([policy.on(self.envs.device)]), self.steps)
        if final or len(self._milestones) <= 1:
            self.slices.save(lambda _, path: policy.save(path), final=final)
        if not log.active:
            raise SliceEndedError

    def _end(self, kind: Any, message: str) -> None:
        self.slices.disable(0, kind, message, self.steps)
        raise SliceEndedError
