"""A policy trained with rewardgen: observation in, action out. It needs numpy alone.

    from policy import load

    policy = load()                    # policy.npz beside this file, or another: load("other.npz")
    action = policy.act(observation)   # (O,) -> (A,), or (N, O) -> (N, A)

The policy is deterministic. Observations are those of the task, normalised here; actions are in actuator units, within
their range. Where actions are choices, they are 1 for the chosen one and 0 for the rest.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

_LIMIT = 10.0
_TINY = 1e-8
_ACTIVATIONS = {
    "tanh": np.tanh,
    "relu": lambda values: np.maximum(values, 0.0),
    "elu": lambda values: np.where(values > 0.0, values, np.expm1(np.minimum(values, 0.0))),
}


class NumpyPolicy:
    """A perceptron between a normaliser and the range of the actions, from the arrays of a policy file.

    Attributes:
        observation_size: Entries of an observation, O.
        action_low: Lowest action, (A,).
        action_high: Highest action, (A,).
    """

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        kind, sizes = str(arrays["kind"]), arrays["sizes"]
        self.observation_size = int(sizes[0])
        self.action_low, self.action_high = arrays["action/low"], arrays["action/high"]
        numbers = range(len(sizes) - 1)
        if kind == "ppo":
            self._activation = "tanh"
            self._choices = arrays["choices"].tolist() if "choices" in arrays else []
            self._squash = "choice" if self._choices else "clip"
            names = [f"parameter/policy.{number}" for number in numbers]
            self._layers = [(arrays[f"{name}.weight"], arrays[f"{name}.bias"][0]) for name in names]
        elif kind == "mlp":
            self._activation, self._squash = str(arrays["activation"]), str(arrays["squash"])
            self._choices = arrays["choices"].tolist()
            self._layers = [(arrays[f"layer{number}/weight"].T, arrays[f"layer{number}/bias"]) for number in numbers]
        else:
            raise ValueError(f"this file loads no policy of kind {kind}")
        variance = arrays["normaliser/variance"]
        plain = variance < 0.0  # observations that are not normalised
        self._limit = np.where(plain, np.inf, _LIMIT).astype(np.float32)
        self._mean = arrays["normaliser/mean"].astype(np.float32)
        self._scale = np.where(plain, 1.0, 1.0 / np.sqrt(np.maximum(variance, 0.0) + _TINY)).astype(np.float32)

    def act(self, observation: Any) -> np.ndarray:
        """The action (A,) for an observation (O,), or actions (N, A) for observations (N, O)."""
        values = (np.asarray(observation, np.float32) - self._mean) * self._scale
        values = np.clip(values, -self._limit, self._limit)
        for number, (weight, bias) in enumerate(self._layers):
            values = values @ weight + bias
            if number + 1 < len(self._layers):
                values = _ACTIVATIONS[self._activation](values)
        if self._squash == "choice":
            groups = np.split(values, np.cumsum(self._choices)[:-1], axis=-1)
            return np.concatenate([np.eye(group.shape[-1], dtype=np.float32)[group.argmax(-1)] for group in groups], -1)
        values = np.clip(values, -2.0, 2.0) if self._squash == "tanh2" else values
        values = np.clip(values, -1.0, 1.0) if self._squash == "clip" else np.tanh(values)
        middle, half = (self.action_high + self.action_low) / 2, (self.action_high - self.action_low) / 2
        return np.clip(middle + half * values, self.action_low, self.action_high)


def load(path: Any = None) -> NumpyPolicy:
    """Read a policy file, by default `policy.npz` beside this one. No code in the file is run."""
    with np.load(Path(__file__).with_name("policy.npz") if path is None else path, allow_pickle=False) as file:
        return NumpyPolicy(dict(file))
