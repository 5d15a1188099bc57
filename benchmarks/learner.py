"""`python -m benchmarks learner`: settings of our learners, by what the tasks' own rewards reach with them."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.curves import Curves, Point, last_before
from benchmarks.figures import Figure, Report, Say, told
from benchmarks.trainers import slice_name, task_settings, train_ours
from rewardgen.core.errors import TaskError, UsageError, did_you_mean
from rewardgen.core.files import write_atomic
from rewardgen.core.provenance import usable_cores
from rewardgen.core.statistics import Interval, improvement_probability, mean_probability
from rewardgen.store.records import RewardSpec, SliceSpec, TrainerSettings
from rewardgen.tasks.loading import lasting_reference
from rewardgen.training.cache import get_or_measure
from rewardgen.training.ppo.settings import PROFILES, PpoSettings
from rewardgen.training.sac.settings import SacSettings
from rewardgen.training.sb3.settings import Sb3PpoSettings, tuned

SEARCHED = ("half_cheetah", "hopper", "cartpole", "pusher", "ball_in_cup", "cheetah_flip", "ant", "stack_two")
"""Tasks on which settings are searched."""
HELD_OUT = (
    "walker2d",
    "swimmer",
    "reacher",
    "push_to_goal",
    "quadcopter",
    "hopper_backflip",
    "cheetah_run",
    "acrobot_swingup",
)
"""Tasks on which they are judged: other dynamics, horizons, control costs, contacts, with and without early ends."""

SETTINGS: dict[str, dict[str, Any]] = {
    "task": {},
    "std": {"std_rate": 1.0},
    **PROFILES,
    "annealed": {"anneal": 0.95},
    "annealed-late": {"anneal": 0.95, "anneal_from": 2 / 3},
    "rnd": {"bonus": "rnd"},
    "count": {"bonus": "count"},
}
"""Settings of PPO by name, as changes of those that a task ships (`task`)."""
SAC = "sac"
"""Name of the settings of SAC, which trains as many control steps."""
SB3 = "sb3-zoo"
"""Name of the settings of RL Baselines3 Zoo for Stable-Baselines3's PPO."""
TRAINERS = {SAC: "sac", SB3: "sb3-ppo"}
"""Trainers of settings that are not for our PPO."""
NAMES = (*SETTINGS, *TRAINERS)


class LearnerOptions(NamedTuple):
    """Options of the measurement.

    Attributes:
        reward: Reward of each task, `human` or `sparse`.
        settings: Some of `NAMES`; the others are compared with the first.
        tasks: Names of tasks; both halves if empty.
        seeds: Seeds of each training.
        steps: Control steps of each seed; the task's own if None.
        folder: Folder of the trainings, which are not repeated.
        workers: Trainings at a time, one process each.
    """

    reward: str = "human"
    settings: tuple[str, ...] = ("task", "std", *PROFILES)
    tasks: tuple[str, ...] = ()
    seeds: int = 5
    steps: int | None = None
    folder: Path = Path("trainings/learner")
    workers: int = usable_cores()

    def quick(self) -> LearnerOptions:
        """The same in about a minute; nothing has learned much by then."""
        return self._replace(settings=("task", "dense"), tasks=("cartpole",), seeds=2, steps=8192)


class Outcome(NamedTuple):
    """One training: the evaluations of its slices, their fitness in a clean process, and its time [s]."""

    curves: Curves
    fitness: tuple[float, ...]
    seconds: float


def bench_learner(options: LearnerOptions, say: Say) -> Report:
    """Train each task with each setting, and compare the settings with the first one.

    Args:
        options: What to measure.
        say: Told what goes on.

    Raises:
        UsageError: There is no such setting.
        TaskError: A task is unknown or has no such reward.
        WorkerError: A slice failed.
    """
    for name in options.settings:
        if name not in NAMES:
            raise UsageError(f"there are no settings `{name}`", did_you_mean(name, NAMES))
    tasks = options.tasks or (*SEARCHED, *HELD_OUT)
    pairs = [(task, name) for task in tasks for name in options.settings]
    with ThreadPoolExecutor(options.workers) as pool:
        done = dict(zip(pairs, pool.map(lambda pair: _outcome(options, pair[0], pair[1], say), pairs), strict=True))
    intervals = _comparisons(options, tasks, done)
    return Report(
        bench="learner",
        settings={"reward": options.reward, "seeds": options.seeds, "steps": options.steps or "the task's"},
        figures=tuple(_figures(done)),
        notes=(
            f"Below: probability that a seed beats one of `{options.settings[0]}`, mean over tasks, 95 % interval.",
            *(told(name, each) for name, each in intervals.items()),
        ),
        intervals=intervals,
    )


