"""A deterministic policy that is a plain network, whoever trained it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np
import torch
from torch import Tensor

from rewardgen.training.policies import Arrays, save_policy
from rewardgen.training.ppo.policy import from_policy_units

Activation = Literal["tanh", "relu", "elu"]
Squash = Literal["clip", "tanh", "tanh2", "choice"]
_MOST_LAYERS, _MAX_WIDTH = 16, 1 << 16
_EPSILON, _LARGEST = 1e-8, 10.0
"""As Stable-Baselines3's `VecNormalize` has them."""


@dataclass(frozen=True)
class MlpPolicy:
    """Layers with an activation between them, on observations that may be normalised.

    Args:
        layers: Weight (out, in) and bias (out,) of each.
        activation: Between the layers.
        squash: What becomes of the last layer's output: `clip` and `tanh` bring it to -1 to 1, then to the range of
            the actions; `tanh2` is `tanh` of what is cut off at -2 and 2, as SAC has it with gSDE; `choice` takes the
            largest of each group.
        choices: Sizes of the groups; empty where it chooses nothing.
        mean: Of the observations, (O,) float64.
        variance: Of the observations, (O,) float64; -1 where they are taken as they are.
        action_low: (A,) float32, in actuator units.
        action_high: (A,) float32.
    """

    layers: tuple[tuple[Tensor, Tensor], ...]
    activation: Activation
    squash: Squash
    choices: tuple[int, ...]
    mean: Tensor
    variance: Tensor
    action_low: Tensor
    action_high: Tensor

    @property
    def observation_size(self) -> int:
        """Entries of an observation, O."""
        return self.layers[0][0].shape[1]

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> MlpPolicy:
        """See `rewardgen.training.policies.Policy.from_arrays`."""
        sizes = arrays.take("sizes", (None,), np.int64).tolist()
        if not 2 <= len(sizes) <= _MOST_LAYERS or min(sizes) < 1 or max(sizes) > _MAX_WIDTH:
            raise ValueError("`sizes` is out of range")
        activation, squash = arrays.take_text("activation"), arrays.take_text("squash")
        if activation not in get_args(Activation) or squash not in get_args(Squash):
            raise ValueError("its activation or what becomes of its output is unknown")
        choices = tuple(arrays.take("choices", (None,), np.int64).tolist())
        if (squash == "choice") != bool(choices) or min(choices, default=1) < 1 or sum(choices) not in (0, sizes[-1]):
            raise ValueError("`choices` does not fit its output")
        return cls(
            layers=tuple(
                (arrays.take(f"layer{number}/weight", (out, into)), arrays.take(f"layer{number}/bias", (out,)))
                for number, (into, out) in enumerate(pairwise(sizes))
            ),
            activation=cast("Activation", activation),
            squash=cast("Squash", squash),
            choices=choices,
            mean=arrays.take("normaliser/mean", (sizes[0],), np.float64),
            variance=arrays.take("normaliser/variance", (sizes[0],), np.float64),
            action_low=arrays.take("action/low", (sizes[-1],)),
            action_high=arrays.take("action/high", (sizes[-1],)),
        )

    def save(self, path: Path) -> None:
        """Write it.

        Raises:
            RunFolderError: It cannot be written.
        """
        sizes = [self.observation_size, *(len(bias) for _, bias in self.layers)]
        arrays: dict[str, Any] = {
            "sizes": np.array(sizes, np.int64),
            "activation": np.array(self.activation),
            "squash": np.array(self.squash),
            "choices": np.array(self.choices, np.int64),
            "normaliser/mean": self.mean,
            "normaliser/variance": self.variance,
            "action/low": self.action_low,
            "action/high": self.action_high,
        }
        for number, (weight, bias) in enumerate(self.layers):
            arrays |= {f"layer{number}/weight": weight, f"layer{number}/bias": bias}
        save_policy(path, "mlp", arrays)

    def on(self, device: torch.device) -> MlpPolicy:
        """The same on a device."""
        moved = {name: value.to(device) for name, value in vars(self).items() if isinstance(value, Tensor)}
        layers = tuple((weight.to(device), bias.to(device)) for weight, bias in self.layers)
        return replace(self, layers=layers, **moved)

    @torch.no_grad()
    def act(self, observation: Tensor) -> Tensor:
        """Actions (N, A) in actuator units, for observations (N, O) as simulated."""
        normalised = (observation.double() - self.mean) / (self.variance.clamp(min=0.0) + _EPSILON).sqrt()
        seen = torch.where(self.variance < 0, observation.double(), normalised.clamp(-_LARGEST, _LARGEST)).float()
        for number, (weight, bias) in enumerate(self.layers):
            seen = torch.nn.functional.linear(seen, weight, bias)
            if number + 1 < len(self.layers):
                seen = getattr(torch.nn.functional, self.activation)(seen)
        if self.squash == "choice":
            groups = [_largest(group) for group in seen.split(self.choices, 1)]
            return torch.cat(groups, 1)
        seen = seen.clamp(-2.0, 2.0) if self.squash == "tanh2" else seen
        bounded = seen.clamp(-1.0, 1.0) if self.squash == "clip" else seen.tanh()
        return from_policy_units(bounded, self.action_low, self.action_high)


def _largest(values: Tensor) -> Tensor:
    return torch.nn.functional.one_hot(values.argmax(1), values.shape[1]).float()


def layers_of(modules: Sequence[torch.nn.Module]) -> tuple[tuple[Tensor, Tensor], ...]:
    """Copies of the weights and biases of the linear ones among some modules."""
    linear = [each for each in modules if isinstance(each, torch.nn.Linear)]
    return tuple((each.weight.detach().clone(), each.bias.detach().clone()) for each in linear)


def unnormalised(size: int) -> Mapping[str, Tensor]:
    """The moments of observations that are taken as they are."""
    return {"mean": torch.zeros(size, dtype=torch.float64), "variance": torch.full((size,), -1.0, dtype=torch.float64)}
