"""PPO's policies: all slices stacked, as they train and act, and one slice as its file holds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from rewardgen.training.policies import Arrays, PolicyStack, chosen, from_policy_units, save_policy
from rewardgen.training.ppo.networks import ActorCritic, NetworkSizes
from rewardgen.training.shared.normaliser import ObservationNormaliser, RunningMoments

_MAX_WIDTH = 1 << 14
_MAX_LAYERS = 16


class StackedPolicy:
    """Deterministic policies of S slices; the range of their actions, (S, A), is in actuator units.

    `choices` are the sizes of the groups of outputs of which the largest wins, for discrete actions.
    """

    def __init__(
        self,
        networks: ActorCritic,
        normaliser: ObservationNormaliser,
        action_low: Tensor,
        action_high: Tensor,
        choices: Sequence[int] = (),
    ) -> None:
        self._networks, self._normaliser = networks, normaliser
        self._low, self._high = action_low.unsqueeze(1), action_high.unsqueeze(1)
        self._choices = tuple(choices)
        self.slices = len(networks.flat)

    @torch.no_grad()
    def act(self, observation: Tensor) -> Tensor:
        """Mean actions (S * N, A) in actuator units, within their range, for observations (S * N, O), slice-major.

        Where actions are choices, they are 1 for the chosen option of each group and 0 for the others.
        """
        mean = self._networks.policy(self._normaliser(observation.unflatten(0, (self.slices, -1))))
        if self._choices:
            return chosen(mean.flatten(0, 1), self._choices)
        return from_policy_units(mean, self._low, self._high).clamp(self._low, self._high).flatten(0, 1)

    def save(self, index: int, path: Path) -> None:
        """Write the policy of one slice to a file; raise a RunFolderError if that fails."""
        moments, sizes = self._normaliser.moments, self._networks.sizes
        arrays = {
            "sizes": torch.tensor([sizes.observation, sizes.action, *sizes.hidden], device="cpu"),
            "normaliser/mean": moments.mean[index],
            "normaliser/variance": moments.variance[index],
            "action/low": self._low[index, 0],
            "action/high": self._high[index, 0],
            "choices": torch.tensor(self._choices, dtype=torch.int64),
        }
        arrays |= {f"parameter/{name}": value[index] for name, value in self._networks.parameters.items()}
        save_policy(path, "ppo", {name: value.detach().cpu() for name, value in arrays.items()})


@dataclass(frozen=True)
class PpoPolicy:
    """The policy of one slice; see `rewardgen.training.policies.Policy`."""

    sizes: NetworkSizes
    parameters: dict[str, Tensor]
    mean: Tensor  # of the observations, (O,) float64
    variance: Tensor  # of the observations, (O,) float64
    action_low: Tensor
    action_high: Tensor
    choices: tuple[int, ...] = ()  # sizes of the groups of outputs of which the largest wins

    @property
    def observation_size(self) -> int:
        """Entries of an observation, O."""
        return self.sizes.observation

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> PpoPolicy:
        """See `Policy.from_arrays`."""
        numbers = arrays.take("sizes", (None,), np.int64).tolist()
        if not 2 <= len(numbers) <= _MAX_LAYERS or min(numbers) < 1 or max(numbers) > _MAX_WIDTH:
            raise ValueError("`sizes` is out of range")
        sizes = NetworkSizes(numbers[0], numbers[1], tuple(numbers[2:]))
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
            arrays.take_choices(sizes.action),
        )

    def act(self, observation: Tensor) -> Tensor:
        """See `Policy.act`."""
        return self._alone.act(observation)

    @cached_property
    def _alone(self) -> StackedPolicy:
        return _stacked([self])

    @staticmethod
    def stack(policies: Sequence[PpoPolicy]) -> PolicyStack | None:
        """See `Policy.stack`; networks of the same sizes can be stacked."""
        return _stacked(policies) if len({(policy.sizes, policy.choices) for policy in policies}) == 1 else None


def _stacked(policies: Sequence[PpoPolicy]) -> StackedPolicy:
    sizes = policies[0].sizes
    flat = [torch.cat([policy.parameters[name].flatten() for name in sizes.shapes()]) for policy in policies]
    networks = ActorCritic(sizes, torch.stack(flat))
    moments = RunningMoments(
        torch.stack([policy.mean for policy in policies]),
        torch.stack([policy.variance for policy in policies]),
        policies[0].mean.new_ones(len(policies), 1),
    )
    low = torch.stack([policy.action_low for policy in policies])
    high = torch.stack([policy.action_high for policy in policies])
    return StackedPolicy(networks, ObservationNormaliser(moments), low, high, policies[0].choices)
