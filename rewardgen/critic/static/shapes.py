"""Shapes of results, where the shapes of operands are known."""

from __future__ import annotations

from collections.abc import Sequence

from rewardgen.critic.static.value import WORLDS, Shape

MAX_SIZE = 10**12
"""Of an axis, and of all together: no tensor is as large."""


def broadcast(a: Shape, b: Shape) -> Shape:
    """Shape of an operation on two tensors; None if it is unknown or fails."""
    if a is None or b is None or clashes(a, b):
        return None
    length = max(len(a), len(b))
    pairs = zip(_padded(a, length), _padded(b, length), strict=True)
    return tuple(y if x == 1 else x for x, y in pairs)


def clashes(a: Shape, b: Shape) -> bool:
    """Whether two shapes surely do not fit each other."""
    if a is None or b is None:
        return False
    length = max(len(a), len(b))
    return any(x != y and 1 not in (x, y) for x, y in zip(_padded(a, length), _padded(b, length), strict=True))


def reduced(shape: Shape, axes: Sequence[int] | None, keep: bool) -> Shape:
    """Shape after a reduction over some axes, or over all.

    Args:
        shape: Before.
        axes: None for all of them.
        keep: Whether each stays with size 1.
    """
    if shape is None:
        return None
    gone = set(range(len(shape))) if axes is None else {axis % len(shape) for axis in axes if shape}
    if keep:
        return tuple(1 if place in gone else size for place, size in enumerate(shape))
    return tuple(size for place, size in enumerate(shape) if place not in gone)


def removed(shape: Shape, axes: Sequence[int] | None) -> int | None:
    """How many entries a reduction takes together; None if unknown or if it reduces the worlds."""
    if shape is None:
        return None
    size = 1
    for place in range(len(shape)) if axes is None else axes:
        if not -len(shape) <= place < len(shape) or shape[place] == WORLDS:
            return None
        size *= shape[place]
    return size if size <= MAX_SIZE else None


def over_worlds(shape: Shape, axes: Sequence[int] | None) -> bool:
    """Whether a reduction surely takes different worlds together."""
    if shape is None or WORLDS not in shape:
        return False
    return axes is None or any(-len(shape) <= axis < len(shape) and shape[axis] == WORLDS for axis in axes)


def inserted(shape: Shape, axis: int, size: int) -> Shape:
    """Shape with a new axis."""
    if shape is None or not -len(shape) - 1 <= axis <= len(shape):
        return None
    place = axis % (len(shape) + 1)
    return (*shape[:place], size, *shape[place:])


def squeezed(shape: Shape, axis: int | None) -> Shape:
    """Shape without an axis of size 1, or without any."""
    if shape is None:
        return None
    if axis is None:
        return tuple(size for size in shape if size != 1)
    if not shape or not -len(shape) <= axis < len(shape) or shape[axis] != 1:
        return shape
    place = axis % len(shape)
    return (*shape[:place], *shape[place + 1 :])


def _padded(shape: tuple[int, ...], length: int) -> tuple[int, ...]:
    return (1,) * (length - len(shape)) + shape
