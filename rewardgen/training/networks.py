"""Actor-critic networks of many slices, stacked along a leading axis. Knows nothing of optimisation or environments.

Shapes: S slices, B rows, O observation size, A action size, P parameters per slice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log, prod, sqrt

import torch
from torch import Tensor


@dataclass(frozen=True)
class Sizes:
    """Sizes that determine every parameter's shape.

    Args:
        observation: Entries of an observation.
        action: Entries of an action.
        hidden: Units of each hidden layer, the same in the policy and the value network.
    """

    observation: int
    action: int
    hidden: tuple[int, ...]

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Parameter name to its shape in one slice; biases are (1, out) so that they broadcast over rows."""
        shapes: dict[str, tuple[int, ...]] = {}
        for network, outputs in (("policy", self.action), ("value", 1)):
            widths = (self.observation, *self.hidden, outputs)
            for layer, (fan_in, fan_out) in enumerate(pairwise(widths)):
                shapes[f"{network}.{layer}.weight"] = (fan_in, fan_out)
                shapes[f"{network}.{layer}.bias"] = (1, fan_out)
        return {**shapes, "log_std": (1, self.action)}


class ActorCritic:
    """A Gaussian policy with a state-independent standard deviation, and a value network, for each of S slices.

    All parameters live in one leaf tensor `flat (S, P)`: one gradient, one optimiser step and one norm per slice serve
    all layers, and a matrix product over the leading axis serves all slices.

    Args:
        sizes: Sizes of the networks.
        flat: Parameters (S, P), as made by `initial_parameters` or `pack`.
    """

    def __init__(self, sizes: Sizes, flat: Tensor) -> None:
        self.sizes = sizes
        self.flat = flat.detach().clone().requires_grad_()
        self._shapes = sizes.shapes()
        self._counts = [prod(shape) for shape in self._shapes.values()]

    def parameters(self) -> dict[str, Tensor]:
        """Name to parameter (S, ...), views of `flat` that carry its gradient."""
        parts = self.flat.split(self._counts, dim=1)
        slices = len(self.flat)
        return {
            name: part.view(slices, *shape) for (name, shape), part in zip(self._shapes.items(), parts, strict=True)
        }

    def policy(self, observation: Tensor, parameters: Mapping[str, Tensor] | None = None) -> Tensor:
        """Mean action (S, B, A), in units of half the action range, for normalised observations (S, B, O)."""
        return self._forward("policy", observation, parameters or self.parameters())

    def value(self, observation: Tensor, parameters: Mapping[str, Tensor] | None = None) -> Tensor:
        """Value (S, B) of normalised observations (S, B, O)."""
        return self._forward("value", observation, parameters or self.parameters()).squeeze(-1)

    def _forward(self, network: str, rows: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        last = len(self.sizes.hidden)
        for layer in range(last + 1):
            rows = torch.baddbmm(parameters[f"{network}.{layer}.bias"], rows, parameters[f"{network}.{layer}.weight"])
            if layer < last:
                rows = torch.tanh(rows)
        return rows


def initial_parameters(sizes: Sizes, generators: Sequence[torch.Generator], initial_std: float) -> Tensor:
    """Orthogonal weights, zero biases, a policy that starts near zero; each slice from its own generator.

    The last policy layer is small, as in Andrychowicz et al. 2021, "What Matters in On-Policy Reinforcement Learning?".

    Args:
        sizes: Sizes of the networks.
        generators: One per slice.
        initial_std: Standard deviation of the untrained policy.

    Returns:
        Parameters (S, P).
    """
    return torch.stack([_initial_slice(sizes, generator, initial_std) for generator in generators])


def _initial_slice(sizes: Sizes, generator: torch.Generator, initial_std: float) -> Tensor:
    last = len(sizes.hidden)
    parts = []
    for name, shape in sizes.shapes().items():
        part = torch.zeros(shape)
        if name.endswith("weight"):
            head = 0.01 if name.startswith("policy") else 1.0
            gain = head if name.split(".")[1] == str(last) else sqrt(2)
            torch.nn.init.orthogonal_(part, gain, generator=generator)
        elif name == "log_std":
            part += log(initial_std)
        parts.append(part.flatten())
    return torch.cat(parts)


def pack(sizes: Sizes, parameters: Mapping[str, Tensor]) -> Tensor:
    """The flat parameters (P,) of one slice from its named parameters."""
    return torch.cat([parameters[name].reshape(-1) for name in sizes.shapes()])


def log_probability(action: Tensor, mean: Tensor, log_std: Tensor) -> Tensor:
    """Log density (S, B) of actions (S, B, A) under Gaussians with mean (S, B, A) and log std (S, 1, A)."""
    error = (action - mean) * torch.exp(-log_std)
    return -0.5 * error.square().sum(-1) - (log_std + 0.5 * log(2 * torch.pi)).sum(-1)


def kl_divergence(old_mean: Tensor, old_log_std: Tensor, mean: Tensor, log_std: Tensor) -> Tensor:
    """KL(old || new) of diagonal Gaussians, averaged over rows: (S,). Shapes as in `log_probability`."""
    inverse = torch.exp(-2 * log_std)
    scale = log_std - old_log_std - 0.5 + 0.5 * torch.exp(2 * old_log_std) * inverse
    return (scale + 0.5 * (old_mean - mean).square() * inverse).sum(-1).mean(-1)
