"""Caps on one call of a reward: elements of a tensor and loop iterations. The worker's limits do the rest."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode

MAX_ITERATIONS = 10_000
"""Loop iterations in one call of a reward."""
_TOO_MANY = f"more than {MAX_ITERATIONS} loop iterations in one call"
_ELEMENTS = 1_000_000
_ELEMENTS_PER_ENV = 256
_INPUTS_PER_ENV = 4
"""Elements of a tensor per env, relative to the largest input."""
_FACTORIES = frozenset(["zeros", "ones", "full", "new_zeros", "new_ones", "new_full"])
_REPEATING = frozenset(["repeat", "tile", "repeat_interleave"])


class SizeError(ValueError):
    """A tensor has too many elements."""


class Caps(TorchFunctionMode):
    """Raise an error where a tensor is too large, before its allocation where the size is cheap to predict.

    The limits grow with the inputs of the call, (N, ...) each.
    """

    def __init__(self, inputs: Iterable[Tensor] = ()) -> None:
        super().__init__()
        tensors = list(inputs)
        num_envs = len(tensors[0]) if tensors else 0
        largest = max((math.prod(tensor.shape[1:]) for tensor in tensors), default=1)
        self._elements = _ELEMENTS + max(_ELEMENTS_PER_ENV, _INPUTS_PER_ENV * largest) * num_envs
        self._iterations = MAX_ITERATIONS

    def counted(self, items: Iterable[Any]) -> Iterator[Any]:
        """Iterate over the items of a loop, and count them."""
        for item in items:
            self._iterations -= 1
            if self._iterations < 0:
                raise ValueError(_TOO_MANY)
            yield item

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function of torch, and check the size of its result."""
        options = kwargs or {}
        self._check(_requested(getattr(func, "__name__", ""), args, options))
        result = func(*args, **options)
        for value in result if isinstance(result, list | tuple) else (result,):
            if isinstance(value, Tensor):
                self._check(value.numel())
        return result

    def _check(self, elements: int) -> None:
        if elements > self._elements:
            raise SizeError(f"a tensor of {elements:.3g} elements is too large, the limit is {self._elements}")


def bounded_range(*bounds: int) -> range:
    """Return a range; raise a ValueError if it is longer than loops may be: no time limit interrupts its `sum`."""
    numbers = range(*bounds)
    if len(numbers) > MAX_ITERATIONS:
        raise ValueError(_TOO_MANY)
    return numbers


def _requested(name: str, operands: tuple[Any, ...], options: Mapping[str, Any]) -> int:
    """Return the size of the result of a factory, a repetition or a broadcast of two tensors; else 0 [elements]."""
    if name in _FACTORIES or name in _REPEATING:
        first = operands[0] if operands and isinstance(operands[0], Tensor) else None
        rest = [*(operands if first is None else operands[1:]), *(options.get(key) for key in ("size", "repeats"))]
        sizes = rest[:1] if name.endswith("full") or name == "repeat_interleave" else rest
        count = math.prod(size for size in _integers(sizes) if size >= 0)
        return count * first.numel() if first is not None and name in _REPEATING else count
    if len(operands) == 2 and isinstance(operands[0], Tensor) and isinstance(operands[1], Tensor):
        # `torch.broadcast_shapes` imports modules at its first call, which change the process's warning filters.
        pairs = [*zip_longest(*(reversed(operand.shape) for operand in operands), fillvalue=1)]
        if operands[0].shape != operands[1].shape and all(
            one == other or 1 in (one, other) for one, other in pairs
        ):  # operands of a matrix product may differ
            return math.prod(0 if 0 in pair else max(pair) for pair in pairs)
    return 0


def _integers(values: Iterable[Any]) -> Iterator[int]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from _integers(value)
        elif isinstance(value, int):
            yield value
