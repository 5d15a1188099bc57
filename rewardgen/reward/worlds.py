"""What a reward never gets to know: the number of worlds, and what a tensor holds, as a number of Python.

A reward that could tell how many worlds there are could do one thing for the probe and another in training. So a size
that the number of worlds decides is only handed on by a reward, as to `torch.zeros(n)`: nothing that it could compare,
count to or calculate with. And no tensor becomes a number, a yes or no, a text, an index of a list or a key of a dict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import torch
from torch import Tensor

COUNT_KEPT = "the number of worlds is only good as a size of tensors"
ONE_BY_ONE = "it goes through the worlds one by one"
NO_NUMBER = "a tensor is not a number of Python"
_OWN_SIZES = 256
"""Up to here a size may be that of a reward's own tables, unless it is the number of worlds itself."""
_FEW, _ALONE = 16, 2
"""With so few worlds, multiples of their number, and the number itself, may as well be the size of a small table."""
_KEYS = (str, int, float, bool, type(None))


class WorldCount:
    """A size that depends on the number of worlds. Whatever is done with it in Python is an error.

    But for one thing: N is N, so shapes can be compared.

    Args:
        size: The size.
        exact: Whether it is N itself, and not some other size that N decides.
    """

    __slots__ = ("exact", "size")
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __init__(self, size: int, exact: bool = False) -> None:
        self.size = size
        self.exact = exact

    def __eq__(self, other: object) -> bool:
        return (self.exact and isinstance(other, WorldCount) and other.exact) or self._refuse()

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    def _refuse(self, *_: Any) -> NoReturn:
        raise TypeError(COUNT_KEPT)

    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __str__ = __format__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __neg__ = __abs__ = __round__ = _refuse
    __int__ = __float__ = _refuse

    def __repr__(self) -> str:
        return "N"


