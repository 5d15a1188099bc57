"""Proximal policy optimisation (Schulman et al. 2017) of many slices at once: losses and updates.

Shapes: S slices, B rows (transitions) per slice, O observation size, A action size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from rewardgen.training.ppo.networks import ActorCritic, kl_divergence, log_probability
from rewardgen.training.ppo.settings import PpoSettings
from rewardgen.training.shared.adam import StackedAdam


@dataclass(frozen=True)
class Transitions:
    """The data of an update, flattened over time and envs."""

    observation: Tensor  # normalised, (S, B, O)
    action: Tensor  # in units of half the action range, before clipping, (S, B, A)
    mean: Tensor  # of the behaviour policy, (S, B, A)
    log_std: Tensor  # of the behaviour policy, (S, 1, A)
    advantage: Tensor  # (S, B)
    target: Tensor  # of the value network, (S, B)

    def packed(self) -> Tensor:
        """One tensor (S, B, O + 2 A + 3) of everything drawn by row: a minibatch is one gather."""
        log_old = log_probability(self.action, self.mean, self.log_std)
        columns = [self.observation, self.action, self.mean]
        scalars = torch.stack([log_old, self.advantage, self.target], dim=-1)
        return torch.cat([*columns, scalars], dim=-1)


def update(
    networks: ActorCritic,
    optimiser: StackedAdam,
    transitions: Transitions,
    settings: PpoSettings,
    generators: Sequence[torch.Generator],
    epochs: int,
) -> None:
    """Improve the networks in place by some epochs of minibatches, adapting every slice's learning rate."""
    packed = transitions.packed()
    slices, rows, columns = packed.shape
    packed = packed.view(slices * rows, columns)
    offset = torch.arange(slices, device=packed.device).unsqueeze(1) * rows
    size = rows // settings.minibatches
    for _ in range(epochs):
        orders = [torch.randperm(rows, generator=source, device=source.device) for source in generators]
        order = torch.stack(orders) + offset
        for start in range(0, size * settings.minibatches, size):
            chosen = order[:, start : start + size]
            batch = packed.index_select(0, chosen.reshape(-1)).view(slices, size, columns)
            _minibatch_step(networks, optimiser, batch, transitions.log_std, settings)


def _minibatch_step(
    networks: ActorCritic, optimiser: StackedAdam, batch: Tensor, old_log_std: Tensor, settings: PpoSettings
) -> None:
    observation, action, old_mean, scalars = batch.split(
        [networks.sizes.observation, networks.sizes.action, networks.sizes.action, 3], dim=-1
    )
    log_old, advantage, target = scalars.unbind(-1)
    log_std = networks.log_std.detach().requires_grad_()
    mean, value = (output.requires_grad_() for output in networks.forward(observation))
    ratio = torch.exp(log_probability(action, mean, log_std) - log_old)
    policy_loss = clipped_objective(ratio, normalised(advantage), settings.clip)
    value_loss = (value - target).square().mean(-1)
    loss = -policy_loss + 0.5 * settings.value_coefficient * value_loss
    if settings.entropy_coefficient:
        loss = loss - settings.entropy_coefficient * log_std.sum((-1, -2))
    gradients = torch.autograd.grad(loss.sum(), (mean, log_std, value))
    with torch.no_grad():
        optimiser.adapt(kl_divergence(old_mean, old_log_std, mean, log_std), settings.target_kl)
    optimiser.step(networks.backward(*gradients))


def clipped_objective(ratio: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """PPO's pessimistic surrogate (S,), to be maximised; `ratio` (S, B) is new over old action probability."""
    return torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean(-1)


def normalised(advantage: Tensor) -> Tensor:
    """Advantages (S, B) with zero mean and unit standard deviation in each slice."""
    spread, mean = torch.std_mean(advantage, dim=-1, keepdim=True)
    return (advantage - mean) / (spread + 1e-8)
