"""The policy class of `policy.zip`: Stable-Baselines3's actor-critic behind the normaliser that it was trained with.

The zip holds this class, so `PPO.load("policy.zip")` needs no more than Stable-Baselines3. What it holds is bytecode of
one version of Python; under another one, give it the class:

    PPO.load("policy.zip", custom_objects={"policy_class": NormalisedPolicy})
"""

from typing import Any

import gymnasium
import torch
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import FlattenExtractor


class Normaliser(FlattenExtractor):
    """Observations to zero mean and unit variance, clipped to +-10. It does not go on learning."""

    mean: torch.Tensor
    scale: torch.Tensor

    def __init__(self, observation_space: gymnasium.Space) -> None:
        super().__init__(observation_space)
        for name, value in (("mean", torch.zeros), ("scale", torch.ones)):
            self.register_buffer(name, value(self.features_dim))

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Normalised observations."""
        return ((super().forward(observations) - self.mean) * self.scale).clamp(-10.0, 10.0)


class NormalisedPolicy(ActorCriticPolicy):
    """The actor-critic, with tanh layers. Actions are in units of the actuators, and clipped to their range."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        options.setdefault("features_extractor_class", Normaliser)
        super().__init__(*arguments, **options)
