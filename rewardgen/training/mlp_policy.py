"""A deterministic policy that is a plain network, as trainers other than PPO leave it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np
import torch
from torch import Tensor

from rewardgen.training.policies import Arrays, chosen, from_policy_units, save_policy

Activation = Literal["tanh", "relu", "elu"]
Squash = Literal["clip", "tanh", "tanh2", "choice"]
_MOST_LAYERS, _MAX_WIDTH = 16, 1 << 16
_EPSILON, _LARGEST = 1e-8, 10.0
"""As in Stable-Baselines3's `VecNormalize`."""


@dataclass(frozen=True)
class MlpPolicy:
    """Layers with an activation between them; see `rewardgen.training.policies.Policy`."""

    layers: tuple[tuple[Tensor, Tensor], ...]
    """Weight (out, in) and bias (out,) of each layer."""
    activation: Activation
    squash: Squash
    """`clip` and `tanh` bring the output to -1 to 1, then to the range of the actions; `tanh2` is `tanh` of the output
    clipped to +-2 (SAC with gSDE); `choice` takes the largest of each group."""
    choices: tuple[int, ...]
    """Sizes of the groups; empty without choices."""
    mean: Tensor  # of the observations, (O,) float64
    variance: Tensor  # of the observations, (O,) float64; -1 where they are not normalised
    action_low: Tensor
    action_high: Tensor

    @property
    def observation_size(self) -> int:
        """Entries of an observation, O."""
        return self.layers[0][0].shape[1]

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> MlpPolicy:
        """See `Policy.from_arrays`."""
        sizes = arrays.take("sizes", (None,), np.int64).tolist()
        if not 2 <= len(sizes) <= _MOST_LAYERS or min(sizes) < 1 or max(sizes) > _MAX_WIDTH:
            raise ValueError("`sizes` is out of range")
        activation, squash = arrays.take_text("activation"), arrays.take_text("squash")
        if activation not in get_args(Activation) or squash not in get_args(Squash):
            raise ValueError("its `activation` or `squash` is unknown")
        choices = arrays.take_choices(sizes[-1])
        if (squash == "choice") != bool(choices):
            raise ValueError("`choices` does not fit its `squash`")
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
        """Write the policy to a file; raise a RunFolderError if that fails."""
        sizes = [self.observation_size, *(len(bias) for _, bias in self.layers)]
        arrays: dict[str, Any] = {
            "sizes": sizes,
            "activation": self.activation,
            "squash": self.squash,
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
        """Return a copy on a device."""
        moved = {name: value.to(device) for name, value in vars(self).items() if isinstance(value, Tensor)}
        layers = tuple((weight.to(device), bias.to(device)) for weight, bias in self.layers)
        return replace(self, layers=layers, **moved)

    @torch.no_grad()
    def act(self, observation: Tensor) -> Tensor:
        """See `Policy.act`."""
        normalised = (observation.double() - self.mean) / (self.variance.clamp(min=0.0) + _EPSILON).sqrt()
        values = torch.where(self.variance < 0, observation.double(), normalised.clamp(-_LARGEST, _LARGEST)).float()
        for number, (weight, bias) in enumerate(self.layers):
            values = torch.nn.functional.linear(values, weight, bias)
            if number + 1 < len(self.layers):
                values = getattr(torch.nn.functional, self.activation)(values)
        if self.squash == "choice":
            return chosen(values, self.choices)
        values = values.clamp(-2.0, 2.0) if self.squash == "tanh2" else values
        bounded = values.clamp(-1.0, 1.0) if self.squash == "clip" else values.tanh()
        return from_policy_units(bounded, self.action_low, self.action_high)

    @staticmethod
    def stack(policies: Sequence[MlpPolicy]) -> None:
        """See `Policy.stack`; these act in turn."""


def layers_of(modules: Sequence[torch.nn.Module]) -> tuple[tuple[Tensor, Tensor], ...]:
    """Copy the weights and biases of the linear modules."""
    linear = [module for module in modules if isinstance(module, torch.nn.Linear)]
    return tuple((module.weight.detach().clone(), module.bias.detach().clone()) for module in linear)


def unnormalised(size: int) -> Mapping[str, Tensor]:
    """Return `mean` and `variance` of observations that are not normalised."""
    return {"mean": torch.zeros(size, dtype=torch.float64), "variance": torch.full((size,), -1.0, dtype=torch.float64)}
