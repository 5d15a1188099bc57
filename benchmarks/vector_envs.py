"""Stepping with what a user would pick instead: the vector environments of Gymnasium and of Stable-Baselines3."""

from __future__ import annotations

import time
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import SyncVectorEnv

WARM_UP = 4
"""Steps of the vector environment before the first measurement."""


class GymnasiumSync:
    """Gymnasium's `SyncVectorEnv` under random actions drawn beforehand."""

    def prepare(self, env_id: str, envs: int) -> dict[str, float]:
        """Make the environments and warm up.

        Args:
            env_id: Gymnasium's name of the environment.
            envs: How many.

        Returns:
            `rate`: control steps per second in the warm-up.
        """
        self._envs = envs
        self._space = gymnasium.make(env_id).action_space
        self._space.seed(0)
        self._vector = self._make(env_id, envs)
        return self.measure(WARM_UP)

    def measure(self, steps: int) -> dict[str, float]:
        """Step all environments; a step that only resets one counts as well.

        Args:
            steps: Control steps of every environment.
        """
        actions = [np.stack([self._space.sample() for _ in range(self._envs)]) for _ in range(steps)]
        began = time.perf_counter()
        for action in actions:
            self._vector.step(action)
        return {"rate": steps * self._envs / (time.perf_counter() - began)}

    def _make(self, env_id: str, envs: int) -> Any:
        vector = SyncVectorEnv([lambda: gymnasium.make(env_id)] * envs)
        vector.reset(seed=0)
        return vector


class Sb3Dummy(GymnasiumSync):
    """Stable-Baselines3's `DummyVecEnv` under random actions drawn beforehand."""

    def _make(self, env_id: str, envs: int) -> Any:
        from stable_baselines3.common.vec_env import DummyVecEnv  # loads torch, which would slow Gymnasium's down

        vector = DummyVecEnv([lambda: gymnasium.make(env_id)] * envs)
        vector.seed(0)
        vector.reset()
        return vector
