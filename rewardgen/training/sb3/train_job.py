"""The worker job that trains rewards with Stable-Baselines3, one slice after another."""

from __future__ import annotations

import time
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

from rewardgen.sim.vec_env import Step
from rewardgen.store.records import SliceResult
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.protocol import Task
from rewardgen.training.mlp_policy import MlpPolicy, layers_of, unnormalised
from rewardgen.training.policies import side_by_side
from rewardgen.training.ppo.seeding import derive_seed
from rewardgen.training.sb3.settings import Sb3Job, Sb3PpoSettings, Td3Settings
from rewardgen.training.sb3.vec_env import RewardedVecEnv
from rewardgen.training.slices import Report, Slices

_LEARNING_STARTS = 10_000
"""Control steps before the first update off policy, as rl-baselines3-zoo has it for MuJoCo; or a tenth of all."""


def train_sb3_job(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Train all slices of one job.

    Args:
        payload: A `Sb3Job`.
        report: Called with the progress of each slice at each evaluation.

    Returns:
        `slices`: one `SliceResult` per slice, without the final fitness.
    """
    torch.set_num_threads(1)
    job = Sb3Job.model_validate(payload)
    task = load_task(job.task)
    results = [SliceTraining(task, job.model_copy(update={"slices": (each,)}), report).run() for each in job.slices]
    return {"slices": [result.model_dump(mode="json") for result in results]}


class _EndedError(Exception):
    """The slice has failed or was stopped."""


class SliceTraining:
    """The training of one slice.

    Args:
        task: The task.
        job: With this slice alone.
        report: Called with its progress at each evaluation.
    """

    def __init__(self, task: Task, job: Sb3Job, report: Report) -> None:
        self._settings = settings = job.settings
        (spec,) = job.slices
        self._slices = Slices(task, job, report, settings.env_steps)
        envs = task.make_envs([derive_seed(spec.seed, "training")], settings.num_envs)
        self._action_low, self._action_high = envs.action_low, envs.action_high
        self._env = RewardedVecEnv(envs, self._price)
        self._normalised = VecNormalize(self._env, gamma=settings.discount) if settings.algorithm == "ppo" else None
        self._model = learner(settings, self._normalised or self._env, derive_seed(spec.seed, "learner"))
        self._model.set_logger(Logger(folder=None, output_formats=[]))  # its own makes a folder for every training

    def run(self) -> SliceResult:
        """Train to the end; a failure is a result too."""
        began, steps = time.perf_counter(), self._settings.env_steps
        phases = self._settings.evaluation_phases
        self._milestones = [round(steps * number / phases) for number in range(1, phases + 1)]
        try:
            self._model.learn(steps, callback=_Watch(self))
            if self._slices.active() == [True]:
                self._evaluate(final=True)
        except _EndedError:
            pass
        return self._slices.logs[0].result(self._model.num_timesteps, time.perf_counter() - began)

    def advance(self) -> None:
        """Called after each step of the environments: evaluates where it is time to, but for the end."""
        if self._normalised is not None:
            self._slices.logs[0].clipped.append(_clipped_share(self._normalised))
        due = [each for each in self._milestones[:-1] if each <= self._model.num_timesteps]
        if due:
            self._milestones = self._milestones[len(due) :]
            self._evaluate(final=False)

    def _evaluate(self, *, final: bool) -> None:
        policy, log = self._policy(), self._slices.logs[0]
        if any(not bool(part.isfinite().all()) for layer in policy.layers for part in layer):
            self._end("diverged", "the networks' parameters are no longer finite")
        log.clipped = log.clipped or [0.0]
        self._slices.evaluate(side_by_side([policy]), self._model.num_timesteps, final=final)
        last = len(self._milestones) <= 1
        self._slices.save(lambda _, path: policy.save(path), final=final, kept=final or last)
        if not log.active:
            raise _EndedError

    def _price(self, step: Step) -> np.ndarray:
        if not bool(step.final_observation.isfinite().all()):
            self._end("non-finite", "the task's observation is not finite")
        inputs = {name: step.inputs[name].unsqueeze(0) for name in self._slices.rewards.input_names}
        priced = self._slices.rewards.price(inputs, [True])
        for fault in priced.faults:
            self._end(fault.kind, fault.message)
        return priced.total[0, 0].numpy()

    def _end(self, kind: Any, message: str) -> None:
        self._slices.disable(0, kind, message, self._model.num_timesteps)
        raise _EndedError

    def _policy(self) -> MlpPolicy:
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
            known: Any = self._normalised.obs_rms
            moments = {"mean": torch.from_numpy(known.mean.copy()), "variance": torch.from_numpy(known.var.copy())}
        return MlpPolicy(
            layers=layers_of(modules),
            activation=settings.activation if isinstance(settings, Sb3PpoSettings) else "relu",
            squash="choice" if choices else squash,
            choices=choices,
            **moments,
            action_low=self._action_low,
            action_high=self._action_high,
        )


class _Watch(BaseCallback):
    def __init__(self, training: SliceTraining) -> None:
        super().__init__()
        self._training = training

    def _on_step(self) -> bool:
        self._training.advance()
        return True


def learner(settings: Any, env: Any, seed: int) -> BaseAlgorithm:
    """The learner of one slice, with its own networks, its own random stream and, off policy, its own buffer.

    Args:
        settings: Of its algorithm.
        env: A `VecEnv` of Stable-Baselines3.
        seed: Of its random stream.
    """
    steps = settings.env_steps
    networks: dict[str, Any] = {"net_arch": [*settings.hidden]}
    given: dict[str, Any] = {
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
        given["buffer_size"] = steps
        given["learning_starts"] = min(given.get("learning_starts", _LEARNING_STARTS), steps // 10)
    if isinstance(settings, Td3Settings):
        kind, size = TD3, env.action_space.shape[0]
        noise = NormalActionNoise if settings.noise_kind == "normal" else OrnsteinUhlenbeckActionNoise
        given["action_noise"] = noise(np.zeros(size), np.full(size, settings.noise))
    given["policy_kwargs"] = {**networks, **settings.options.get("policy_kwargs", {})}
    given |= {name: LinearSchedule(given[name], 0.0, 1.0) for name in settings.falling}
    return kind("MlpPolicy", env, **given)


def _clipped_share(env: VecNormalize) -> float:
    """Part of the last step's rewards that the normaliser cut off."""
    scaled = np.abs(env.get_original_reward()) / np.sqrt(env.ret_rms.var + env.epsilon)
    whole = float(scaled.sum())
    return 1.0 - float(np.minimum(scaled, env.clip_reward).sum()) / whole if whole > 0.0 else 0.0
