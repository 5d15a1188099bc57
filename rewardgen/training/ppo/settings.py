"""Settings of PPO. Loads no torch: task files import it."""

from __future__ import annotations

from pydantic import model_validator

from rewardgen.core.errors import UsageError
from rewardgen.training.artifacts import TrainJob
from rewardgen.training.shared.device_settings import DeviceSettings


class PpoSettings(DeviceSettings):
    """Settings of the batched PPO. One slice is one candidate with one seed."""

    epochs: int = 5
    minibatches: int = 4
    gae_lambda: float = 0.95
    clip: float = 0.2
    learning_rate: float = 1e-3
    """Initial value; then adapted to keep the KL divergence of an update near `target_kl`."""
    value_rate: float = 3.0
    """Learning rate of the value network, relative to the policy's, which the divergence holds down."""
    std_rate: float = 0.3
    """Learning rate of the policy's log standard deviation, relative to the rest of the policy: it narrows late."""
    target_kl: float = 0.02
    entropy_coefficient: float = 0.0
    value_coefficient: float = 1.0
    max_grad_norm: float = 1.0
    initial_std: float = 1.0
    """Standard deviation of the untrained policy, in units of half the action range."""
    hidden: tuple[int, ...] = (64, 64)
    normalise_reward: bool = True

    @model_validator(mode="after")
    def _fills_minibatches(self) -> PpoSettings:
        if self.num_envs * self.rollout_steps < self.minibatches:
            raise UsageError("num_envs * rollout_steps is below `minibatches`", "use more environments or steps")
        return self


class PpoJob(TrainJob):
    """Payload of one worker."""

    settings: PpoSettings
