"""The worker job of Stable-Baselines3: trains slices one after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3 import PPO, SAC, TD3
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.noise import NormalActionNoise, OrnsteinUhlenbeckActionNoise
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecEnv as Sb3VecEnv
from stable_baselines3.common.vec_env import VecNormalize

from rewardgen.tasks.protocol import Task
from rewardgen.tasks.task_env import action_space
from rewardgen.training.mlp_policy import MlpPolicy, layers_of, unnormalised
from rewardgen.training.policies import from_policy_units
from rewardgen.training.sb3.settings import Sb3Job, Sb3PpoSettings, Sb3Td3Settings
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
        self._env = RewardedVecEnv(self)
        self._normalised = VecNormalize(self._env, gamma=settings.discount) if settings.algorithm == "ppo" else None
        self._model = learner(settings, self._normalised or self._env, self.seed)
        self._model.set_logger(Logger(folder=None, output_formats=[]))  # the default makes a folder per training

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
    if isinstance(settings, Sb3Td3Settings):
        kind, size = TD3, env.action_space.shape[0]
        noise = NormalActionNoise if settings.noise_kind == "normal" else OrnsteinUhlenbeckActionNoise
        arguments["action_noise"] = noise(np.zeros(size), np.full(size, settings.noise))
    arguments["policy_kwargs"] = {**networks, **settings.options.get("policy_kwargs", {})}
    arguments |= {name: LinearSchedule(arguments[name], 0.0, 1.0) for name in settings.falling}
    return kind("MlpPolicy", env, **arguments)


def _clipped_share(env: VecNormalize) -> float:
    scaled = np.abs(env.get_original_reward()) / np.sqrt(env.ret_rms.var + env.epsilon)
    whole = float(scaled.sum())
    return 1.0 - float(np.minimum(scaled, env.clip_reward).sum()) / whole if whole > 0.0 else 0.0


class RewardedVecEnv(Sb3VecEnv):
    """Envs of one slice, rewarded by a generated reward. Actions are in units of half their range, or choices.

    The learner gets observations, rewards and ends; the reward gets copies of the variables, never an env.
    """

    def __init__(self, training: SliceTraining) -> None:
        self._training, self._task_envs = training, training.envs
        envs, self.choices = training.envs, training.envs.choices
        observed = spaces.Box(-np.inf, np.inf, (envs.observation_size,), np.float32)
        end = torch.ones(envs.action_size)
        acted = action_space(-end, end, self.choices)
        super().__init__(envs.num_envs, observed, acted)
        self._chosen = envs.action_low.new_zeros(envs.num_envs, envs.action_size)

    def reset(self) -> np.ndarray:
        """Begin new episodes; return observations (N, O)."""
        return self._task_envs.reset().numpy().copy()

    def step_async(self, actions: np.ndarray) -> None:
        """Keep the actions for `step_wait`."""
        if self.choices:
            rows = torch.from_numpy(np.asarray(actions)).reshape(self.num_envs, -1)
            hot = [torch.nn.functional.one_hot(rows[:, at], count) for at, count in enumerate(self.choices)]
            self._chosen = torch.cat(hot, 1).float()
        else:
            low, high = self._task_envs.action_low, self._task_envs.action_high
            self._chosen = from_policy_units(torch.from_numpy(actions), low, high)

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Step; return observations, rewards, ends, and infos with final observations."""
        step = self._task_envs.step(self._chosen)
        reward = self._training.price(step).numpy()
        done = (step.terminated | step.truncated).numpy()
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for index in np.flatnonzero(done):
            infos[index] = {
                "terminal_observation": step.final_observation[index].numpy(),
                "TimeLimit.truncated": bool(step.truncated[index]),
            }
        return step.observation.numpy().copy(), reward, done, infos

    def close(self) -> None:
        """Do nothing: nothing is open."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return nothing: attributes of the envs are hidden."""
        return [None] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Do nothing: attributes of the envs are hidden."""

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Return nothing: methods of the envs are hidden."""
        return [None] * self.num_envs

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> Sequence[bool]:
        """Return False for each env."""
        return [False] * self.num_envs
