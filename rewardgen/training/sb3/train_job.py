"""The worker job of Stable-Baselines3: trains slices one after another."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO, SAC, TD3
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.noise import NormalActionNoise, OrnsteinUhlenbeckActionNoise
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecNormalize

from rewardgen.tasks.protocol import Task
from rewardgen.training.mlp_policy import MlpPolicy, layers_of, unnormalised
from rewardgen.training.sb3.settings import Sb3Job, Sb3PpoSettings, Td3Settings
from rewardgen.training.sb3.vec_env import RewardedVecEnv
from rewardgen.training.shared.one_slice import SliceTraining, train_in_turn
from rewardgen.training.shared.slices import Report

_LEARNING_STARTS = 10_000
"""Control steps before the first update off policy, as in rl-baselines3-zoo for MuJoCo; at most a tenth of all."""


def train_sb3_job(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Train all slices of an `Sb3Job`; see `train_in_turn`."""
    return train_in_turn(Sb3Training, Sb3Job.model_validate(payload), report)


class Sb3Training(SliceTraining):
    """The training of one slice; see `SliceTraining`."""

    def __init__(self, task: Task, job: Sb3Job, report: Report) -> None:
        super().__init__(task, job, report)
        self._settings = settings = job.settings
        self._env = RewardedVecEnv(self.envs, lambda step: self.price(step).numpy())
        self._normalised = VecNormalize(self._env, gamma=settings.discount) if settings.algorithm == "ppo" else None
        self._model = learner(settings, self._normalised or self._env, self.seed)
        self._model.set_logger(
            Logger(folder=None, output_formats=[])
        )  # the default one makes a folder for every training

    @property
    def steps(self) -> int:
        """See `SliceTraining.steps`."""
        return self._model.num_timesteps

    def learn(self) -> None:
        """See `SliceTraining.learn`."""
        self._model.learn(self.env_steps, callback=_Watch(self))

    def advance(self) -> None:
        """See `SliceTraining.advance`; called after each step of the envs."""
        if self._normalised is not None:
            self.slices.logs[0].clipped.append(_clipped_share(self._normalised))
        super().advance()

    def policy(self) -> MlpPolicy:
        """See `SliceTraining.policy`."""
        actor: Any = self._model.policy
        settings, choices = self._settings, self._env.choices
        squash = "clip"
        if settings.algorithm == "ppo":
            modules = [*actor.mlp_extractor.policy_net, actor.action_net]
        elif settings.algorithm == "sac":
            exploring = settings.options.get("use_sde", False)
            modules = [*actor.actor.latent_pi, *(actor.actor.mu if exploring else [actor.actor.mu])]
            squash = "tanh2" if exploring else "tanh"
        else:
            modules, squash = [*actor.actor.mu], "tanh"
        moments = unnormalised(self._env.observation_space.shape[0])  # type: ignore[index]
        if self._normalised is not None:
            running: Any = self._normalised.obs_rms
            moments = {"mean": torch.from_numpy(running.mean.copy()), "variance": torch.from_numpy(running.var.copy())}
        return MlpPolicy(
            layers=layers_of(modules),
            activation=settings.activation if isinstance(settings, Sb3PpoSettings) else "relu",
            squash="choice" if choices else squash,
            choices=choices,
            **moments,
            action_low=self.envs.action_low,
            action_high=self.envs.action_high,
        )


class _Watch(BaseCallback):
    def __init__(self, training: Sb3Training) -> None:
        super().__init__()
        self._training = training

    def _on_step(self) -> bool:
        self._training.advance()
        return True


def learner(settings: Any, env: Any, seed: int) -> BaseAlgorithm:
    """Make the learner of one slice, with its own networks, random stream and, off policy, buffer."""
    steps = settings.env_steps
    networks: dict[str, Any] = {"net_arch": [*settings.hidden]}
    arguments: dict[str, Any] = {
        "learning_rate": settings.learning_rate,
        "gamma": settings.discount,
        "device": "cpu",
        "seed": seed,
        **settings.options,
    }
    if isinstance(settings, Sb3PpoSettings):
        kind = PPO
        networks["activation_fn"] = torch.nn.Tanh if settings.activation == "tanh" else torch.nn.ReLU
    else:
        kind = SAC
        arguments["buffer_size"] = steps
        arguments["learning_starts"] = min(arguments.get("learning_starts", _LEARNING_STARTS), steps // 10)
    if isinstance(settings, Td3Settings):
        kind, size = TD3, env.action_space.shape[0]
        noise = NormalActionNoise if settings.noise_kind == "normal" else OrnsteinUhlenbeckActionNoise
        arguments["action_noise"] = noise(np.zeros(size), np.full(size, settings.noise))
    arguments["policy_kwargs"] = {**networks, **settings.options.get("policy_kwargs", {})}
    arguments |= {name: LinearSchedule(arguments[name], 0.0, 1.0) for name in settings.falling}
    return kind("MlpPolicy", env, **arguments)


def _clipped_share(env: VecNormalize) -> float:
    """Share of the last step's rewards that the normaliser clipped."""
    scaled = np.abs(env.get_original_reward()) / np.sqrt(env.ret_rms.var + env.epsilon)
    whole = float(scaled.sum())
    return 1.0 - float(np.minimum(scaled, env.clip_reward).sum()) / whole if whole > 0.0 else 0.0