def _outcome(options: LearnerOptions, task: str, name: str, say: Say) -> Outcome:
    """Train the task's own reward."""
    measured = get_or_measure(lasting_reference(task))
    reward = options.reward
    if reward not in measured.baselines:
        raise TaskError(f"{task} has no `{reward}_reward` to train with", "name other tasks")
    rewards = [RewardSpec(candidate_id=reward, source=measured.baselines[reward], is_baseline=True)]
    return trained_once(
        options.folder, task, name, settings_named(name, task, options.steps), rewards, options.seeds, say
    )


def settings_named(name: str, task: str, steps: int | None = None) -> TrainerSettings:
    """Settings of a task by name, for some control steps if given."""
    usual = task_settings(task)
    usual = usual.model_copy(update={"env_steps": steps or usual.env_steps})
    if name == SAC:
        return SacSettings(env_steps=usual.env_steps, discount=usual.discount)
    if name == SB3:
        environment = "".join(part.capitalize() for part in task.split("_"))  # `half_cheetah` is HalfCheetah-v4 there
        one_env = {"num_envs": 1, "options": {}}  # where the zoo has no settings: it normalises, and keeps the defaults
        return Sb3PpoSettings.model_validate(one_env | tuned("ppo", environment) | {"env_steps": usual.env_steps})
    return PpoSettings.model_validate(usual.model_dump() | SETTINGS[name])


def trained_once(
    folder: Path,
    task: str,
    name: str,
    settings: TrainerSettings,
    rewards: Sequence[RewardSpec],
    seeds: int,
    say: Say,
) -> Outcome:
    """Train rewards with some seeds each in one process, or read the training if the folder holds it."""
    measured = get_or_measure(lasting_reference(task))
    sources = "".join(reward.source for reward in rewards)
    told_by = f"{settings.model_dump_json()}{sources}{measured.files}{seeds}"
    digest = hashlib.sha256(told_by.encode()).hexdigest()[:8]
    path = folder / f"{measured.card.name}-{name}-{digest}.json"
    if not path.exists():
        began = time.monotonic()
        slices = [SliceSpec(candidate_id=each.candidate_id, seed=seed) for each in rewards for seed in range(seeds)]
        trained = train_ours(task, settings, rewards, slices, 1, trainer=TRAINERS.get(name, "ppo"))
        fitness = {slice_name(each): each.final_fitness for each in trained.results}
        kept = {"curves": trained.curves, "fitness": fitness, "seconds": trained.seconds}
        write_atomic(path, json.dumps(kept, indent=1).encode())
        say(f"{task}, {name}: {time.monotonic() - began:.0f} s")
    kept = json.loads(path.read_text())
    curves = {key: [Point(*point) for point in curve] for key, curve in kept["curves"].items()}
    return Outcome(curves, tuple(kept["fitness"][key] for key in curves), kept["seconds"])


def _figures(done: Mapping[tuple[str, str], Outcome]) -> Iterable[Figure]:
    for (task, name), outcome in done.items():
        yield Figure(name=f"fitness, {name}", subject=task, unit="", values=outcome.fitness)
        yield Figure(name=f"time, {name}", subject=task, unit="s", values=(outcome.seconds,))


def _comparisons(
    options: LearnerOptions, tasks: Sequence[str], done: Mapping[tuple[str, str], Outcome]
) -> dict[str, Interval]:
    """Probabilities of improvement (Agarwal et al. 2021) over the first setting, for each half of the tasks."""
    found: dict[str, Interval] = {}
    first, *others = options.settings
    halves = {"searched": SEARCHED, "held out": HELD_OUT}
    halves["other"] = tuple(task for task in tasks if task not in (*SEARCHED, *HELD_OUT))
    for half, of_half in halves.items():
        chosen = [task for task in tasks if task in of_half]
        for name in others if chosen else ():
            pairs = [(done[task, name], done[task, first]) for task in chosen]
            steps = [improvement_probability(ours.fitness, theirs.fitness) for ours, theirs in pairs]
            found[f"{half}, {name}, equal steps"] = mean_probability(steps)
            clock = [improvement_probability(*_at_equal_time(ours.curves, theirs.curves)) for ours, theirs in pairs]
            found[f"{half}, {name}, equal time"] = mean_probability(clock)
    return found


def _at_equal_time(*curves: Curves) -> list[list[float]]:
    """Fitness of each slice at its last evaluation before the fastest training ended."""
    end = min(max(curve[-1].seconds for curve in of_one.values()) for of_one in curves)
    return [[last_before(curve, end) for curve in of_one.values()] for of_one in curves]
