"""The settings of Stable-Baselines3's algorithms. Loads neither it nor torch: task files import it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from rewardgen.store.records import TrainerSettings
from rewardgen.training.artifacts import TrainJob


class Sb3PpoSettings(TrainerSettings):
    """Stable-Baselines3's PPO with its defaults; observations and rewards are normalised, as in rl-baselines3-zoo."""

    algorithm: Literal["ppo"] = "ppo"
    num_envs: int = 8
    """Training environments per slice."""
    hidden: tuple[int, ...] = (64, 64)
    learning_rate: float = 3e-4
    options: dict[str, Any] = {"n_steps": 256, "batch_size": 64, "n_epochs": 10}
    """Further arguments of the algorithm."""


class SacSettings(TrainerSettings):
    """Stable-Baselines3's SAC with its own defaults, which rl-baselines3-zoo has for MuJoCo too; a buffer per slice."""

    algorithm: Literal["sac"] = "sac"
    env_steps: int = 100_000
    num_envs: int = 1
    hidden: tuple[int, ...] = (256, 256)
    learning_rate: float = 3e-4
    options: dict[str, Any] = {}


class Td3Settings(TrainerSettings):
    """Stable-Baselines3's TD3, with the exploration noise of rl-baselines3-zoo for MuJoCo; a buffer per slice."""

    algorithm: Literal["td3"] = "td3"
    env_steps: int = 100_000
    num_envs: int = 1
    hidden: tuple[int, ...] = (400, 300)
    learning_rate: float = 1e-3
    noise: float = 0.1
    """Standard deviation of what is added to actions, in units of half the action range."""
    options: dict[str, Any] = {}


class Sb3Job(TrainJob):
    """What one of its workers does."""

    settings: Annotated[Sb3PpoSettings | SacSettings | Td3Settings, Field(discriminator="algorithm")]
