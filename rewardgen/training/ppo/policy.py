"""PPO's policies: those of all slices stacked, as they train and act side by side, and one as its file holds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from rewardgen.training.policies import Arrays, save_policy
from rewardgen.training.ppo.networks import ActorCritic, Sizes, pack
from rewardgen.training.ppo.normaliser import ObservationNormaliser, RunningMoments

_MAX_WIDTH = 1 << 14
_MAX_LAYERS = 16


class StackedPolicy:
    """Deterministic policies of S slices.

    Args:
        networks: Their networks.
        normaliser: Their observation normaliser.
        action_low: (S, A), in actuator units.
        action_high: (S, A).
    """

    def __init__(
        self, networks: ActorCritic, normaliser: ObservationNormaliser, action_low: Tensor, action_high: Tensor
    ) -> None:
        self._networks = networks
        self._normaliser = normaliser
        self._low = action_low.unsqueeze(1)
        self._high = action_high.unsqueeze(1)

    @property
    def slices(self) -> int:
        """Number of slices S."""
        return len(self._networks.flat)

    @torch.no_grad()
    def act(self, observation: Tensor) -> Tensor:
        """The policies' mean actions, in actuator units and within their range.

        Args:
            observation: As simulated, slice-major, (S * N, O).

        Returns:
            (S * N, A).
        """
        mean = self._networks.policy(self._normaliser(observation.unflatten(0, (self.slices, -1))))
        return from_policy_units(mean, self._low, self._high).clamp(self._low, self._high).flatten(0, 1)

    def save(self, index: int, path: Path) -> None:
        """Write the policy of one slice.

        Args:
            index: Which slice.
            path: The file.

        Raises:
            RunFolderError: It cannot be written.
        """
        moments, sizes = self._normaliser.moments, self._networks.sizes
        parameters = {f"parameter/{name}": value[index] for name, value in self._networks.parameters.items()}
        others = {
            "sizes": torch.tensor([sizes.observation, sizes.action, *sizes.hidden], device="cpu"),
            "normaliser/mean": moments.mean[index],
            "normaliser/variance": moments.variance[index],
            "action/low": self._low[index, 0],
            "action/high": self._high[index, 0],
        }
        save_policy(path, "ppo", {name: value.detach().cpu() for name, value in (others | parameters).items()})


def from_policy_units(action: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Actuator units for actions (..., A) in units of half the range between `low` and `high`, which broadcast."""
    return (high + low) / 2 + (high - low) / 2 * action


@dataclass(frozen=True)
class PpoPolicy:
    """The policy of one slice, as its file holds it.

    Args:
        sizes: Sizes of the networks.
        parameters: Parameter name to value, of one slice.
        mean: Mean of the observations, (O,) float64.
        variance: Their variance, (O,) float64.
        action_low: (A,) float32, in actuator units.
        action_high: (A,) float32.
    """

    sizes: Sizes
    parameters: dict[str, Tensor]
    mean: Tensor
    variance: Tensor
    action_low: Tensor
    action_high: Tensor

    @property
    def observation_size(self) -> int:
        """Entries of an observation, O."""
        return self.sizes.observation

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> PpoPolicy:
        """See `rewardgen.training.policies.Policy.from_arrays`."""
        found = arrays.take("sizes", (None,), np.int64).tolist()
        if not 2 <= len(found) <= _MAX_LAYERS or min(found) < 1 or max(found) > _MAX_WIDTH:
            raise ValueError("`sizes` is out of range")
        sizes = Sizes(found[0], found[1], tuple(found[2:]))
        variance = arrays.take("normaliser/variance", (sizes.observation,), np.float64)
        if bool((variance < 0).any()):
            raise ValueError("a variance is negative")
        return cls(
            sizes,
            {name: arrays.take(f"parameter/{name}", shape) for name, shape in sizes.shapes().items()},
            arrays.take("normaliser/mean", (sizes.observation,), np.float64),
            variance,
            arrays.take("action/low", (sizes.action,)),
            arrays.take("action/high", (sizes.action,)),
        )

    def act(self, observation: Tensor) -> Tensor:
        """Actions (N, A) in actuator units, for observations (N, O)."""
        return self._stacked.act(observation)

    @cached_property
    def _stacked(self) -> StackedPolicy:
        return _stacked([self])

    @staticmethod
    def stack(policies: Sequence[PpoPolicy]) -> StackedPolicy | None:
        """Several policies as one, if their networks have the same sizes."""
        return _stacked(policies) if len({each.sizes for each in policies}) == 1 else None


def _stacked(policies: Sequence[PpoPolicy]) -> StackedPolicy:
    sizes = policies[0].sizes
    networks = ActorCritic(sizes, torch.stack([pack(sizes, each.parameters) for each in policies]))
    moments = RunningMoments(
        torch.stack([each.mean for each in policies]),
        torch.stack([each.variance for each in policies]),
        policies[0].mean.new_ones(len(policies), 1),
    )
    low, high = (torch.stack([getattr(each, f"action_{end}") for each in policies]) for end in ("low", "high"))
    return StackedPolicy(networks, ObservationNormaliser(moments), low, high)
