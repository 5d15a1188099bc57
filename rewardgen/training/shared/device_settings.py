"""The settings of trainers that simulate and learn on a device. Loads no torch: task files import them."""

from __future__ import annotations

from typing import Self

from rewardgen.core.config import Device
from rewardgen.store.records import TrainerSettings

_ENVS_ON_GPU = 1024


class DeviceSettings(TrainerSettings):
    """What they have in common. Each slice has environments of its own."""

    num_envs: int = 64
    """Training environments per slice."""
    rollout_steps: int = 32
    """Control steps per environment between two updates."""
    device: Device = "cpu"
    """What simulates and learns."""

    def on(self, device: Device) -> Self:
        """The same training on a device: a GPU takes many environments at a time, and half as many, larger updates.

        Policies are evaluated half as often there: in an evaluation it steps few envs, and one step takes as long.
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
