"""Settings of PPO, and of trainers that simulate and learn on a device. Loads no torch: task files import it."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, model_validator

from rewardgen.core.config import Bonus, Device
from rewardgen.core.errors import UsageError
from rewardgen.store.records import TrainerSettings
from rewardgen.training.artifacts import TrainJob

_ENVS_ON_GPU = 1024


class DeviceSettings(TrainerSettings):
    """Common settings. Each slice has its own envs."""

    num_envs: int = 64
    """Training envs per slice."""
    rollout_steps: int = 32
    """Control steps per env between two updates."""
    device: Device = "cpu"
    """Device that simulates and learns."""

    def on(self, device: Device) -> Self:
        """Return the settings for a device: a GPU gets many envs, half as many but larger updates, and half the
        evaluations, which step few envs and take as long per step.
        """
        if device != "cuda":
            return self.model_copy(update={"device": device})
        num_envs = max(self.num_envs, _ENVS_ON_GPU)
        env_steps = max(self.env_steps, self.env_steps * num_envs // (2 * self.num_envs))
        phases = max(1, self.evaluation_phases // 2)
        update = {"num_envs": num_envs, "env_steps": env_steps, "evaluation_phases": phases}
        return self.model_copy(update={"device": device, **update})

    @property
    def max_env_steps(self) -> int:
        """Upper bound on the control steps of a slice, which ends with a whole rollout."""
        return self.env_steps + 2 * self.num_envs * self.rollout_steps


class PpoSettings(DeviceSettings):
    """Settings of the batched PPO. One slice is one candidate with one seed."""

    epochs: int = Field(default=5, ge=1)
    minibatches: int = Field(default=4, ge=1)
    gae_lambda: float = Field(default=0.95, ge=0.0, le=1.0)
    clip: float = Field(default=0.2, gt=0.0)
    learning_rate: float = Field(default=1e-3, gt=0.0)
    """Initial value; then adapted to keep the KL divergence of an update near `target_kl`."""
    value_rate: float = 3.0
    """Learning rate of the value network, relative to the policy's, which the divergence holds down."""
    std_rate: float = 0.3
    """Learning rate of the policy's log standard deviation, relative to the rest of the policy: it narrows late."""
    target_kl: float = 0.02
    anneal: float = Field(default=0.0, ge=0.0, le=1.0)
    """Share by which `target_kl` falls in the course of a training, in a line: the last updates are small."""
    anneal_from: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Share of a training after which `target_kl` begins to fall."""
    entropy_coefficient: float = 0.0
    value_coefficient: float = 1.0
    max_grad_norm: float = 1.0
    initial_std: float = Field(default=1.0, gt=0.0)
    """Standard deviation of the untrained policy, in units of half the action range."""
    hidden: tuple[int, ...] = (64, 64)
    normalise_reward: bool = True
    bonus: Bonus | None = None
    """Exploration bonus, added to the normalised reward; see `rewardgen.training.ppo.bonus`."""
    bonus_weight: float = Field(default=0.3, gt=0.0)
    """Initial weight of the bonus. At 1, the discounted returns of the bonus and of the reward spread alike."""
    recompute_advantages: bool = False
    """True to estimate advantages and value targets anew in each epoch (Andrychowicz et al. 2021, section 3.5)."""

    @classmethod
    def dense(cls, **settings: Any) -> Self:
        """Settings of the profile `dense` (see `PROFILES`), and others."""
        return cls(**PROFILES["dense"] | settings)

    @model_validator(mode="after")
    def _fills_minibatches(self) -> PpoSettings:
        if self.num_envs * self.rollout_steps < self.minibatches:
            raise UsageError("num_envs * rollout_steps is below `minibatches`", "use more environments or steps")
        return self


_DENSE = {
    "num_envs": 32,
    "epochs": 8,
    "rollout_steps": 64,
    "minibatches": 16,
    "learning_rate": 5e-4,
    "value_rate": 1.0,
    "std_rate": 1.0,
    "initial_std": 0.6,
    "max_grad_norm": 0.5,
    "recompute_advantages": True,
}
CALM = "calm"
PROFILES: dict[str, dict[str, Any]] = {"dense": _DENSE, CALM: {**_DENSE, "initial_std": 0.2}}
"""Changes of the settings by name, which suit other tasks than the defaults do; docs/performance.md compares them.
`dense`: small steps, six times as many for each sample, by a policy that explores less widely and narrows early.
`calm`: the same with little noise, for robots that random actions throw over."""


PpoJob = TrainJob[PpoSettings]
