"""Settings of the batched SAC. Loads no torch: task files import it."""

from __future__ import annotations

from pydantic import Field, model_validator

from rewardgen.core.config import Device
from rewardgen.core.errors import UsageError
from rewardgen.store.records import TrainerSettings
from rewardgen.training.artifacts import TrainJob


class SacSettings(TrainerSettings):
    """Settings of the batched SAC. One slice is one candidate with one seed, with a replay buffer of its own."""

    env_steps: int = 500_000
    num_envs: int = 32
    """Training envs per slice."""
    rollout_steps: int = 8
    """Control steps per env between two rounds of updates."""
    steps_per_update: int = 4
    """Control steps of a slice for each update of its networks."""
    policy_delay: int = 2
    """Updates of the critics for each of the policy (Fujimoto et al. 2018)."""
    batch: int = 128
    """Transitions of an update."""
    replay: int = 300_000
    """Transitions kept per slice, at least a rollout of them; older ones are overwritten."""
    n_step: int = 3
    """Rewards that are summed before the critics estimate the rest."""
    random_steps: int = 5000
    """Control steps of random actions at the start, without updates; at most a tenth of all."""
    learning_rate: float = Field(default=5e-4, gt=0.0)
    target_rate: float = Field(default=0.01, gt=0.0, le=1.0)
    """Share of the critics that moves into their targets with each update."""
    temperature: float = Field(default=0.02, gt=0.0)
    """Initial weight of the entropy, in scaled rewards; then adapted."""
    entropy_per_action: float = -0.5
    """Target entropy of the policy, for each entry of an action in units of half its range."""
    hidden: tuple[int, ...] = (128, 128)
    """Units of each hidden layer, the same in the policy and the critics."""

    @property
    def device(self) -> Device:
        """The CPU: on a GPU nothing was measured."""
        return "cpu"

    @property
    def max_env_steps(self) -> int:
        """See `TrainerSettings.max_env_steps`; training ends with a whole rollout."""
        return self.env_steps + 2 * self.num_envs * self.rollout_steps

    @model_validator(mode="after")
    def _fits(self) -> SacSettings:
        # Otherwise a slice would not get the same bits alone and among others: see `rewardgen.training.sac.networks`.
        for name, sizes, unit in (("batch", (self.batch,), 32), ("hidden", self.hidden, 16)):
            if any(size < 1 or size % unit for size in sizes):
                raise UsageError(
                    f"`{name}` is no multiple of {unit}", f"round it to {unit}, {2 * unit}, {3 * unit}, ..."
                )
        return self


SacJob = TrainJob[SacSettings]
