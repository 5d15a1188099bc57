"""The slices of a training job: their logs and their evaluations."""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from rewardgen.core.config import Device
from rewardgen.core.errors import TaskError
from rewardgen.core.physics import parse_ranges
from rewardgen.sim.episodes import record_episodes
from rewardgen.sim.moments import leading_variables
from rewardgen.sim.vec_env import VecEnv
from rewardgen.store.measurements import (
    ComponentPoint,
    EpisodeDigest,
    EvaluationPoint,
    IdleReading,
    PathEfficiency,
    StageReading,
    episode_rows,
)
from rewardgen.store.records import FailureKind, SliceFailure, SliceResult, SliceSpec
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.protocol import Task
from rewardgen.training.artifacts import TrainJob, policy_names
from rewardgen.training.evaluation import evaluate
from rewardgen.training.policies import PolicyStack
from rewardgen.training.shared import digests
from rewardgen.training.shared.eyes import Eyes
from rewardgen.training.shared.rewards import Rewards
from rewardgen.training.shared.seeding import derive_seed

Report = Callable[[dict[str, Any]], None]
_IDLE_EPISODES = 4


@dataclass
class SliceLog:
    """Everything known of one slice so far."""

    spec: SliceSpec
    curve: list[EvaluationPoint] = field(default_factory=list)
    clipped: list[float] = field(default_factory=list)
    """Share of the reward that was clipped in each rollout since the last evaluation."""
    bonus: list[float] = field(default_factory=list)
    """Share of the exploration bonus in each rollout since the last evaluation; empty if the learner has none."""
    components: dict[str, list[ComponentPoint]] = field(default_factory=dict)
    terminations: dict[str, float] = field(default_factory=dict)
    episodes: tuple[EpisodeDigest, ...] = ()
    path_efficiencies: tuple[PathEfficiency, ...] = ()
    credits: dict[str, dict[str, float]] = field(default_factory=dict)
    stages: tuple[StageReading, ...] = ()
    idle: IdleReading | None = None
    failure: SliceFailure | None = None

    @property
    def active(self) -> bool:
        """True while the slice trains."""
        return self.failure is None

    def note(self, evaluation: digests.SliceEvaluation, env_steps: int, stages: int = 0) -> None:
        """Add an evaluation, of a reward with some stages."""
        clipped, bonus = statistics.fmean(self.clipped), statistics.fmean(self.bonus or [0.0])
        self.curve.append(digests.evaluation_point(evaluation, env_steps, clipped, bonus))
        self.clipped.clear()
        self.bonus.clear()
        for name, point in digests.component_points(evaluation, env_steps).items():
            self.components.setdefault(name, []).append(point)
        self.terminations = self.curve[-1].endings
        failed = [one for one in self.episodes if one.rank == "worst" and not (one.success or one.earlier)]
        self.episodes = digests.episode_digests(evaluation)
        if all(one.success for one in self.episodes):  # fitness counts two checkpoints, and failures tell most
            self.episodes += tuple(one.model_copy(update={"earlier": True}) for one in failed)
        self.path_efficiencies = digests.path_efficiencies(
            evaluation.variables, evaluation.components, evaluation.lengths
        )
        self.credits = digests.credits(evaluation)
        self.stages = digests.stage_readings(evaluation, stages)

    def result(self, env_steps: int, wall_s: float) -> SliceResult:
        """Return the result of the slice."""
        same = ("failure", "terminations", "episodes", "path_efficiencies", "credits", "stages", "idle")
        return SliceResult(
            **self.spec.model_dump(),
            **{name: getattr(self, name) for name in same},
            env_steps=self.failure.env_steps if self.failure else env_steps,
            wall_s=wall_s,
            curve=tuple(self.curve),
            components={name: tuple(points) for name, points in self.components.items()},
            policy=None if self.failure else policy_names(self.spec)[0],
        )