class Sizes:
    """Tells the sizes of one call that depend on its worlds from those that do not.

    Args:
        worlds: N; 0 while a program is compiled, when nothing depends on them.
        parts: Sizes of the inputs' other axes.
        own: Tensors made of a reward's own numbers, by their id: their sizes say nothing of the worlds.

    Attributes:
        hidden: Whether some tensor's size depends on what tensors hold, or on N in a way that does not show in it, as
            that of `x[::1000]`: then no size is told any more.
    """

    __slots__ = ("_own", "_parts", "hidden", "worlds")

    def __init__(self, worlds: int, parts: frozenset[int] = frozenset(), own: Mapping[int, Tensor] = {}) -> None:
        self.worlds = worlds
        self.hidden = False
        self._parts = parts
        self._own = dict(own)

    def own(self, table: Any) -> Any:
        """Know a tensor as made of a reward's own numbers."""
        if isinstance(table, Tensor):
            self._own[id(table)] = table  # held, so that no other gets its address
        return table

    def is_own(self, value: Tensor) -> bool:
        """Whether a tensor is one of those."""
        return id(value) in self._own

    def told(self, size: int) -> Any:
        """A size as a reward may see it."""
        return WorldCount(size, size == self.worlds and not self.hidden) if self.depends(size) else size

    def depends(self, size: int) -> bool:
        """Whether a size depends on the number of worlds."""
        if not self.worlds or (size in self._parts and not self.hidden):
            return False
        multiple = size > 0 and size % self.worlds == 0 if self.worlds > _FEW else size == self.worlds > _ALONE
        return self.hidden or size > _OWN_SIZES or multiple

    def hide(self) -> None:
        """Tell no size any more in this call."""
        self.hidden = self.worlds > 0

    def shape(self, value: Tensor) -> tuple[Any, ...]:
        """`value.shape`."""
        return tuple(value.shape) if self.is_own(value) else tuple(map(self.told, value.shape))

    def keep(self, value: Any, result: Tensor) -> None:
        """Notice a result that is shorter along the worlds than what it was made of."""
        if isinstance(value, Tensor) and any(self.depends(size) and size not in result.shape for size in value.shape):
            self.hide()

    def joined(self, values: Sequence[Any], result: Tensor) -> None:
        """Notice worlds that were joined with something else, so that the size is no multiple of their number."""
        parts = [each.shape for each in values if isinstance(each, Tensor) and each.ndim == result.ndim]
        for axis, size in enumerate(result.shape):
            sizes = {each[axis] for each in parts}
            if size not in sizes and self.worlds and size % self.worlds and any(map(self.depends, sizes)):
                self.hide()

    def inferred(self, before: Iterable[int], asked: Sequence[Any], after: Iterable[int]) -> None:
        """Notice a size that was left to be inferred, and is a part of the number of worlds.

        Args:
            before: Sizes of the axes that are rearranged.
            asked: Those that were asked for, with -1 for one to be inferred.
            after: Those that there are then.
        """
        told = any(type(each) is WorldCount for each in asked)
        if told or -1 not in asked or not any(map(self.depends, before)):
            return
        if any(size % self.worlds for size in {*after}.difference(before, asked)):
            self.hide()

    def given(self, value: Any, *, hides: bool) -> Any:
        """An argument of torch: a size as a number again.

        Args:
            value: The argument.
            hides: Whether a size that is not told makes others of which that could not be seen.
        """
        kind = type(value)
        if kind is WorldCount:
            if hides:
                self.hide()
            return value.size
        if (kind is tuple or kind is list) and any(type(each) is WorldCount for each in value):
            return kind([self.given(each, hides=hides) for each in value])
        return value

    def unsized(self, values: Iterable[Any]) -> None:
        """Refuse tensors that torch would take for a size or an axis.

        Raises:
            TypeError: One of them is.
        """
        for value in values:
            if isinstance(value, Tensor):
                if value.numel() == 1 and self.worlds != 1 and not value.is_floating_point():
                    raise TypeError(NO_NUMBER)
            elif isinstance(value, list | tuple):
                self.unsized(each for each in value if isinstance(each, Tensor))

    def items(self, value: Any) -> Any:
        """What is gone through in Python, which is never the worlds."""
        if isinstance(value, Tensor) and value.ndim and not self.is_own(value) and self.depends(value.shape[0]):
            raise ValueError(ONE_BY_ONE)
        return value

    def part(self, value: Tensor, axis: int) -> None:
        """Refuse to take the worlds apart along an axis."""
        if not self.is_own(value) and self.depends(value.shape[axis]):
            raise ValueError(ONE_BY_ONE)


def known(value: Any) -> Any:
    """Anything that no tensor decides.

    Raises:
        TypeError: It is a tensor or holds one.
    """
    if not is_known(value):
        raise TypeError(NO_NUMBER)
    return value


def is_known(value: Any) -> bool:
    """Whether something is no tensor and holds none, at any depth."""
    return not any(True for _ in tensors_in(value))


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors in something, at any depth."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Tensor):
            yield each
        elif isinstance(each, dict):
            waiting.extend(each.values())
        elif isinstance(each, list | tuple):
            waiting.extend(each)


def decided(value: Any) -> Any:
    """A condition, which no tensor decides."""
    if isinstance(value, Tensor):
        raise TypeError("Boolean value of Tensor: one yes or no for all worlds")
    return value


def key(value: Any) -> Any:
    """A key of a dict: a text or number, or a flat tuple of such. Tensors have their address for a hash."""
    if type(value) in _KEYS or (type(value) is tuple and all(type(each) in _KEYS for each in value)):
        return value
    raise TypeError(COUNT_KEPT if type(value) is WorldCount else "a key of a dict is a text or a number")


def is_mask(place: Any) -> bool:
    """Whether an index picks by what a tensor holds."""
    return isinstance(place, Tensor) and place.dtype in (torch.bool, torch.uint8)
