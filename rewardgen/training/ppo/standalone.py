"""A policy that was trained with rewardgen: from an observation to an action. All it needs is numpy.

    from policy import load

    policy = load()                    # policy.npz beside this file, or any other: load("other.npz")
    action = policy.act(observation)   # (O,) -> (A,), or (N, O) -> (N, A)

It is deterministic. Observations are given as the task makes them and are normalised here; actions come out in units of
the actuators, within their range.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

_LIMIT = 10.0
_TINY = 1e-8


class Policy:
    """A perceptron with tanh layers between a normaliser and the range of the actions.

    Args:
        arrays: Name to array, as the file of a policy has them.

    Attributes:
        observation_size: Entries of an observation, O.
        action_low: Lowest action, (A,).
        action_high: Highest action, (A,).
    """

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        if str(arrays["kind"]) != "ppo":
            raise ValueError(f"this is no policy of PPO but of kind {arrays['kind']}")
        self.observation_size = int(arrays["sizes"][0])
        self.action_low, self.action_high = arrays["action/low"], arrays["action/high"]
        self._mean = arrays["normaliser/mean"].astype(np.float32)
        self._scale = (1.0 / np.sqrt(arrays["normaliser/variance"] + _TINY)).astype(np.float32)
        layers = range(len(arrays["sizes"]) - 1)
        self._layers = [(arrays[f"parameter/policy.{each}.weight"], arrays[f"parameter/policy.{each}.bias"][0])
                        for each in layers]  # fmt: skip

    def act(self, observation: Any) -> np.ndarray:
        """The action (A,) for an observation (O,), or actions (N, A) for observations (N, O)."""
        values = (np.asarray(observation, np.float32) - self._mean) * self._scale
        values = np.clip(values, -_LIMIT, _LIMIT)
        for weight, bias in self._layers[:-1]:
            values = np.tanh(values @ weight + bias)
        weight, bias = self._layers[-1]
        middle, half = (self.action_high + self.action_low) / 2, (self.action_high - self.action_low) / 2
        return np.clip(middle + half * (values @ weight + bias), self.action_low, self.action_high)


def load(path: Any = None) -> Policy:
    """Read a policy. No code in the file is run.

    Args:
        path: The file; `policy.npz` beside this one if not given.
    """
    with np.load(Path(__file__).with_name("policy.npz") if path is None else path, allow_pickle=False) as file:
        return Policy(dict(file))
