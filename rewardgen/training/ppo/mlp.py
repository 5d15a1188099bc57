"""A stacked multilayer perceptron with tanh layers, its backward pass written out.

Autograd would allocate every activation and gradient anew and pass over them once more than needed; with the passes
written out, over buffers that are used again and stay in the cache, an update takes about half the time.

Shapes: S slices, B rows, I inputs, H hidden units, O outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class Layer(NamedTuple):
    """The parameters of one layer, or their gradients.

    Args:
        weight: (S, I, O).
        bias: (S, 1, O).
    """

    weight: Tensor
    bias: Tensor


class StackedMLP:
    """S perceptrons of the same sizes; all layers but the last end in a tanh.

    Args:
        layers: Their parameters, which may change between calls.
        gradients: Where `backward` writes the parameters' gradients.
    """

    def __init__(self, layers: Sequence[Layer], gradients: Sequence[Layer]) -> None:
        self._layers = layers
        self._gradients = gradients
        self._inputs: list[Tensor] = []
        self._hidden: list[Tensor] = []
        self._deltas: list[Tensor] = []

    def __call__(self, rows: Tensor) -> Tensor:
        """Outputs (S, B, O) for inputs (S, B, I); nothing is kept for a backward pass."""
        *hidden, last = self._layers
        for layer in hidden:
            rows = _tanh_of_half_(torch.baddbmm(layer.bias, rows, layer.weight, beta=2, alpha=2))
        return torch.baddbmm(last.bias, rows, last.weight)

    def forward(self, rows: Tensor) -> Tensor:
        """Outputs (S, B, O) for inputs (S, B, I), which must stay as they are until `backward`."""
        self._make_room(rows.shape[1])
        *hidden, last = self._layers
        self._inputs = [rows, *self._hidden]
        for layer, given, buffer in zip(hidden, self._inputs, self._hidden, strict=False):
            _tanh_of_half_(torch.baddbmm(layer.bias, given, layer.weight, beta=2, alpha=2, out=buffer))
        return torch.baddbmm(last.bias, self._inputs[-1], last.weight)

    def backward(self, gradient: Tensor) -> None:
        """Gradients of the parameters, from the gradient (S, B, O) of what `forward` returned last."""
        for index in reversed(range(len(self._layers))):
            weight_gradient, bias_gradient = self._gradients[index]
            # Into a tensor of its own: the batched product is slow into a view that is not contiguous.
            weight_gradient.copy_(torch.bmm(self._inputs[index].transpose(1, 2), gradient))
            torch.sum(gradient, 1, keepdim=True, out=bias_gradient)
            if index:
                delta, activation = self._deltas[index - 1], self._hidden[index - 1]
                torch.bmm(gradient, self._layers[index].weight.transpose(1, 2), out=delta)
                gradient = torch.ops.aten.tanh_backward.grad_input(delta, activation, grad_input=delta)

    def _make_room(self, rows: int) -> None:
        shapes = [(len(bias), rows, bias.shape[2]) for _, bias in self._layers[:-1]]
        if [tuple(each.shape) for each in self._hidden] != shapes:
            self._hidden = [torch.empty(shape) for shape in shapes]
            self._deltas = [torch.empty(shape) for shape in shapes]


def _tanh_of_half_(doubled: Tensor) -> Tensor:
    """tanh(x) from 2 x, in place: 2 sigmoid(2 x) - 1, which torch computes four times as fast on a CPU as its tanh."""
    return doubled.sigmoid_().mul_(2).sub_(1)
