"""The worker job that trains rewards with RSL-RL, one slice after another."""

from __future__ import annotations

import contextlib
import copy
import io
import os
from pathlib import Path
from typing import Any, cast, get_args

import torch
from torch import Tensor

from rewardgen.core.errors import TaskError
from rewardgen.core.extras import install_hint
from rewardgen.extras.rsl_rl.settings import RslRlJob, RslRlSettings
from rewardgen.tasks.protocol import Task
from rewardgen.training.mlp_policy import Activation, MlpPolicy, layers_of, unnormalised
from rewardgen.training.policies import from_policy_units
from rewardgen.training.ppo.train_job import use_kernels
from rewardgen.training.shared.normaliser import RewardScaler
from rewardgen.training.shared.one_slice import SliceTraining, train_in_turn
from rewardgen.training.shared.slices import Report

_NETWORK = {"class_name": "MLPModel", "hidden_dims": [256, 128], "activation": "elu", "obs_normalization": True}
_USUAL: dict[str, Any] = {
    "obs_groups": {"actor": ["actor"], "critic": ["actor"]},
    "actor": _NETWORK | {"distribution_cfg": {"class_name": "GaussianDistribution", "init_std": 1.0}},
    "critic": _NETWORK,
    "algorithm": {
        "class_name": "PPO",
        "schedule": "adaptive",
        "desired_kl": 0.01,
        "learning_rate": 1e-3,
        "num_learning_epochs": 5,
        "num_mini_batches": 4,
        "entropy_coef": 0.005,
    },
}
"""Configuration for tasks that bring none, with the values of most of mjlab's tasks."""


