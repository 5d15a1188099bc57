"""A policy that was trained with rewardgen: from an observation to an action. All it needs is numpy.

    from policy import load

    policy = load()                    # policy.npz beside this file, or any other: load("other.npz")
    action = policy.act(observation)   # (O,) -> (A,), or (N, O) -> (N, A)

It is deterministic. Observations are given as the task makes them and are normalised here; actions come out in units of
the actuators, within their range. Where actions are choices, they are 1 for what is chosen and 0 for the rest.
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


class Policy:
    """A perceptron between a normaliser and the range of the actions.

    Args:
        arrays: Name to array, as the file of a policy has them.

    Attributes:
        observation_size: Entries of an observation, O.
        action_low: Lowest action, (A,).
        action_high: Highest action, (A,).
    """

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        kind, sizes = str(arrays["kind"]), arrays["sizes"]
        self.observation_size = int(sizes[0])
        self.action_low, self.action_high = arrays["action/low"], arrays["action/high"]
        layers = range(len(sizes) - 1)
        if kind == "ppo":
            self._activation, self._squash, self._choices = "tanh", "clip", []
            named = [(arrays[f"parameter/policy.{each}.weight"], arrays[f"parameter/policy.{each}.bias"][0])
                     for each in layers]  # fmt: skip
        elif kind == "mlp":
            self._activation, self._squash = str(arrays["activation"]), str(arrays["squash"])
            self._choices = arrays["choices"].tolist()
            named = [(arrays[f"layer{each}/weight"].T, arrays[f"layer{each}/bias"]) for each in layers]
        else:
            raise ValueError(f"this is no policy that can be loaded here but of kind {kind}")
        variance = arrays["normaliser/variance"]
        plain = variance < 0.0  # where observations are taken as they are
        self._limit = np.where(plain, np.inf, _LIMIT).astype(np.float32)
        self._mean = arrays["normaliser/mean"].astype(np.float32)
        self._scale = np.where(plain, 1.0, 1.0 / np.sqrt(np.maximum(variance, 0.0) + _TINY)).astype(np.float32)
        self._layers = named

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
            return np.concatenate([np.eye(each.shape[-1], dtype=np.float32)[each.argmax(-1)] for each in groups], -1)
        values = np.clip(values, -2.0, 2.0) if self._squash == "tanh2" else values
        values = np.clip(values, -1.0, 1.0) if self._squash == "clip" else np.tanh(values)
        middle, half = (self.action_high + self.action_low) / 2, (self.action_high - self.action_low) / 2
        return np.clip(middle + half * values, self.action_low, self.action_high)


def load(path: Any = None) -> Policy:
    """Read a policy. No code in the file is run.

    Args:
        path: The file; `policy.npz` beside this one if not given.
    """
    with np.load(Path(__file__).with_name("policy.npz") if path is None else path, allow_pickle=False) as file:
        return Policy(dict(file))
