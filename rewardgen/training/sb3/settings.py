"""Settings of Stable-Baselines3's algorithms. Loads neither it nor torch: task files import them."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from rewardgen.store.records import TrainerSettings
from rewardgen.training.artifacts import TrainJob


class Sb3Settings(TrainerSettings):
    """Common settings."""

    num_envs: int = 1
    """Training envs per slice."""
    hidden: tuple[int, ...]
    learning_rate: float
    falling: tuple[str, ...] = ()
    """Names among `learning_rate` and `options` that fall linearly to 0 in the course of training."""
    options: dict[str, Any] = {}
    """Further arguments of the algorithm."""


class Sb3PpoSettings(Sb3Settings):
    """PPO with SB3's defaults; observations and rewards are normalised, as in rl-baselines3-zoo."""

    algorithm: Literal["ppo"] = "ppo"
    num_envs: int = 8
    hidden: tuple[int, ...] = (64, 64)
    activation: Literal["tanh", "relu"] = "tanh"
    learning_rate: float = 3e-4
    options: dict[str, Any] = {"n_steps": 256, "batch_size": 64, "n_epochs": 10}

    @property
    def max_env_steps(self) -> int:
        """See `TrainerSettings.max_env_steps`; a training ends with a whole rollout, and a game adds envs."""
        return self.env_steps + 2 * self.num_envs * self.options.get("n_steps", 2048)


class Sb3SacSettings(Sb3Settings):
    """SAC with SB3's defaults, which rl-baselines3-zoo has for MuJoCo too; a buffer per slice."""

    algorithm: Literal["sac"] = "sac"
    env_steps: int = 100_000
    hidden: tuple[int, ...] = (256, 256)
    learning_rate: float = 3e-4


class Sb3Td3Settings(Sb3Settings):
    """TD3 with the exploration noise of rl-baselines3-zoo for MuJoCo; a buffer per slice."""

    algorithm: Literal["td3"] = "td3"
    env_steps: int = 100_000
    hidden: tuple[int, ...] = (400, 300)
    learning_rate: float = 1e-3
    noise: float = 0.1
    """Standard deviation of the exploration noise, in units of half the action range."""
    noise_kind: Literal["normal", "ornstein-uhlenbeck"] = "normal"


Sb3Job = TrainJob[Annotated[Sb3PpoSettings | Sb3SacSettings | Sb3Td3Settings, Field(discriminator="algorithm")]]


def tuned(algorithm: str, environment: str) -> dict[str, Any]:
    """Return the settings of rl-baselines3-zoo for an environment of Gymnasium of any version, or none."""
    id = _unversioned(environment.rpartition(":")[2])
    name = next((name for name in _zoo()[algorithm] if _unversioned(name) == id), "")
    if not name:
        return {}
    settings = dict(_zoo()[algorithm][name])
    steps = settings["env_steps"]
    origin = f"Settings are those of RL Baselines3 Zoo for {name}, which trains for {steps:,} steps."
    kind = {"ppo": Sb3PpoSettings, "sac": Sb3SacSettings, "td3": Sb3Td3Settings}[algorithm]
    return {**settings, "env_steps": min(steps, kind.model_fields["env_steps"].default), "origin": origin}


@cache
def _zoo() -> dict[str, dict[str, dict[str, Any]]]:
    return tomllib.loads(Path(__file__).with_name("zoo.toml").read_text())


def _unversioned(id: str) -> str:
    return re.sub(r"-v\d+$", "", id)