def train_rsl_rl_job(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Train all slices of an `RslRlJob`; see `train_in_turn`."""
    job = RslRlJob.model_validate(payload)
    if job.kernels:
        use_kernels(Path(job.kernels))
    return train_in_turn(RslRlTraining, job, report)


class RslRlTraining(SliceTraining):
    """The training of one slice; raises a TaskError if the policy is no plain network."""

    def __init__(self, task: Task, job: RslRlJob, report: Report) -> None:
        settings = job.settings
        kind, config = runner_of(task, settings)
        self._activation: Activation = _plain(config["actor"])
        super().__init__(task, job, report, settings.device, settings.rollout_steps)
        self._rollout = self.envs.num_envs * settings.rollout_steps
        self._env = RewardedRslVecEnv(self, settings.discount)
        torch.manual_seed(self.seed)
        with contextlib.redirect_stdout(io.StringIO()):
            self._runner = kind(self._env, config, device=str(self.envs.device))
        self._actor = self._runner.alg.get_policy()
        if self._actor.obs_dim != self.envs.observation_size:
            message = f"the policy sees {self._actor.obs_dim} numbers, the task observes {self.envs.observation_size}"
            raise TaskError(message, 'use one group of observations: `options={"obs_groups": {"actor": ["actor"]}}`')

    @property
    def steps(self) -> int:
        """See `SliceTraining.steps`."""
        return self._env.steps

    def learn(self) -> None:
        """See `SliceTraining.learn`."""
        for update in range(self.env_steps // self._rollout):
            self._runner.current_learning_iteration = update  # `learn` leaves it at the first update of a call
            self._runner.learn(1)
            self.slices.logs[0].clipped.append(float(torch.stack(self._env.clipped).mean()))
            self._env.clipped.clear()
            self.advance()

    def policy(self) -> MlpPolicy:
        """See `SliceTraining.policy`. The first layer absorbs the normaliser of observations."""
        layers = [(weight.cpu(), bias.cpu()) for weight, bias in layers_of(list(self._actor.mlp))]
        if self._actor.obs_normalization:
            running, (weight, bias) = self._actor.obs_normalizer, layers[0]
            scaled = weight.double() / (running.std.cpu().double() + running.eps)
            layers[0] = (scaled.float(), (bias.double() - scaled @ running.mean.cpu().double()).float())
        return MlpPolicy(
            layers=tuple(layers),
            activation=self._activation,
            squash="clip",
            choices=(),
            **unnormalised(layers[0][0].shape[1]),
            action_low=self.envs.action_low.cpu(),
            action_high=self.envs.action_high.cpu(),
        )


def runner_of(task: Task, settings: RslRlSettings) -> tuple[Any, dict[str, Any]]:
    """Return the class of a task's runner and its configuration: the task's own, else the usual one."""
    os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")  # otherwise git starts at import
    try:
        from rsl_rl.runners import OnPolicyRunner  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise TaskError(f"RSL-RL cannot be imported: {error}", install_hint("rsl-rl")) from error
    runner = getattr(task, "rsl_rl_runner", None)  # of another extra
    kind, usual = runner() if runner else (OnPolicyRunner, _USUAL)
    # A runner removes entries of its configuration.
    config = _merged(copy.deepcopy(usual), copy.deepcopy(settings.options))
    config["num_steps_per_env"], config["check_for_nan"] = settings.rollout_steps, False  # `RewardedRslVecEnv` checks
    config["algorithm"] = {"rnd_cfg": None, **config["algorithm"], "gamma": settings.discount}
    return kind, config


def _merged(usual: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    both = {name: _merged(usual[name], value) for name, value in other.items() if _parts(usual.get(name), value)}
    return {**usual, **other, **both}


def _parts(*values: Any) -> bool:
    return all(isinstance(value, dict) for value in values)


def _plain(actor: dict[str, Any]) -> Activation:
    """Return the activation of a policy that is a plain network."""
    kinds = actor["class_name"], (actor.get("distribution_cfg") or {}).get("class_name"), actor["activation"]
    if kinds[:2] != ("MLPModel", "GaussianDistribution") or kinds[2] not in get_args(Activation):
        message = f"a policy that is a {kinds[0]} with {kinds[1]} and `{kinds[2]}` cannot be saved"
        hint = f"use MLPModel with GaussianDistribution and {' or '.join(get_args(Activation))} in `options`"
        raise TaskError(message, f"{hint}, or train with `--trainer ppo`")
    return cast("Activation", kinds[2])


class RewardedRslVecEnv:
    """Envs of one slice as a `rsl_rl.env.VecEnv`. Actions are in units of half their range, and cut off there.

    The learner gets observations, rewards and ends; a reward gets copies of the variables, never an env. Where the envs
    have several groups of observations, as those of mjlab, the critic may see more than the policy.

    RSL-RL takes rewards as they are, and learns from those alone whose size suits it. So they are scaled here.

    Attributes:
        steps: Control steps of all environments so far.
        clipped: Share of the rewards of each step, by size, that was clipped in scaling them.
    """

    cfg: dict[str, Any] = {}

    def __init__(self, training: SliceTraining, discount: float) -> None:
        self._training, self._envs = training, training.envs
        envs = self._envs
        self.num_envs, self.num_actions = envs.num_envs, envs.action_size
        self.max_episode_length, self.device = envs.episode_steps, envs.device
        self.steps = 0
        self.clipped: list[Tensor] = []
        self._scaler = RewardScaler(1, envs.num_envs, discount, envs.device)
        self._seen = envs.reset(staggered=True)

    def get_observations(self) -> Any:
        """Return the current groups of observations, (N, k) each."""
        from tensordict import TensorDict  # an extra  # pyright: ignore[reportMissingImports]

        groups: dict[str, Tensor] = getattr(self._envs, "groups", None) or {"actor": self._seen}
        return TensorDict({name: values.clone() for name, values in groups.items()}, batch_size=[self.num_envs])

    def step(self, actions: Tensor) -> tuple[Any, Tensor, Tensor, dict[str, Tensor]]:
        """Step by actions (N, A); return observations, rewards (N,), ends (N,) int64, and the ends by time limit."""
        step = self._envs.step(from_policy_units(actions.detach(), self._envs.action_low, self._envs.action_high))
        self._seen = step.observation
        ended = step.terminated | step.truncated
        reward = self._scaler(self._training.price(step)[None, None], ended[None, None])[0, 0]
        self.clipped.append(self._scaler.clipped[0])
        self.steps += self.num_envs
        seen = self.get_observations()
        self._training.require_finite(seen.values())
        return seen, reward, ended.to(torch.int64), {"time_outs": step.truncated}
