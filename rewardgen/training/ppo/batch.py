"""Training a batch of slices: collect, price, learn, evaluate, until every slice has its steps or has ended before."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rewardgen.analyzer.hacking import find_hacking
from rewardgen.sim.episodes import ending_shares
from rewardgen.sim.moments import leading_variables
from rewardgen.sim.vec_env import VecEnv
from rewardgen.store.episode_rows import episode_rows
from rewardgen.store.measurements import (
    ComponentPoint,
    EarlyStop,
    EpisodeDigest,
    EvaluationPoint,
    IdleReading,
    PathEfficiency,
)
from rewardgen.store.records import FailureKind, SliceFailure, SliceResult, SliceSpec
from rewardgen.tasks.protocol import Task
from rewardgen.training.artifacts import policy_names
from rewardgen.training.evaluation import evaluate
from rewardgen.training.ppo import digests
from rewardgen.training.ppo.idle import idle_readings
from rewardgen.training.ppo.learner import Learner
from rewardgen.training.ppo.networks import Sizes
from rewardgen.training.ppo.path_efficiency import path_efficiencies
from rewardgen.training.ppo.policy import StackedPolicy
from rewardgen.training.ppo.rewards import Rewards
from rewardgen.training.ppo.rollout import Collector, Rollout
from rewardgen.training.ppo.seeding import derive_seed, slice_generators
from rewardgen.training.ppo.settings import PpoJob, PpoSettings

Report = Callable[[dict[str, Any]], None]


@dataclass
class _Log:
    """What is known of one slice so far."""

    spec: SliceSpec
    curve: list[EvaluationPoint] = field(default_factory=list)
    clipped: list[float] = field(default_factory=list)
    """Part of the reward that was cut off, of each rollout since the last evaluation."""
    components: dict[str, list[ComponentPoint]] = field(default_factory=dict)
    terminations: dict[str, float] = field(default_factory=dict)
    episodes: tuple[EpisodeDigest, ...] = ()
    path_efficiencies: tuple[PathEfficiency, ...] = ()
    idle: IdleReading | None = None
    failure: SliceFailure | None = None
    stopped: EarlyStop | None = None

    @property
    def active(self) -> bool:
        """Whether it still trains."""
        return self.failure is None and self.stopped is None

    def note(self, found: digests.SliceEvaluation, env_steps: int) -> None:
        """Take in an evaluation."""
        self.curve.append(digests.evaluation_point(found, env_steps, statistics.fmean(self.clipped)))
        self.clipped.clear()
        for name, point in digests.component_points(found, env_steps).items():
            self.components.setdefault(name, []).append(point)
        self.terminations = ending_shares(found.endings)
        self.episodes = digests.episode_digests(found)
        self.path_efficiencies = path_efficiencies(found.variables, found.components, found.lengths)

    def result(self, env_steps: int, wall_s: float) -> SliceResult:
        """What became of the slice."""
        ended = self.failure or self.stopped
        return SliceResult(
            candidate_id=self.spec.candidate_id,
            seed=self.spec.seed,
            failure=self.failure,
            stopped=self.stopped,
            env_steps=ended.env_steps if ended else env_steps,
            wall_s=wall_s,
            curve=tuple(self.curve),
            components={name: tuple(points) for name, points in self.components.items()},
            terminations=self.terminations,
            episodes=self.episodes,
            path_efficiencies=self.path_efficiencies,
            idle=self.idle,
            policy=None if self.failure else policy_names(self.spec)[0],
        )


def evaluation_updates(updates: int, phases: int) -> list[int]:
    """After which updates (from 1) to evaluate: evenly spread, the last one at the end.

    Args:
        updates: Updates in the whole training.
        phases: Evaluations wanted; fewer if there are fewer updates.
    """
    return sorted({max(1, round(updates * number / phases)) for number in range(1, phases + 1)})


class SliceBatch:
    """All slices of a training job, side by side.

    Args:
        task: The task.
        job: Rewards, slices, settings, and the folder for the policies.
        report: Called with each slice's progress at each evaluation.
    """

    def __init__(self, task: Task, job: PpoJob, report: Report) -> None:
        self._task = task
        self._settings = job.settings
        self._stops = job.stop_hacking
        self._folder = Path(job.folder)
        self._report = report
        self._logs = [_Log(spec) for spec in job.slices]
        self._training = [*self._logs]
        """Those that still train, in the order in which networks, worlds and rewards are stacked."""
        self._env_steps = 0
        specs = [log.spec for log in self._logs]
        seeds = [spec.seed for spec in specs]
        worlds = task.make_envs(_derived(seeds, "training"), job.settings.num_envs)
        self._evaluation_worlds = self._make_evaluation_worlds()
        parts = {name: each.parts for name, each in task.declared().items()} | {"action": worlds.action_parts}
        self._rows = episode_rows(parts)
        self._leading = leading_variables({name: each.unit for name, each in task.declared().items()})
        self._rewards = Rewards(job.rewards, specs, input_names(task))
        idle = idle_readings(task, self._rewards, len(specs))
        for log, reading in zip(self._logs, idle, strict=True):
            log.idle = reading
        sizes = Sizes(worlds.observation_size, worlds.action_size, job.settings.hidden)
        self._learner = Learner(sizes, seeds, job.settings, worlds.device)
        self._action_range = worlds.action_low, worlds.action_high
        noise = slice_generators(seeds, "exploration", worlds.device)
        self._collector = Collector(worlds, len(seeds), self._rewards.input_names, noise)

    def run(self) -> list[SliceResult]:
        """Train to the end.

        Returns:
            One result per slice, failed ones included. The others have left their policies in the folder.
        """
        began = time.perf_counter()
        updates = count_updates(self._settings)
        phases = evaluation_updates(updates, self._settings.evaluation_phases)
        for number in range(1, updates + 1):
            self._improve()
            self._drop_ended()
            if number in phases and self._training:
                final = number == phases[-1]
                self._evaluate(final)
                self._save(final=final, kept=self._stops or number in phases[-2:])
                self._drop_ended()
            if not self._training:
                break
        wall_s = (time.perf_counter() - began) / len(self._logs)
        return [log.result(self._env_steps, wall_s) for log in self._logs]

    def _active(self) -> list[bool]:
        return [log.active for log in self._training]

    @property
    def _policy(self) -> StackedPolicy:
        low, high = (limit.expand(len(self._training), -1) for limit in self._action_range)
        return StackedPolicy(self._learner.networks, self._learner.normaliser, low, high)

    def _make_evaluation_worlds(self) -> VecEnv:
        seeds = [log.spec.seed for log in self._training]
        return self._task.make_envs(_derived(seeds, "evaluation"), self._settings.evaluation_envs)

    def _improve(self) -> None:
        """One rollout and one update."""
        learner, settings = self._learner, self._settings
        rollout = self._collector.collect(learner.networks, learner.normaliser, settings.rollout_steps)
        for index in unobservable(rollout):
            self._disable(index, "non-finite", "the task's observation is not finite", 0)
        priced = self._rewards.price(rollout.inputs, self._active())
        for fault in priced.faults:
            self._disable(fault.slice, fault.kind, fault.message, (fault.step + 1) * settings.num_envs)
        for log, share in zip(self._training, learner.learn(rollout, priced.total), strict=True):
            log.clipped.append(share)
        self._env_steps += settings.rollout_steps * settings.num_envs
        for index in learner.diverged():
            self._disable(index, "diverged", "the networks' parameters are no longer finite", 0)

    def _drop_ended(self) -> None:
        """Take the slices that have failed or were stopped out of the stack: they cost nothing any more."""
        kept = [index for index, active in enumerate(self._active()) if active]
        if len(kept) == len(self._training):
            return
        self._training = [self._training[index] for index in kept]
        if kept:
            for part in (self._learner, self._collector, self._rewards):
                part.keep(kept)

    def _disable(self, index: int, kind: FailureKind, message: str, further_steps: int) -> None:
        log = self._training[index]
        if log.active:
            log.failure = SliceFailure(kind=kind, message=message, env_steps=self._env_steps + further_steps)

    def _evaluate(self, final: bool) -> None:
        if self._evaluation_worlds.num_envs != len(self._training) * self._settings.evaluation_envs:
            self._evaluation_worlds = self._make_evaluation_worlds()
        found = evaluate(self._task, self._evaluation_worlds, self._policy, self._rewards.input_names)
        for index, problem in found.problems.items():
            self._disable(index, "non-finite", problem, 0)
        priced = self._rewards.price(found.recording.inputs, self._active())
        for fault in priced.faults:
            self._disable(fault.slice, fault.kind, fault.message, 0)
        for index, log in enumerate(self._training):
            if log.active:
                episodes = self._settings.evaluation_envs
                part = digests.of_slice(found, priced.components[index], index, episodes, self._rows, self._leading)
                log.note(part, self._env_steps)
                if self._stops and not final:
                    log.stopped = find_hacking(log.curve, planned_steps(self._settings))
                self._report_progress(log)

    def _report_progress(self, log: _Log) -> None:
        point = log.curve[-1]
        progress = {"env_steps": point.env_steps, "fitness": point.fitness, "success_rate": point.success_rate}
        progress["stopped"] = log.stopped is not None
        self._report({"candidate_id": log.spec.candidate_id, "seed": log.spec.seed, **progress})

    def _save(self, *, final: bool, kept: bool) -> None:
        policy = self._policy
        for index, log in enumerate(self._training):
            stops = log.stopped is not None
            if stops or (kept and log.active):
                policy.save(index, self._folder / policy_names(log.spec)[0 if final or stops else 1])


def count_updates(settings: PpoSettings) -> int:
    """Updates that come nearest to the wanted control steps, at least one."""
    return max(1, round(settings.env_steps / (settings.num_envs * settings.rollout_steps)))


def planned_steps(settings: PpoSettings) -> int:
    """Control steps that a slice is given: whole updates only."""
    return count_updates(settings) * settings.num_envs * settings.rollout_steps


def unobservable(rollout: Rollout) -> list[int]:
    """The slices in which some observation is not finite."""
    finite = rollout.observation.isfinite() & rollout.final_observation.isfinite()
    return (~finite.flatten(3).all(3).all(2).all(0)).nonzero()[:, 0].tolist()


def input_names(task: Task) -> set[str]:
    """Every input that a task offers to rewards."""
    names = {*task.declared(), "action"}
    return names | {f"prev_{name}" for name in names}


def _derived(seeds: list[int], purpose: str) -> list[int]:
    return [derive_seed(seed, purpose) for seed in seeds]
