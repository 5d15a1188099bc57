"""The learning half of a batch of slices: networks, optimiser, normalisers. Knows no environment and no reward code.

Shapes: T steps, S slices, N envs per slice.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from rewardgen.training.ppo import update as ppo
from rewardgen.training.ppo.bonus import BONUSES
from rewardgen.training.ppo.networks import ActorCritic, NetworkSizes, initial_parameters
from rewardgen.training.ppo.policy import StackedPolicy
from rewardgen.training.ppo.settings import PpoSettings
from rewardgen.training.shared.adam import StackedAdam
from rewardgen.training.shared.normaliser import ObservationNormaliser, RewardScaler, RunningMoments
from rewardgen.training.shared.rollout import Rollout
from rewardgen.training.shared.seeding import slice_generators


class Learner:
    """PPO for S slices; see `rewardgen.training.shared.batch.SliceLearner`."""

    def __init__(
        self,
        observation: int,
        action: int,
        seeds: Sequence[int],
        settings: PpoSettings,
        device: torch.device,
    ) -> None:
        self._settings = settings
        sizes = NetworkSizes(observation, action, settings.hidden)
        initial = initial_parameters(sizes, slice_generators(seeds, "networks", device), settings.initial_std)
        self.networks = ActorCritic(sizes, initial)
        self.normaliser = ObservationNormaliser(RunningMoments.zeros(len(seeds), sizes.observation, device))
        rates = self.networks.rates(settings.value_rate, settings.std_rate)
        self._optimiser = StackedAdam(self.networks.flat, settings.learning_rate, settings.max_grad_norm, rates)
        self._scaler = RewardScaler(len(seeds), settings.num_envs, settings.discount, device)
        sources = slice_generators(seeds, "bonus", device)
        self._bonus = BONUSES[settings.bonus](observation, settings, sources) if settings.bonus else None
        self.bonus_shares: Sequence[float] = ()
        self._steps = 0
        self._orders = slice_generators(seeds, "minibatches", device)

    def act(self, observation: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """See `SliceLearner.act`."""
        mean = self.networks.policy(self.normaliser(observation))
        return mean + noise * self.networks.log_std.exp(), mean

    def policies(self, low: Tensor, high: Tensor, choices: Sequence[int]) -> StackedPolicy:
        """See `SliceLearner.policies`."""
        return StackedPolicy(self.networks, self.normaliser, low, high, choices)

    def learn(self, rollout: Rollout, reward: Tensor) -> list[float]:
        """See `SliceLearner.learn`."""
        # The old policy's probabilities are those of the actions as they were drawn, so the newest moments may be used.
        self.normaliser.update(_rows(rollout.observation))
        settings, observation = self._settings, self.normaliser(_rows(rollout.observation))
        final_observation = self.normaliser(_rows(rollout.final_observation))
        reward = self._scaler(reward, rollout.done) if settings.normalise_reward else reward
        if self._bonus:
            reward, self.bonus_shares = self._bonus.added(reward, final_observation, rollout.done)
        log_std = self.networks.log_std.clone()
        begins = settings.anneal_from * settings.env_steps
        annealed = min(1.0, max(0.0, self._steps - begins) / (settings.env_steps - begins))
        settings = settings.model_copy(update={"target_kl": (1.0 - settings.anneal * annealed) * settings.target_kl})
        self._steps += reward.shape[0] * reward.shape[2]
        times, epochs = (settings.epochs, 1) if settings.recompute_advantages else (1, settings.epochs)
        for _ in range(times):
            value = self._values(observation, reward)
            advantage = generalised_advantages(
                reward,
                value,
                self._values(final_observation, reward),
                rollout.terminated,
                rollout.done,
                settings.discount,
                settings.gae_lambda,
            )
            transitions = ppo.Transitions(
                observation=observation,
                action=_rows(rollout.action),
                mean=_rows(rollout.mean),
                log_std=log_std,
                advantage=_rows(advantage),
                target=_rows(advantage + value),
            )
            ppo.update(self.networks, self._optimiser, transitions, settings, self._orders, epochs)
        return self._scaler.clipped.tolist()

    @torch.no_grad()
    def _values(self, observation: Tensor, like: Tensor) -> Tensor:
        """Values (T, S, N) of normalised observations (S, T * N, O)."""
        steps, _, num_envs = like.shape
        return self.networks.value(observation).unflatten(1, (steps, num_envs)).transpose(0, 1)

    def diverged(self) -> list[int]:
        """See `SliceLearner.diverged`."""
        return (~self.networks.flat.isfinite().all(1)).nonzero()[:, 0].tolist()

    def keep(self, kept: Sequence[int]) -> None:
        """See `SliceLearner.keep`."""
        rows = list(kept)
        self.networks = ActorCritic(self.networks.sizes, self.networks.flat[rows])
        self.normaliser = ObservationNormaliser(self.normaliser.moments.of_slices(rows))
        self._optimiser.keep(self.networks.flat, rows)
        self._scaler.keep(rows)
        if self._bonus:
            self._bonus.keep(rows)
        self._orders = [self._orders[row] for row in rows]


def _rows(values: Tensor) -> Tensor:
    """(T, S, N, ...) as (S, T * N, ...)."""
    return values.transpose(0, 1).flatten(1, 2)


def generalised_advantages(
    reward: Tensor,
    value: Tensor,
    next_value: Tensor,
    terminated: Tensor,
    done: Tensor,
    discount: float,
    gae_lambda: float,
) -> Tensor:
    """Generalised advantage estimation (Schulman et al. 2016), (T, ...); value targets are `advantages + value`.

    A terminated episode is worth nothing afterwards; a truncated one is bootstrapped with `next_value`, the value of
    its final observation. Neither lets the next episode's advantages leak in. All tensors are (T, ...).
    """
    delta = reward + discount * next_value * ~terminated - value
    decay = discount * gae_lambda * ~done
    advantages = torch.empty_like(delta)
    running = torch.zeros_like(delta[0])
    for step in reversed(range(len(delta))):
        running = delta[step] + decay[step] * running
        advantages[step] = running
    return advantages
