"""The learning half of a batch of slices: soft actor-critic (Haarnoja et al. 2018) of many slices at once.

Beside the original: returns over several steps, critics with LayerNorm, few updates per control step, rewards scaled by
the running deviation of the return. Timeouts are no ends.

Shapes: T steps, S slices, N envs per slice, B rows of an update, O observation size, A action size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from rewardgen.training.mlp_policy import MlpPolicy
from rewardgen.training.policies import InTurn
from rewardgen.training.ppo.networks import initial
from rewardgen.training.sac.networks import LINE, StackedNetwork, drawn_actions
from rewardgen.training.sac.replay import Replay, Sampled
from rewardgen.training.sac.settings import SacJob, SacSettings
from rewardgen.training.shared.adam import StackedAdam
from rewardgen.training.shared.batch import train_batch
from rewardgen.training.shared.normaliser import ObservationNormaliser, RewardScaler, RunningMoments
from rewardgen.training.shared.rollout import Rollout
from rewardgen.training.shared.seeding import slice_generators
from rewardgen.training.shared.slices import Report

_CRITICS = 2
"""Critics of a slice; the lower estimate counts (Fujimoto et al. 2018)."""


class SacLearner:
    """SAC for S slices; see `rewardgen.training.shared.batch.SliceLearner`."""

    bonus_shares: Sequence[float] = ()

    def __init__(
        self, observation: int, action: int, seeds: Sequence[int], settings: SacSettings, device: torch.device
    ) -> None:
        self._settings, self._action = settings, action
        sources = slice_generators(seeds, "networks", device)
        actor = (observation, *settings.hidden, 2 * action)
        critic = (observation + action, *settings.hidden, 1)
        self._actor = StackedNetwork(actor, torch.stack([initial(actor, 0.01, source) for source in sources]))
        pairs = [initial(critic, 1.0, source) for source in sources for _ in range(_CRITICS)]
        self._critics = StackedNetwork(critic, torch.stack(pairs), normalised=True)
        self._targets = StackedNetwork(critic, self._critics.flat, normalised=True)
        self._log_temperature = torch.full((len(seeds), 1), settings.temperature, device=device).log()
        self._actor_adam, self._critic_adam, self._temperature_adam = (
            StackedAdam(flat, settings.learning_rate, torch.inf)
            for flat in (self._actor.flat, self._critics.flat, self._log_temperature)
        )
        self._normaliser = ObservationNormaliser(RunningMoments.zeros(len(seeds), observation, device))
        self._scaler = RewardScaler(len(seeds), settings.num_envs, settings.discount, device)
        steps = min(settings.replay, settings.max_env_steps) // settings.num_envs
        steps = max(steps, settings.rollout_steps + settings.n_step)
        self._replay = Replay(steps, len(seeds), settings.num_envs, (observation, action), device)
        self._sources = slice_generators(seeds, "updates", device)
        self._steps = self._updates = 0
        self._random_steps = min(settings.random_steps, settings.env_steps // 10)

    @torch.no_grad()
    def act(self, observation: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """See `SliceLearner.act`."""
        rows = observation.shape[1]
        observation, noise = (pad(part, (0, 0, 0, -rows % LINE)) for part in (self._normaliser(observation), noise))
        if self._steps < self._random_steps:
            action = torch.erf(noise / 2**0.5)  # uniform
            mean = torch.zeros_like(action)
        else:
            action, mean, _ = drawn_actions(self._actor(observation), noise)
        return action[:, :rows], mean[:, :rows]

    def learn(self, rollout: Rollout, reward: Tensor) -> list[float]:
        """See `SliceLearner.learn`."""
        settings = self._settings
        self._normaliser.update(rollout.observation.transpose(0, 1).flatten(1, 2))
        self._scaler.update(reward, rollout.done)
        self._replay.add(rollout, reward)
        before, self._steps = self._steps, self._steps + reward.shape[0] * reward.shape[2]
        rounds = self._steps // settings.steps_per_update - before // settings.steps_per_update
        if self._steps >= self._random_steps and self._replay.stored >= settings.n_step:
            self._update(rounds)
        return self._scaler.clipped.tolist()

    def _update(self, rounds: int) -> None:
        settings = self._settings
        size = settings.batch
        drawn = self._replay.sample(rounds * size, settings.n_step, settings.discount, self._scaler, self._sources)
        drawn = drawn._replace(
            observation=self._normaliser(drawn.observation), next_observation=self._normaliser(drawn.next_observation)
        )
        shape = (2, rounds * size, self._action)
        noise = torch.stack([torch.randn(shape, generator=source, device=source.device) for source in self._sources], 1)
        for start in range(0, rounds * size, size):
            rows = slice(start, start + size)
            part = Sampled(*(whole[:, rows] for whole in drawn))
            self._improve_critics(part, noise[0, :, rows])
            self._updates += 1
            if self._updates % settings.policy_delay == 0:
                self._improve_policy(part.observation, noise[1, :, rows])

    def _improve_critics(self, drawn: Sampled, noise: Tensor) -> None:
        """Update the critics once, and their targets; `noise` (S, B, A) draws the actions that come next."""
        with torch.no_grad():
            action, _, density = drawn_actions(self._actor(drawn.next_observation), noise)
            entropy = -self._log_temperature.exp() * density
            value = self._lower(self._targets, drawn.next_observation, action) + entropy
            target = (drawn.reward + drawn.discount * value).repeat_interleave(_CRITICS, 0)
        loss = (self._estimates(self._critics, drawn.observation, drawn.action) - target).square().mean(1).sum()
        self._critic_adam.step(*torch.autograd.grad(loss, self._critics.flat))
        with torch.no_grad():
            self._targets.flat.lerp_(self._critics.flat, self._settings.target_rate)

    def _improve_policy(self, observation: Tensor, noise: Tensor) -> None:
        """Update the policy and the temperature once; `noise` (S, B, A) draws actions."""
        settings = self._settings
        action, _, density = drawn_actions(self._actor(observation), noise)
        gain = self._lower(self._critics, observation, action, frozen=True) - self._log_temperature.exp() * density
        self._actor_adam.step(*torch.autograd.grad(-gain.mean(1).sum(), self._actor.flat))
        surplus = -density.detach() - settings.entropy_per_action * self._action
        self._temperature_adam.step(surplus.mean(1, keepdim=True))

    def _estimates(
        self, critics: StackedNetwork, observation: Tensor, action: Tensor, *, frozen: bool = False
    ) -> Tensor:
        """Returns by each critic (2 S, B)."""
        rows = torch.cat([observation, action], dim=-1).repeat_interleave(_CRITICS, 0)
        return critics(rows, frozen=frozen).squeeze(-1)

    def _lower(self, critics: StackedNetwork, observation: Tensor, action: Tensor, *, frozen: bool = False) -> Tensor:
        """The lower estimate (S, B) of two critics."""
        return self._estimates(critics, observation, action, frozen=frozen).unflatten(0, (-1, _CRITICS)).amin(1)

    def diverged(self) -> list[int]:
        """See `SliceLearner.diverged`."""
        finite = self._actor.flat.isfinite().all(1) & self._critics.flat.isfinite().all(1).view(-1, _CRITICS).all(1)
        return (~finite).nonzero()[:, 0].tolist()

    def keep(self, kept: Sequence[int]) -> None:
        """See `SliceLearner.keep`."""
        rows = list(kept)
        pairs = [_CRITICS * row + number for row in rows for number in range(_CRITICS)]
        for network, chosen in ((self._actor, rows), (self._critics, pairs), (self._targets, pairs)):
            network.flat = network.flat.detach()[chosen].requires_grad_()
        self._log_temperature = self._log_temperature[rows]
        self._actor_adam.keep(self._actor.flat, rows)
        self._critic_adam.keep(self._critics.flat, pairs)
        self._temperature_adam.keep(self._log_temperature, rows)
        self._normaliser = ObservationNormaliser(self._normaliser.moments.of_slices(rows))
        self._scaler.keep(rows)
        self._replay.keep(rows)
        self._sources = [self._sources[row] for row in rows]

    def policies(self, low: Tensor, high: Tensor, choices: Sequence[int]) -> InTurn:
        """See `SliceLearner.policies`; it learns no choices."""
        return InTurn([self._policy(row, low[row], high[row]) for row in range(len(low))])

    def _policy(self, row: int, low: Tensor, high: Tensor) -> MlpPolicy:
        parts = self._actor.layers(self._actor.flat.detach())
        *hidden, (weight, bias) = [(weight[row].T.contiguous(), bias[row, 0]) for weight, bias in parts]
        return MlpPolicy(
            layers=(*hidden, (weight[: self._action], bias[: self._action])),
            activation="relu",
            squash="tanh",
            choices=(),
            mean=self._normaliser.moments.mean[row],
            variance=self._normaliser.moments.variance[row],
            action_low=low,
            action_high=high,
        )


def train_sac_job(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Train all slices of a `SacJob`: a worker job; see `train_batch`."""
    return train_batch(SacJob.model_validate(payload), SacLearner, report)
