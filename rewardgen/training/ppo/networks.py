"""Actor-critic networks of many slices, stacked along a leading axis. No optimisation, no environments.

Shapes: S slices, B rows, O observation size, A action size, P parameters per slice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log, prod, sqrt

import torch
from torch import Tensor

from rewardgen.training.ppo.mlp import StackedMLP, Weights


@dataclass(frozen=True)
class NetworkSizes:
    """Sizes that determine every parameter's shape."""

    observation: int
    action: int
    hidden: tuple[int, ...]
    """Units of each hidden layer, the same in the policy and the value network."""

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Parameter name to its shape in one slice; biases are (1, out) so that they broadcast over rows."""
        shapes: dict[str, tuple[int, ...]] = {}
        for network, outputs in (("policy", self.action), ("value", 1)):
            shapes |= layer_shapes(network, (self.observation, *self.hidden, outputs))
        return {**shapes, "log_std": (1, self.action)}


class ActorCritic:
    """A Gaussian policy with a state-independent standard deviation, and a value network, for each of S slices.

    All parameters live in one tensor `flat (S, P)`, and `parameters` are views of it by name, (S, ...). One gradient,
    one optimiser step and one norm per slice serve all layers, one matrix product over the leading axis all slices.
    """

    def __init__(self, sizes: NetworkSizes, flat: Tensor) -> None:
        self.sizes = sizes
        self.flat = flat.detach().clone()
        self.parameters = views(sizes.shapes(), self.flat)
        self._gradient = torch.zeros_like(self.flat)
        self._gradients = views(sizes.shapes(), self._gradient)
        self._policy, self._value = (
            StackedMLP(layers(self.parameters, network), layers(self._gradients, network))
            for network in ("policy", "value")
        )

    def rates(self, value: float, log_std: float) -> Tensor:
        """Learning rate of every parameter (P,), relative to the policy network's."""
        rates = torch.ones_like(self.flat[:1])
        for name, part in views(self.sizes.shapes(), rates).items():
            part.mul_(log_std if name == "log_std" else value if name.startswith("value") else 1.0)
        return rates[0]

    @property
    def log_std(self) -> Tensor:
        """Log standard deviation of the policy, (S, 1, A), in units of half the action range."""
        return self.parameters["log_std"]

    def policy(self, observation: Tensor) -> Tensor:
        """Mean action (S, B, A), in units of half the action range, for normalised observations (S, B, O)."""
        return self._policy(observation)

    def value(self, observation: Tensor) -> Tensor:
        """Value (S, B) of normalised observations (S, B, O)."""
        return self._value(observation).squeeze(-1)

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Mean action (S, B, A) and value (S, B) of normalised observations (S, B, O); call `backward` next."""
        return self._policy.forward(observation), self._value.forward(observation).squeeze(-1)

    def backward(self, mean: Tensor, log_std: Tensor, value: Tensor) -> Tensor:
        """Gradient of the parameters (S, P), valid until the next call.

        Takes the gradients of the mean action (S, B, A), of the log std (S, 1, A), and of the value (S, B).
        """
        self._policy.backward(mean)
        self._value.backward(value.unsqueeze(-1))
        self._gradients["log_std"].copy_(log_std)
        return self._gradient


def layer_shapes(network: str, widths: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Parameter name to its shape in one slice, for the layers of a perceptron; see `NetworkSizes.shapes`."""
    shapes: dict[str, tuple[int, ...]] = {}
    for layer, (fan_in, fan_out) in enumerate(pairwise(widths)):
        shapes[f"{network}.{layer}.weight"] = (fan_in, fan_out)
        shapes[f"{network}.{layer}.bias"] = (1, fan_out)
    return shapes


def views(shapes: Mapping[str, tuple[int, ...]], flat: Tensor) -> dict[str, Tensor]:
    """Named parts (S, ...) of flat parameters (S, P)."""
    parts = flat.split([prod(shape) for shape in shapes.values()], dim=1)
    return {name: part.view(len(flat), *shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}


def layers(parts: Mapping[str, Tensor], network: str) -> list[Weights]:
    """Weights of a network's layers, from parts by name."""
    weights = [name for name in parts if name.startswith(network) and name.endswith("weight")]
    return [Weights(parts[name], parts[name.removesuffix("weight") + "bias"]) for name in weights]


def initial_parameters(sizes: NetworkSizes, generators: Sequence[torch.Generator], initial_std: float) -> Tensor:
    """Return parameters (S, P): orthogonal weights and zero biases, each slice drawn from its own generator.

    The last policy layer is small, as in Andrychowicz et al. 2021, "What Matters in On-Policy Reinforcement Learning?".
    """
    policy, value = ((sizes.observation, *sizes.hidden, outputs) for outputs in (sizes.action, 1))
    log_std = torch.full((sizes.action,), log(initial_std), device=generators[0].device)
    slices = [(initial(policy, 0.01, source), initial(value, 1.0, source), log_std) for source in generators]
    return torch.stack([torch.cat(parts) for parts in slices])


def initial(widths: Sequence[int], gain: float, generator: torch.Generator) -> Tensor:
    """Return parameters of a perceptron (P,): orthogonal weights, the last times `gain`, and zero biases."""
    parts = [torch.zeros(shape, device=generator.device) for shape in layer_shapes("", widths).values()]
    for weight in parts[::2]:
        torch.nn.init.orthogonal_(weight, gain if weight is parts[-2] else sqrt(2), generator=generator)
    return torch.cat([part.flatten() for part in parts])


def log_probability(action: Tensor, mean: Tensor, log_std: Tensor) -> Tensor:
    """Log density (S, B) of actions (S, B, A) under Gaussians with mean (S, B, A) and log std (S, 1, A)."""
    error = (action - mean) * torch.exp(-log_std)
    return -0.5 * error.square().sum(-1) - (log_std + 0.5 * log(2 * torch.pi)).sum(-1)


def kl_divergence(old_mean: Tensor, old_log_std: Tensor, mean: Tensor, log_std: Tensor) -> Tensor:
    """KL(old || new) of diagonal Gaussians, averaged over rows: (S,). Shapes as in `log_probability`."""
    inverse = torch.exp(-2 * log_std)
    scale = log_std - old_log_std - 0.5 + 0.5 * torch.exp(2 * old_log_std) * inverse
    return (scale + 0.5 * (old_mean - mean).square() * inverse).sum(-1).mean(-1)
