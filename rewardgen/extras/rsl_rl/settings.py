"""Settings of RSL-RL's PPO. Loads neither RSL-RL nor torch: task files import it."""

from __future__ import annotations

from typing import Any

from rewardgen.training.artifacts import TrainJob
from rewardgen.training.ppo.settings import DeviceSettings


class RslRlSettings(DeviceSettings):
    """RSL-RL's PPO (Schwarke et al. 2025). Tasks of mjlab bring the configuration of their own runner.

    The discount and the length of a rollout are always those of these settings.
    """

    rollout_steps: int = 24
    """Control steps per env between two updates."""
    options: dict[str, dict[str, Any]] = {}
    """Changes to the configuration, by its parts: `{"actor": {"hidden_dims": [256, 128]}, "algorithm":
    {"entropy_coef": 0.0}}`."""


class RslRlJob(TrainJob):
    """Payload of one worker."""

    settings: RslRlSettings
