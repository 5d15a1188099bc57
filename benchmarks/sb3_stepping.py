"""Stepping with Stable-Baselines3's vector environment. Apart from Gymnasium's, for it loads torch."""

from __future__ import annotations

from typing import Any

import gymnasium
from stable_baselines3.common.vec_env import DummyVecEnv

from benchmarks.gymnasium_stepping import GymnasiumSync


class Sb3Dummy(GymnasiumSync):
    """Stable-Baselines3's `DummyVecEnv` under random actions drawn beforehand."""

    def _make(self, env_id: str, envs: int) -> Any:
        vector = DummyVecEnv([lambda: gymnasium.make(env_id)] * envs)
        vector.seed(0)
        vector.reset()
        return vector
