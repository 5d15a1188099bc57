"""`python -m benchmarks native`: Stable-Baselines3 by itself, and as a trainer here on the environment's own reward."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import torch
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from benchmarks.figures import Figure, Report, Say, told
from benchmarks.trainers import LIMITS
from rewardgen.core.errors import WorkerError
from rewardgen.core.statistics import bootstrap_interval, difference_interval
from rewardgen.sandbox.folders import scratch_folder
from rewardgen.store.measurements import STARTS
from rewardgen.store.records import RewardSpec, SliceResult, SliceSpec
from rewardgen.tasks.loading import lasting_reference
from rewardgen.training.cache import get_or_measure
from rewardgen.training.protocol import TRAINERS, TrainerSetup
from rewardgen.training.sb3.train_job import learner
from rewardgen.training.setup import settings_for
from rewardgen.training.shared.seeding import derive_seed

ENVIRONMENTS = ("CartPole-v1", "Pendulum-v1", "Acrobot-v1", "MountainCarContinuous-v0", "Reacher-v5")
_STARTS_SEED = 1_000_000


class NativeOptions(NamedTuple):
    """Options of the measurement.

    Attributes:
        environments: Gymnasium's ids.
        algorithm: `ppo`, `sac` or `td3`, with the settings that `--trainer sb3-...` has for each.
        seeds: Seeds of either side.
        steps: Control steps of each seed at most.
        workers: Processes of either side.
    """

    environments: tuple[str, ...] = ENVIRONMENTS
    algorithm: str = "ppo"
    seeds: int = 3
    steps: int = 100_000
    workers: int = 1

    def quick(self) -> NativeOptions:
        """The same in under a minute; nothing has learned much by then."""
        return self._replace(environments=self.environments[:1], seeds=2, steps=4096)


def bench_native(options: NativeOptions, say: Say) -> Report:
    """Compare the environments' own returns.

    Args:
        options: What to measure.
        say: Told what goes on.

    Raises:
        TaskError: There is no such environment.
        WorkerError: One of our slices failed.
    """
    figures, notes, intervals = [], [], {}
    for name in options.environments:
        task = get_or_measure(lasting_reference(name))
        known = settings_for(f"sb3-{options.algorithm}", task)
        settings = known.model_copy(update={"env_steps": min(known.env_steps, options.steps), "evaluation_phases": 1})
        say(f"{name}: {options.seeds} seeds of {settings.env_steps} steps with each; {settings.origin or 'defaults'}")
        found = {"SB3": _alone(name, settings, options), "ours": _here(name, task, settings, options)}
        for who, values in found.items():
            figures.append(Figure(name=f"return, {who}", subject=name, unit="", values=tuple(values)))
            intervals[f"{name} {who}"] = bootstrap_interval(values)
        intervals[f"{name} ours - SB3"] = difference_interval(found["ours"], found["SB3"])
        notes += [told(each, interval) for each, interval in intervals.items() if each.startswith(f"{name} ")]
    return Report(
        bench="native",
        settings={**options._asdict(), "environments": " ".join(options.environments)},
        figures=tuple(figures),
        notes=("Return of each seed; the lines below are interquartile means with 95 % intervals.", *notes),
        intervals=intervals,
    )


def _here(name: str, task: Any, settings: Any, options: NativeOptions) -> list[float]:
    results: list[SliceResult] = []
    reward = RewardSpec(candidate_id="human", source=task.baselines["human"], is_baseline=True)
    slices = [SliceSpec(candidate_id="human", seed=seed) for seed in range(options.seeds)]
    with scratch_folder() as place:
        folder = place.resolve()
        setup = TrainerSetup(lasting_reference(name), settings, options.workers, folder / "scratch", LIMITS)
        trainer = TRAINERS.get(f"sb3-{options.algorithm}").make(setup)
        trainer.train([reward], slices, folder=folder, on_progress=lambda message: None, on_slice=results.append)
    for each in results:
        if each.failure is not None or each.final_fitness is None:
            raise WorkerError(f"{name}, seed {each.seed}, failed: {each.failure}", "run `rewardgen doctor`")
    return [float(each.final_fitness or 0.0) for each in sorted(results, key=lambda each: each.seed)]


def _alone(name: str, settings: Any, options: NativeOptions) -> list[float]:
    with ProcessPoolExecutor(options.workers) as pool:
        return list(pool.map(partial(_trained_alone, name, settings), range(options.seeds)))


def _trained_alone(name: str, settings: Any, seed: int) -> float:
    """Mean return over the episodes of a policy that was trained without anything of ours but the settings."""
    torch.set_num_threads(1)
    env: Any = DummyVecEnv([partial(gymnasium.make, name)] * settings.num_envs)
    env = VecNormalize(env, gamma=settings.discount) if settings.algorithm == "ppo" else env
    model = learner(settings, env, derive_seed(seed, "learner"))
    model.learn(settings.env_steps)
    single, returns = gymnasium.make(name), []
    for number in range(STARTS):
        seen, _ = single.reset(seed=_STARTS_SEED + number)
        rewards, over = [], False
        while not over:
            observed = env.normalize_obs(np.asarray(seen)) if isinstance(env, VecNormalize) else np.asarray(seen)
            action, _ = model.predict(observed, deterministic=True)
            seen, reward, terminated, truncated, _ = single.step(action)
            rewards.append(float(reward))
            over = terminated or truncated
        returns.append(sum(rewards))
    return float(np.mean(returns))
