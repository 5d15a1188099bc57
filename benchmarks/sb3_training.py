"""Training with Stable-Baselines3 as a user would, slice after slice, measured with the task's own fitness."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
from torch import Tensor

from benchmarks.user_envs import MAKERS
from rewardgen.sim.episodes import record_episodes
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.protocol import Task
from rewardgen.training.shared.seeding import derive_seed


class Sb3Training:
    """A contender: Stable-Baselines3's PPO on one core."""

    def train(
        self,
        task: str,
        slices: list[dict[str, Any]],
        settings: dict[str, Any],
        steps: int,
        evaluate_every: int,
        episodes: int,
        target: float | None,
    ) -> dict[str, Any]:
        """Train slices, one after the other.

        Args:
            task: Name of the task.
            slices: `constants` of the reward, and `seed`.
            settings: `Sb3Settings` as a dict.
            steps: Control steps of each slice, rounded up to whole rollouts.
            evaluate_every: Control steps between two evaluations; not more often than the policy is updated.
            episodes: Episodes per evaluation.
            target: A slice that reaches this fitness is finished.

        Returns:
            `curves`: for each slice, env_steps, seconds since it began, and fitness, at each evaluation.
        """
        torch.set_num_threads(1)
        curves = []
        for each in slices:
            began = time.perf_counter()
            env = _environment(task, each["constants"], settings["envs"])
            model = PPO(
                "MlpPolicy", env, seed=each["seed"], device="cpu", policy_kwargs=_policy(settings), **settings["ppo"]
            )
            watch = _Watch(load_task(task), derive_seed(each["seed"], "evaluation"), episodes, env)
            watch.set_up(began, evaluate_every, target)
            model.learn(steps, callback=watch)
            env.close()
            curves.append(watch.curve)
        return {"curves": curves}


def _environment(task: str, constants: dict[str, float], envs: int) -> VecNormalize:
    return VecNormalize(DummyVecEnv([partial(MAKERS[task], **constants)] * envs))


def _policy(settings: dict[str, Any]) -> dict[str, Any]:
    given = dict(settings["policy"])
    if "hidden" in given:
        given["net_arch"] = list(given.pop("hidden"))
        given["activation_fn"] = getattr(torch.nn, given.pop("activation"))
    return given


class _Watch(BaseCallback):
    """Evaluates the deterministic policy from time to time, and ends the training at the target.

    Args:
        task: The task.
        seed: Of the evaluations.
        episodes: Per evaluation.
        env: The training environment, for its normalisation of observations.
    """

    def __init__(self, task: Task, seed: int, episodes: int, env: VecNormalize) -> None:
        super().__init__()
        self.curve: list[tuple[int, float, float]] = []
        self._task = task
        self._envs = task.make_envs([seed], episodes)
        self._env = env

    def set_up(self, began: float, every: int, target: float | None) -> None:
        """Say when it began, how often to evaluate, and when to end."""
        self._began, self._every, self._target = began, every, target

    def _on_rollout_start(self) -> None:
        last = self.curve[-1][0] if self.curve else 0
        if self.num_timesteps - last >= self._every:
            self._evaluate()

    def _on_step(self) -> bool:
        return not self._reached()

    def _on_training_end(self) -> None:
        if not self._reached() and (not self.curve or self.curve[-1][0] < self.num_timesteps):
            self._evaluate()

    def _reached(self) -> bool:
        return bool(self.curve) and self._target is not None and self.curve[-1][2] >= self._target

    def _evaluate(self) -> None:
        episode = record_episodes(self._envs, self._act).episode
        fitness = float(measure_episodes(self._task, episode).fitness.mean())
        self.curve.append((self.num_timesteps, time.perf_counter() - self._began, fitness))

    def _act(self, observation: Tensor) -> Tensor:
        action, _ = self.model.predict(self._env.normalize_obs(observation.numpy()), deterministic=True)
        return torch.from_numpy(action)