class Slices:
    """The slices of a job, with their rewards and their evaluations.

    `logs` has all slices. `training` has those that still train, in the order of networks, envs and rewards. Policies
    with eyes act on observations as `Eyes` shows them.
    """

    def __init__(
        self, task: Task, job: TrainJob, report: Report, device: Device = "cpu", *, has_eyes: bool = False
    ) -> None:
        self.logs = [SliceLog(spec) for spec in job.slices]
        self.training = [*self.logs]
        self._task, self._settings, self._report = task, job.settings, report
        self._device: Device = device
        self._has_eyes = has_eyes
        self._folder = Path(job.folder)
        self._envs = self._make_envs()
        declared = task.declared()
        parts = {name: variable.parts for name, variable in declared.items()}
        self._rows = episode_rows(parts | {"action": self._envs.action_parts})
        self._leading = leading_variables({name: variable.unit for name, variable in declared.items()})
        self.rewards = Rewards(job.rewards, job.slices, input_names(task))
        idle = idle_readings(task, self.rewards, len(self.logs))
        for log, reading in zip(self.logs, idle, strict=True):
            log.idle = reading

    def active(self) -> list[bool]:
        """True for each slice in `training` that has not ended since."""
        return [log.active for log in self.training]

    def keep_active(self) -> list[int] | None:
        """Drop slices that have ended; return the indices of the others, or None if none has ended."""
        kept = [index for index, active in enumerate(self.active()) if active]
        if len(kept) == len(self.training):
            return None
        self.training = [self.training[index] for index in kept]
        if kept:
            self.rewards.keep(kept)
        return kept

    def disable(self, index: int, kind: FailureKind, message: str, env_steps: int) -> None:
        """Record the failure of a slice in `training`."""
        log = self.training[index]
        if log.active:
            log.failure = SliceFailure(kind=kind, message=message, env_steps=env_steps)

    def evaluate(self, policy: PolicyStack, env_steps: int) -> None:
        """Measure the policies of the slices in `training`, and disable slices that fail."""
        if self._envs_of != len(self.training):
            del self._envs
            if self._device == "cuda":  # new envs must fit into the memory that old ones leave free
                gc.collect()
                torch.cuda.empty_cache()
            self._envs = self._make_envs()
        eyes = Eyes(self.rewards, self._envs) if self._has_eyes else None
        evaluation = evaluate(self._task, self._envs, policy, self.rewards.input_names, eyes)
        for index, problem in evaluation.problems.items():
            self.disable(index, "non-finite", problem, env_steps)
        priced = self.rewards.price(evaluation.recording.inputs, self.active())
        for fault in priced.faults:
            self.disable(fault.slice, fault.kind, fault.message, env_steps)
        for index, log in enumerate(self.training):
            if log.active:
                episodes = self._envs.num_envs // len(self.training)
                components, agents = priced.components[index], self._envs.agents
                part = digests.of_slice(evaluation, components, index, episodes, self._rows, self._leading, agents)
                log.note(part, env_steps, self.rewards.sizes[0])
                self._report_progress(log)

    def save(self, write: Callable[[int, Path], None], *, final: bool) -> None:
        """Write the policies of the slices in `training`."""
        for index, log in enumerate(self.training):
            if log.active:
                write(index, self._folder / policy_names(log.spec)[0 if final else 1])

    def _make_envs(self) -> VecEnv:
        seeds = [derive_seed(log.spec.seed, "evaluation") for log in self.training]
        self._envs_of = len(seeds)
        return envs_on(self._device, self._task, seeds, self._settings.evaluation_envs)

    def _report_progress(self, log: SliceLog) -> None:
        point = log.curve[-1]
        progress = {"env_steps": point.env_steps, "fitness": point.fitness, "success_rate": point.success_rate}
        self._report({"candidate_id": log.spec.candidate_id, "seed": log.spec.seed, **progress})


def input_names(task: Task) -> set[str]:
    """Names of all inputs that a task offers to rewards."""
    names = {*task.declared(), "action"}
    return names | {f"prev_{name}" for name in names}


def training_envs(device: Device, task: Task, seeds: Sequence[int], settings: Any) -> VecEnv:
    """Make `num_envs` training envs for each seed, with physics and first starts as the settings say."""
    envs = envs_on(device, task, [derive_seed(seed, "training") for seed in seeds], settings.num_envs)
    if settings.randomise:
        envs.vary(parse_ranges(settings.randomise))
    if settings.levels:
        envs.ease(settings.levels[0])
    return envs


def envs_on(device: Device, task: Task, seeds: Sequence[int], envs_per_seed: int) -> VecEnv:
    """Make a task's envs on a device; a task for the CPU alone need not take `device`."""
    if device == "cpu":
        return task.make_envs(seeds, envs_per_seed)
    return task.make_envs(seeds, envs_per_seed, device=device)


def idle_readings(task: Task, rewards: Rewards, slices: int) -> list[IdleReading | None]:
    """Price a policy that does nothing, the measure of too large an alive bonus; one reading per slice.

    A reading is None where the reward or the fitness cannot be computed on these episodes.
    """
    envs = task.make_envs([derive_seed(0, "idle")], _IDLE_EPISODES)
    still = envs.action_low.new_zeros(envs.num_envs, envs.action_size)
    try:
        recording = record_episodes(envs, lambda _: still, names=rewards.input_names)
        fitness = float(measure_episodes(task, recording.episode).fitness.mean())
    except TaskError:
        return [None] * slices
    lengths = recording.episode.lengths
    repeated = {name: torch.cat([value] * slices, dim=1) for name, value in recording.inputs.items()}
    priced = rewards.price(repeated, [True] * slices)
    failed = {fault.slice for fault in priced.faults}
    returns = [
        float((priced.total[:, index].double() * recording.episode.mask).sum(0).mean()) for index in range(slices)
    ]
    return [
        None
        if index in failed
        else IdleReading(episode_return=returns[index], episode_steps=float(lengths.double().mean()), fitness=fitness)
        for index in range(slices)
    ]
