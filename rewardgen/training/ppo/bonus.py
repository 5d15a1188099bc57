"""Exploration bonuses, in training only: reward for rarely seen observations.

Shapes: T steps, S slices, N envs per slice, B = T * N rows, O observation size, P parameters per slice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import sqrt

import torch
from torch import Tensor

from rewardgen.training.ppo.mlp import StackedMLP
from rewardgen.training.ppo.networks import layer_shapes, layers, views
from rewardgen.training.ppo.settings import PpoSettings
from rewardgen.training.shared.adam import StackedAdam
from rewardgen.training.shared.normaliser import RewardScaler

_PAID = 0.8
"""Share of the training with a bonus: then the policy learns from the reward alone."""
_WIDTHS = (64, 64, 16)
"""Units of the random networks; the last are the features to predict."""
_LEARNING_RATE = 1e-3
_MINIBATCHES = 4
_BITS = 12
"""Projections of an observation, whose signs name one of 2^12 cells."""


class ExplorationBonus(ABC):
    """A bonus for novelty, scaled as the reward is, with a weight that falls linearly to 0. Slices share nothing."""

    def __init__(self, settings: PpoSettings, generators: Sequence[torch.Generator]) -> None:
        self._scaler = RewardScaler(len(generators), settings.num_envs, settings.discount, generators[0].device)
        self._weight, self._steps, self._paid_steps = settings.bonus_weight, 0, _PAID * settings.env_steps

    @abstractmethod
    def novelty(self, observation: Tensor) -> Tensor:
        """Novelty (S, B) of normalised observations (S, B, O), which count as seen from now on."""

    def keep(self, rows: list[int]) -> None:
        """Drop all other slices."""
        self._scaler.keep(rows)

    @torch.no_grad()
    def added(self, reward: Tensor, observation: Tensor, done: Tensor) -> tuple[Tensor, list[float]]:
        """Add the bonus for the normalised observations (S, B, O) that the steps led to, to (T, S, N) rewards.

        Returns the sums, and the part of the bonus in each slice's, by size.
        """
        self._steps += reward[:, 0].numel()
        weight = self._weight * max(0.0, 1.0 - self._steps / self._paid_steps)
        if not weight:
            return reward, [0.0] * reward.shape[1]
        novelty = self.novelty(observation).unflatten(1, (len(reward), -1)).transpose(0, 1)
        bonus = weight * self._scaler(novelty, done)
        paid, whole = (part.transpose(0, 1).flatten(1).double().sum(1) for part in (bonus, bonus + reward.abs()))
        return reward + bonus, torch.where(whole > 0.0, paid / whole, 0.0).tolist()


class Distillation(ExplorationBonus):
    """Random network distillation (Burda et al. 2019): the error of predicting a fixed random network's features."""

    def __init__(self, observation: int, settings: PpoSettings, generators: Sequence[torch.Generator]) -> None:
        super().__init__(settings, generators)
        self._shapes = layer_shapes("features", (observation, *_WIDTHS))
        self._build(*(torch.stack([_random(self._shapes, source) for source in generators]) for _ in range(2)))
        self._optimiser = StackedAdam(self._predictor_flat, _LEARNING_RATE, torch.inf)

    def _build(self, target: Tensor, predictor: Tensor) -> None:
        """Make the networks from their parameters (S, P)."""
        self._target_flat, self._predictor_flat, self._gradient = target, predictor, torch.zeros_like(predictor)
        parts = [layers(views(self._shapes, flat), "features") for flat in (target, predictor, self._gradient)]
        self._target, self._predictor = StackedMLP(parts[0], []), StackedMLP(*parts[1:])

    def novelty(self, observation: Tensor) -> Tensor:
        """See `ExplorationBonus.novelty`; the predictor learns after the errors are taken."""
        features = self._target(observation)
        errors = (self._predictor(observation) - features).square().mean(-1)
        for start in range(_MINIBATCHES):
            rows = slice(start, None, _MINIBATCHES)
            difference = self._predictor.forward(observation[:, rows].contiguous()) - features[:, rows]
            self._predictor.backward(2.0 * difference / difference[0].numel())
            self._optimiser.step(self._gradient)
        return errors

    def keep(self, rows: list[int]) -> None:
        """See `ExplorationBonus.keep`."""
        super().keep(rows)
        self._build(self._target_flat[rows], self._predictor_flat[rows])
        self._optimiser.keep(self._predictor_flat, rows)


def _random(shapes: dict[str, tuple[int, ...]], generator: torch.Generator) -> Tensor:
    """Return parameters (P,): orthogonal weights, and normal biases, which tell near observations from far ones."""
    parts = [torch.randn(shape, generator=generator, device=generator.device) for shape in shapes.values()]
    for weight in parts[::2]:
        torch.nn.init.orthogonal_(weight, sqrt(2), generator=generator)
    return torch.cat([part.flatten() for part in parts])


class HashCount(ExplorationBonus):
    """1 / sqrt(n) for n visits of a cell, signs of random projections with offsets (SimHash; Tang et al. 2017)."""

    def __init__(self, observation: int, settings: PpoSettings, generators: Sequence[torch.Generator]) -> None:
        super().__init__(settings, generators)
        self._shapes = layer_shapes("bits", (observation, _BITS))
        self._projections = torch.stack([_random(self._shapes, source) for source in generators])
        self._counts = torch.zeros(len(generators), 2**_BITS, dtype=torch.float64, device=self._projections.device)

    def novelty(self, observation: Tensor) -> Tensor:
        """See `ExplorationBonus.novelty`."""
        projected = StackedMLP(layers(views(self._shapes, self._projections), "bits"), [])(observation)
        cells = ((projected > 0.0) * 2 ** torch.arange(_BITS, device=projected.device)).sum(-1)
        self._counts.scatter_add_(1, cells, torch.ones_like(cells, dtype=torch.float64))
        return self._counts.gather(1, cells).rsqrt().float()

    def keep(self, rows: list[int]) -> None:
        """See `ExplorationBonus.keep`."""
        super().keep(rows)
        self._projections, self._counts = self._projections[rows], self._counts[rows]


BONUSES = {"rnd": Distillation, "count": HashCount}
"""Name of a bonus in the settings to its class."""
