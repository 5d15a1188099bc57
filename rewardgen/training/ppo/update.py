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

_BETAS = (0.9, 0.999)
_EPSILON = 1e-5
_RATE_RANGE = (1e-5, 1e-2)


class StackedAdam:
    """Adam (Kingma and Ba 2015). One step over (S, P) equals S separate optimisers' steps, as Adam is elementwise.

    Changes the parameters `flat` (S, P) in place. `rates` (P,) are learning rates relative to a slice's own; each
    slice's gradient is scaled down to `max_grad_norm`.
    """

    def __init__(self, flat: Tensor, learning_rate: float, max_grad_norm: float, rates: Tensor | None = None) -> None:
        self._flat = flat
        self._rates = torch.ones_like(flat[0]) if rates is None else rates
        self._first = torch.zeros_like(flat)
        self._second = torch.zeros_like(flat)
        self._steps = 0
        self._max_grad_norm = max_grad_norm
        self.learning_rate = torch.full_like(flat[:, :1], learning_rate)

    def keep(self, flat: Tensor, rows: list[int]) -> None:
        """Drop all other slices; the parameters of the rest are now in `flat`."""
        self._flat = flat
        self._first, self._second = self._first[rows], self._second[rows]
        self.learning_rate = self.learning_rate[rows]

    @torch.no_grad()
    def step(self, gradient: Tensor) -> None:
        """Change the parameters by a gradient (S, P); one that is not finite makes its slice's parameters NaN."""
        norm = gradient.norm(dim=1, keepdim=True)
        # Clipping an infinite norm would give steps of zero: a slice that silently never learns.
        norm = norm.masked_fill(~norm.isfinite(), torch.nan)
        gradient = gradient * (self._max_grad_norm / (norm + 1e-6)).clamp(max=1.0)
        self._steps += 1
        self._first.lerp_(gradient, 1 - _BETAS[0])
        self._second.mul_(_BETAS[1]).addcmul_(gradient, gradient, value=1 - _BETAS[1])
        corrected = (self._second / (1 - _BETAS[1] ** self._steps)).sqrt_().add_(_EPSILON)
        rates = self.learning_rate / (1 - _BETAS[0] ** self._steps) * self._rates
        self._flat.addcdiv_(self._first * rates, corrected, value=-1)

    def adapt(self, divergence: Tensor, target: float) -> None:
        """Steer each learning rate towards a target KL divergence per update, from the measured one (S,).

        As in Rudin et al. 2022, "Learning to Walk in Minutes".
        """
        rate = self.learning_rate
        divergence = divergence.unsqueeze(1)
        rate = torch.where(divergence > 2 * target, rate / 1.5, rate)
        rate = torch.where(divergence < target / 2, rate * 1.5, rate)
        self.learning_rate = rate.clamp(*_RATE_RANGE)


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
