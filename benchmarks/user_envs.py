"""Environments with a reward as a user of Gymnasium would write them: numpy, one environment at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import gymnasium
import mujoco
import numpy as np
from gymnasium.spaces import Box
from gymnasium.wrappers import TimeLimit

from rewardgen.tasks.loading import shipped_tasks


class CartpoleSwingUp(gymnasium.Env):
    """The cart-pole swing-up over the MuJoCo bindings, with the physics and observations of the shipped task.

    Args:
        rail: Distance from the middle at which the bonus for being central is small [m].
        spin: Speed of the pole at which the bonus for being slow is small [rad/s].
        effort: Weight of the push.
    """

    def __init__(self, rail: float, spin: float, effort: float) -> None:
        self._model = mujoco.MjModel.from_xml_path(str(shipped_tasks()["cartpole"].with_suffix(".xml")))
        self._data = mujoco.MjData(self._model)
        self._rail, self._spin, self._effort = rail, spin, effort
        self.observation_space = Box(-np.inf, np.inf, (5,), np.float64)
        self.action_space = Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        """Hang the pole down, as the task does."""
        super().reset(seed=seed)
        mujoco.mj_resetData(self._model, self._data)
        draw = self.np_random
        self._data.qpos[:] = draw.uniform(-0.2, 0.2), math.pi + draw.uniform(-0.1, 0.1)
        self._data.qvel[:] = draw.normal(0.0, 0.01, 2)
        return self._observe(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        """Four physics steps, then the reward."""
        self._data.ctrl[:] = np.clip(action, -1.0, 1.0)
        mujoco.mj_step(self._model, self._data, 4)
        return self._observe(), self._reward(self._data.ctrl), False, False, {}

    def _observe(self) -> np.ndarray:
        (cart, angle), (speed, spin) = self._data.qpos, self._data.qvel
        return np.array([np.sin(angle), cart, np.cos(angle), speed, spin])

    def _reward(self, action: np.ndarray) -> float:
        (cart, angle), (_, spin) = self._data.qpos, self._data.qvel
        upright = (1.0 + np.cos(angle)) / 2.0
        centred = (1.0 + 0.1 ** np.square(cart / self._rail)) / 2.0
        slow = (1.0 + 0.1 ** np.square(spin / self._spin)) / 2.0
        gentle = 1.0 - self._effort * np.square(action[0])
        return float(upright * centred * slow * gentle)


class HopperReward(gymnasium.Wrapper):
    """Gymnasium's hopper with another reward.

    Args:
        env: `Hopper-v5`.
        speed: Weight of the forward speed.
        lean: Weight of an upright torso.
        crouch: Weight of a low torso.
        effort: Weight of the torques.
    """

    def __init__(self, env: gymnasium.Env, speed: float, lean: float, crouch: float, effort: float) -> None:
        super().__init__(env)
        self._speed, self._lean, self._crouch, self._effort = speed, lean, crouch, effort

    def step(self, action: np.ndarray) -> tuple[Any, float, bool, bool, dict]:
        """The environment's step with this reward."""
        observation, _, terminated, truncated, info = self.env.step(action)
        height, pitch, z_velocity = observation[0], observation[1], observation[6]
        reward = self._speed * info["x_velocity"] + float(not terminated)
        reward += self._lean * np.exp(-np.square(pitch / 0.2)) + self._crouch * np.minimum(height - 1.2, 0.0)
        reward += -0.01 * np.square(z_velocity) - self._effort * np.sum(np.square(action))
        return observation, float(reward), terminated, truncated, info


class HalfCheetahReward(gymnasium.Wrapper):
    """Gymnasium's half cheetah with another reward.

    Args:
        env: `HalfCheetah-v5`.
        speed: Weight of the forward speed.
        lean: Weight of a level torso.
        effort: Weight of the torques.
    """

    def __init__(self, env: gymnasium.Env, speed: float, lean: float, effort: float) -> None:
        super().__init__(env)
        self._speed, self._lean, self._effort = speed, lean, effort

    def step(self, action: np.ndarray) -> tuple[Any, float, bool, bool, dict]:
        """The environment's step with this reward."""
        observation, _, terminated, truncated, info = self.env.step(action)
        pitch, z_velocity, pitch_velocity = observation[1], observation[9], observation[10]
        reward = self._speed * info["x_velocity"] + self._lean * np.cos(pitch)
        reward -= 0.01 * (np.square(z_velocity) + 0.1 * np.square(pitch_velocity))
        reward -= self._effort * np.sum(np.square(action))
        return observation, float(reward), terminated, truncated, info


MAKERS: dict[str, Callable[..., gymnasium.Env]] = {
    "cartpole": lambda **constants: TimeLimit(CartpoleSwingUp(**constants), 250),
    "hopper": lambda **constants: HopperReward(gymnasium.make("Hopper-v5"), **constants),
    "half_cheetah": lambda **constants: HalfCheetahReward(gymnasium.make("HalfCheetah-v5"), **constants),
}
"""Task to a function that makes its environment from the reward's constants."""
