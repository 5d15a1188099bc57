"""Networks of many slices, stacked along a leading axis, differentiated by autograd.

Shapes: S slices, B rows, P parameters per slice. A slice's products are the same to the last bit alone and among
others, as long as B is a multiple of `LINE` and the hidden layers are of half of it; see `rewardgen.training.ppo.mlp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, pi

import torch
from torch import Tensor
from torch.nn.functional import layer_norm, softplus

from rewardgen.training.ppo.mlp import Weights
from rewardgen.training.ppo.networks import layer_shapes, layers, views

LINE = 32
"""Rows are a multiple of this, or a slice's last ones would be rounded otherwise than its first ones."""
_LOG_STD_RANGE = (-5.0, 2.0)
_LOG_STD_OFFSET = 0.3
"""Shift of the network's output, which begins at 0: policies begin with a standard deviation of 0.6."""


class StackedNetwork:
    """S perceptrons of the same widths, with ReLU between the layers and, if `normalised`, LayerNorm before it."""

    def __init__(self, widths: Sequence[int], flat: Tensor, *, normalised: bool = False) -> None:
        self._shapes = layer_shapes("", widths)
        self._normalised = normalised
        self.flat = flat.detach().clone().requires_grad_()
        """All parameters (S, P)."""

    def layers(self, flat: Tensor) -> list[Weights]:
        """Weight (S, in, out) and bias (S, 1, out) of each layer, as views of parameters (S, P)."""
        return layers(views(self._shapes, flat), "")

    def __call__(self, rows: Tensor, *, frozen: bool = False) -> Tensor:
        """Outputs (S, B, out) for inputs (S, B, in); `frozen` parameters get no gradient."""
        *hidden, (weight, bias) = self.layers(self.flat.detach() if frozen else self.flat)
        for inner, shift in hidden:
            rows = torch.baddbmm(shift, rows, inner)
            if self._normalised:
                rows = layer_norm(rows, rows.shape[-1:])
            rows = rows.relu()
        return torch.baddbmm(bias, rows, weight)


def drawn_actions(output: Tensor, noise: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Actions in (-1, 1) and their means (S, B, A), and the actions' log densities (S, B).

    `output` (S, B, 2 A) of the policy network is the mean and the log standard deviation of a Gaussian, the latter
    brought to its range; its samples by `noise` (S, B, A) are squashed by a tanh (Haarnoja et al. 2018, appendix C).
    """
    mean, raw = output.chunk(2, dim=-1)
    low, high = _LOG_STD_RANGE
    log_std = low + 0.5 * (high - low) * ((raw + _LOG_STD_OFFSET).tanh() + 1.0)
    sample = mean + noise * log_std.exp()
    density = -0.5 * noise.square() - log_std - 0.5 * log(2 * pi)
    squashing = 2.0 * (log(2.0) - sample - softplus(-2.0 * sample))
    return sample.tanh(), mean.tanh(), (density - squashing).sum(-1)
