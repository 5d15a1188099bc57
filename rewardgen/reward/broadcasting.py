"""How many elements come of operands that are broadcast together, and of an index, before they are made."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection
from typing import Any

import torch
from torch import Tensor

SHAPED = (Tensor, list, tuple)
"""What has a shape."""


def broadcast(*operands: Any, **options: Any) -> int:
    """Elements of operands that are broadcast together, those in lists too; 0 where torch will tell that it cannot."""
    return _together({_shape_of(each) for each in (*operands, *options.values()) if isinstance(each, SHAPED)})


def _together(shapes: Collection[tuple[int, ...]]) -> int:
    count = 1
    for axis in itertools.zip_longest(*map(reversed, shapes), fillvalue=1):
        size = max(axis)
        if any(each != size and each != 1 for each in axis):
            return 0
        count *= size
    return count


def _shape_of(value: Any) -> tuple[int, ...]:
    """The shape of a tensor, or of a list of what is shaped like its first element."""
    if isinstance(value, Tensor):
        return value.shape
    return (len(value), *_shape_of(value[0])) if isinstance(value, list | tuple) and value else ()


def indexed(value: Tensor, places: tuple[Any, ...]) -> int:
    """How many elements `value[places]` has at most."""
    used = sum(map(_axes, places))
    kept = list(value.shape)
    axis, picked = 0, []
    for each in places:
        if each is Ellipsis:
            axis += max(0, value.ndim - used)
            continue
        if isinstance(each, Tensor) and each.dtype == torch.bool:
            picked.append((each.numel(),))
        elif isinstance(each, SHAPED):
            picked.append(_shape_of(each))
        for _ in range(_axes(each)):
            kept[axis : axis + 1] = [kept[axis]] if isinstance(each, slice) else [1]
            axis += 1
    return math.prod(kept) * _together(picked)


def _axes(place: Any) -> int:
    """How many axes a part of an index stands for."""
    if place is None or place is Ellipsis:
        return 0
    return place.ndim if isinstance(place, Tensor) and place.dtype == torch.bool else 1
