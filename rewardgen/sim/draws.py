"""Random numbers with one stream per env, independent of the envs that are drawn together."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from rewardgen.sim.tensors import constant

Bound = float | Sequence[float] | Tensor
_GOLDEN = 0x9E3779B97F4A7C15


class Draws:
    """Random numbers for n envs, one stream each: SplitMix64 (Steele, Lea and Flood, 2014) of (stream, position).

    An env draws the same numbers whichever envs are drawn with it. `streams` are (n,) int64, from `stream_keys`; the
    difficulty of the starts is in (0, 1], see `VecEnv.ease`.
    """

    def __init__(self, streams: Tensor, difficulty: float = 1.0) -> None:
        self.difficulty = difficulty
        self._streams = streams
        self._position = 1
        self.num_envs = len(streams)
        self.device = streams.device

    def uniform(self, low: Bound, high: Bound, size: int) -> Tensor:
        """Uniform numbers in [low, high), (n, size) float64; a bound may be a number or (size,) of them."""
        lower, upper = self._bound(low), self._bound(high)
        return lower + (upper - lower) * self._unit(size)

    def normal(self, std: Bound, size: int) -> Tensor:
        """Normal numbers with mean zero, (n, size) float64 (Box and Muller, 1958)."""
        squared = torch.special.xlog1py(-2.0, -self._unit(size))
        if self.device.type == "cpu":  # MKL's real square root, which torch takes here, may be off by the last bit
            radius = torch.complex(squared, torch.zeros_like(squared)).sqrt().real
        else:  # torch would compile a complex square root first
            radius = squared.sqrt()
        angle = 2.0 * math.pi * self._unit(size)
        return self._bound(std) * radius * angle.cos()

    def _bound(self, value: Bound) -> float | Tensor:
        if isinstance(value, int | float):
            return float(value)
        return value.to(self.device, torch.float64) if isinstance(value, Tensor) else constant(value, self.device)

    def _unit(self, size: int) -> Tensor:
        positions = torch.arange(self._position, self._position + size, device=self.device)
        self._position += size
        bits = _mix(self._streams.unsqueeze(1) + positions * _signed(_GOLDEN))
        return _shifted(bits, 11).double() * 2.0**-53


def stream_keys(seeds: Tensor, *labels: Tensor) -> Tensor:
    """Return keys of independent streams, (n,) int64, one per row of (seed, label, ...), (n,) int64 each."""
    keys = _mix(seeds + _signed(_GOLDEN))
    for label in labels:
        keys = _mix(keys + (label + 1) * _signed(_GOLDEN))
    return keys


def _mix(values: Tensor) -> Tensor:
    values = (values ^ _shifted(values, 30)) * _signed(0xBF58476D1CE4E5B9)
    values = (values ^ _shifted(values, 27)) * _signed(0x94D049BB133111EB)
    return values ^ _shifted(values, 31)


def _shifted(values: Tensor, bits: int) -> Tensor:
    """Shift int64 values to the right as if they were unsigned."""
    return (values >> bits) & ((1 << (64 - bits)) - 1)


def _signed(value: int) -> int:
    """Return the int64 with the bits of an unsigned number, because torch multiplies no uint64."""
    return value - (1 << 64) if value >> 63 else value
