"""Running normalisation of observations and rewards, per slice. Nothing is shared between slices."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

_LIMIT = 10.0
_TINY = 1e-8


@dataclass
class RunningMoments:
    """Mean and variance of a stream of vectors, per slice, merged batch by batch (Chan et al. 1979)."""

    mean: Tensor  # (S, D) float64
    variance: Tensor  # of the population, (S, D) float64
    count: Tensor  # vectors seen, (S, 1) float64

    @classmethod
    def zeros(cls, slices: int, size: int, device: torch.device) -> RunningMoments:
        """Moments of an empty stream: mean 0, variance 1."""
        mean = torch.zeros(slices, size, dtype=torch.float64, device=device)
        return cls(mean, torch.ones_like(mean), mean.new_zeros(slices, 1))

    def of_slices(self, rows: list[int]) -> RunningMoments:
        """Moments of some of the slices."""
        return RunningMoments(self.mean[rows], self.variance[rows], self.count[rows])

    def update(self, rows: Tensor) -> None:
        """Add a batch of vectors (S, B, D)."""
        rows = rows.double()
        number = rows.shape[1]
        variance, mean = torch.var_mean(rows, dim=1, correction=0)
        total = self.count + number
        shift = mean - self.mean
        spread = self.variance * self.count + variance * number + shift.square() * self.count * number / total
        self.mean = self.mean + shift * number / total
        self.variance = spread / total
        self.count = total


class ObservationNormaliser:
    """Observations (S, N, O) to zero mean and unit variance, clipped to +-10."""

    def __init__(self, moments: RunningMoments) -> None:
        self.moments = moments
        self._refresh()

    def update(self, observation: Tensor) -> None:
        """Add observations (S, N, O)."""
        self.moments.update(observation)
        self._refresh()

    def __call__(self, observation: Tensor) -> Tensor:
        """Normalised observations, (S, N, O) float32."""
        return ((observation - self._mean) * self._scale).clamp_(-_LIMIT, _LIMIT)

    def _refresh(self) -> None:
        self._mean = self.moments.mean.float().unsqueeze(1)
        self._scale = (self.moments.variance + _TINY).rsqrt().float().unsqueeze(1)


class RewardScaler:
    """Divides rewards by the running standard deviation of the discounted return, clipped to +-10.

    As in OpenAI Baselines' VecNormalize: the sign of a reward and the place of zero stay, so that the optimal policy
    does too (Engstrom et al. 2020, "Implementation Matters in Deep Policy Gradients").
    """

    def __init__(self, slices: int, num_envs: int, discount: float, device: torch.device) -> None:
        self._moments = RunningMoments.zeros(slices, 1, device)
        self._returns = self._moments.mean.new_zeros(slices, num_envs)
        self._discount = discount
        self.clipped = torch.zeros(slices, dtype=torch.float64, device=device)
        """Share of the last rollout's rewards, by size, that was clipped, (S,)."""

    def keep(self, rows: list[int]) -> None:
        """Drop all other slices."""
        self._moments = self._moments.of_slices(rows)
        self._returns, self.clipped = self._returns[rows], self.clipped[rows]

    def __call__(self, reward: Tensor, done: Tensor) -> Tensor:
        """Scale a rollout's rewards (T, S, N), where `done` (T, S, N) marks the last steps of episodes."""
        self.update(reward, done)
        return self.scaled(reward)

    def update(self, reward: Tensor, done: Tensor) -> None:
        """Add a rollout's rewards (T, S, N); see `__call__`."""
        returns = []
        for step, ended in zip(reward.double(), done, strict=True):
            self._returns = self._returns * self._discount + step
            returns.append(self._returns)
            self._returns = self._returns.masked_fill(ended, 0.0)
        self._moments.update(torch.cat(returns, dim=1).unsqueeze(-1))
        size = reward.transpose(0, 1).flatten(1).double().abs()
        whole = size.sum(1)
        excess = (size - _LIMIT / self._scale()).clamp(min=0.0).sum(1)
        self.clipped = torch.where(whole > 0.0, excess / whole, 0.0)

    def scaled(self, reward: Tensor) -> Tensor:
        """Rewards (..., S, N), scaled and clipped."""
        return (reward * self._scale().float()).clamp(-_LIMIT, _LIMIT)

    def _scale(self) -> Tensor:
        return (self._moments.variance + _TINY).rsqrt()
