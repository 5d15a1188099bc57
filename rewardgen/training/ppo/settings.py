"""The settings of PPO, and what one of its workers is asked to do. Loads no torch: task files import it."""

from __future__ import annotations

from pydantic import model_validator

from rewardgen.core.config import Device
from rewardgen.core.errors import UsageError
from rewardgen.store.records import TrainerSettings
from rewardgen.training.artifacts import TrainJob

_ENVS_ON_GPU = 1024


class PpoSettings(TrainerSettings):
    """Settings of the batched PPO. One slice is one candidate with one seed."""

    num_envs: int = 64
    """Training environments per slice."""
    rollout_steps: int = 32
    """Control steps per environment between two updates."""
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
    device: Device = "cpu"
    """What simulates and learns."""

    def on(self, device: Device) -> PpoSettings:
        """The same training on a device: a GPU takes many environments at a time, and half as many, larger updates.

        Policies are evaluated half as often there: in an evaluation it steps few worlds, and one step takes as long.
        """
        if device != "cuda":
            return self.model_copy(update={"device": device})
        num_envs = max(self.num_envs, _ENVS_ON_GPU)
        env_steps = max(self.env_steps, self.env_steps * num_envs // (2 * self.num_envs))
        phases = max(1, self.evaluation_phases // 2)
        update = {"num_envs": num_envs, "env_steps": env_steps, "evaluation_phases": phases}
        return self.model_copy(update={"device": device, **update})

    @property
    def most_env_steps(self) -> int:
        """Control steps that no slice passes: it ends with a whole rollout."""
        return self.env_steps + 2 * self.num_envs * self.rollout_steps

    @model_validator(mode="after")
    def _fills_minibatches(self) -> PpoSettings:
        if self.num_envs * self.rollout_steps < self.minibatches:
            raise UsageError("num_envs * rollout_steps is below `minibatches`", "use more environments or steps")
        return self


class PpoJob(TrainJob):
    """What one PPO worker does."""

    settings: PpoSettings
