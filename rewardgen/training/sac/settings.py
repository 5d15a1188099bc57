"""Settings of the batched SAC. Loads no torch: task files import it."""

from __future__ import annotations

from pydantic import model_validator

from rewardgen.core.config import Device
from rewardgen.core.errors import UsageError
from rewardgen.store.records import TrainerSettings
from rewardgen.training.artifacts import TrainJob

_LINE = 16
"""Numbers in a cache line; see `rewardgen.training.ppo.mlp`."""


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
    """Transitions kept per slice; older ones are overwritten."""
    n_step: int = 3
    """Rewards that are summed before the critics estimate the rest."""
    random_steps: int = 5000
    """Control steps of random actions at the start, without updates; at most a tenth of all."""
    learning_rate: float = 5e-4
    target_rate: float = 0.01
    """Share of the critics that moves into their targets with each update."""
    temperature: float = 0.02
    """Initial weight of the entropy, in scaled rewards; then adapted."""
    entropy_per_action: float = -0.5
    """Target entropy of the policy, for each entry of an action in units of half its range."""
    hidden: tuple[int, ...] = (128, 128)

    @property
    def device(self) -> Device:
        """The CPU: on a GPU nothing was measured."""
        return "cpu"

    @property
    def max_env_steps(self) -> int:
        """See `TrainerSettings.max_env_steps`; training ends with a whole rollout."""
        return self.env_steps + self.num_envs * self.rollout_steps

    @model_validator(mode="after")
    def _fits(self) -> SacSettings:
        for name, sizes in (("batch", (self.batch,)), ("hidden", self.hidden)):
            if any(size % _LINE for size in sizes):
                raise UsageError(f"`{name}` is no multiple of {_LINE}", f"round it to {_LINE}, 32, 48, ...")
        if self.replay < self.num_envs * (self.rollout_steps + self.n_step):
            raise UsageError("`replay` is too small for a rollout", "make it larger")
        return self


class SacJob(TrainJob):
    """Payload of one worker."""

    settings: SacSettings
