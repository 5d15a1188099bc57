"""Adam for many slices at once.

Shapes: S slices, P parameters per slice.
"""

from __future__ import annotations

import torch
from torch import Tensor

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
