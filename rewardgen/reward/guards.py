"""What a compiled reward calls where something could grow without bound: checked before memory is taken.

Bounded are the elements of a tensor, the length of lists and strings, the size of integers, and the loop turns of a
call. A tensor may have some hundred elements per world, so a product of all worlds with all worlds is refused.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from rewardgen.reward.growth import ELEMENTS

MAX_TURNS = 10_000
"""Loop turns in one call, over all loops, and elements of a list."""
MAX_TEXT = 200
"""Characters of a text within another."""
MAX_BITS = 128
"""Of an integer."""
ELEMENTS_AT_ALL = 1_000_000
ELEMENTS_PER_WORLD = 256
_TOO_MANY_TURNS = f"more than {MAX_TURNS} loop turns in one call"


class SizeError(ValueError):
    """Something would be too large."""


class Guards:
    """The bounds of one program.

    Attributes:
        turns: Loop turns that the running call has left.
        elements: The most elements that a tensor may have in the running call.
        device: The device of the inputs of the running call.
    """

    def __init__(self) -> None:
        self._operations = {name: self.spread(each) for name, each in OPERATIONS.items()}
        self.device = torch.device("cpu")
        self.begin(1)

    def begin(self, worlds: int) -> None:
        """Start a call.

        Args:
            worlds: N.
        """
        self.turns = MAX_TURNS
        self.elements = ELEMENTS_AT_ALL + ELEMENTS_PER_WORLD * worlds

    def count(self, items: Iterable[Any]) -> Iterable[Any]:
        """The items of a loop that goes through all of them, counted at once where their number cannot change."""
        if type(items) is not tuple and type(items) is not range:
            return self.iterate(items)
        self.turns -= len(items)
        if self.turns < 0:
            raise ValueError(_TOO_MANY_TURNS)
        return items

    def iterate(self, items: Iterable[Any]) -> Iterator[Any]:
        """The items, counted one by one."""
        for item in items:
            self.turns -= 1
            if self.turns < 0:
                raise ValueError(_TOO_MANY_TURNS)
            yield item

    def check_elements(self, count: int) -> None:
        """Refuse a tensor that is too large.

        Args:
            count: How many elements it would have.
        """
        if count > self.elements:
            raise SizeError(f"a tensor of {count:.3g} elements is too large, the limit is {self.elements}")

    def sized(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that makes tensors, refused before it makes one that is too large.

        Args:
            name: What its arguments tell of the size, a key of `ELEMENTS`.
            function: The function, or a method of a tensor without its tensor.
        """
        elements = ELEMENTS[name]

        def call(*arguments: Any, **options: Any) -> Any:
            self.check_elements(elements(*arguments, **options))
            return function(*arguments, **options)

        return call

    def index(self, value: Any, place: Any) -> Any:
        """`value[place]` where tensors or lists may pick elements again and again."""
        if isinstance(value, Tensor):
            self.check_elements(_indexed(value, place if isinstance(place, tuple) else (place,)))
        return value[place]

    def slice(self, *limits: Any) -> slice:
        """The slice of an index that is looked at as a whole."""
        return slice(*limits)

    def multiply(self, left: Any, right: Any) -> Any:
        """`left * right` where either may be a list or string, or both integers."""
        if isinstance(left, int) and isinstance(right, int):
            return _bounded_integer(left, right)
        for sequence, count in ((left, right), (right, left)):
            if isinstance(sequence, list | tuple | str):
                _check_length(len(sequence) * int(count))
        return self._operations["Mult"](left, right)

    def add(self, left: Any, right: Any) -> Any:
        """`left + right` where both may be lists or strings."""
        if isinstance(left, list | tuple | str) and isinstance(right, list | tuple | str):
            _check_length(len(left) + len(right))
            return operator.concat(left, right)
        return self._operations["Add"](left, right)

    def power(self, base: Any, exponent: Any) -> Any:
        """`base ** exponent`, without integers of a million digits."""
        if isinstance(base, int) and isinstance(exponent, int):
            small = 0 <= exponent * base.bit_length() <= MAX_BITS
            return base**exponent if small else float(base) ** exponent
        return self._operations["Pow"](base, exponent)

    def remainder(self, value: Any, divisor: Any) -> Any:
        """`value % divisor`, without the formatting of strings, which a width makes as long as it likes."""
        if isinstance(value, str):
            raise TypeError("strings are not formatted with `%`")
        return self._operations["Mod"](value, divisor)

    def counted(self, value: Any) -> Any:
        """A list, tuple or set that was put together from others, unless it is too long."""
        check_nested(value)
        return value

    def extend(self, value: list[Any], more: Iterable[Any]) -> None:
        """`value.extend(more)`."""
        added = list(more)
        _check_length(len(value) + len(added))
        value.extend(added)

    def text(self, value: Any) -> Any:
        """What an f-string shows: no list, whose text may be longer than all of its memory, and no long text."""
        if isinstance(value, str):
            _check_length(len(value) * (MAX_TURNS // MAX_TEXT))
        if isinstance(value, bool | int | float | str) or (isinstance(value, Tensor) and value.ndim == 0):
            return value
        return f"a {type(value).__name__}"

    def fail(self, text: Any = "the reward raised an error") -> None:
        """`raise` of a reward."""
        raise ValueError(self.text(text))

    def compare(self, symbol: str, left: Any, right: Any) -> Any:
        """A comparison where both may be lists, lists of lists included."""
        check_nested(left)
        check_nested(right)
        return self.spread(COMPARISONS[symbol])(left, right)

    def spread(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of several operands that are broadcast, refused before the result is too large.

        Args:
            function: Such as `operator.add` or `torch.maximum`.
        """

        def call(*operands: Any, **options: Any) -> Any:
            tensors = [each for each in (*operands, *options.values()) if isinstance(each, Tensor)]
            if len(tensors) > 1 and any(each.ndim > 1 for each in tensors):
                self.check_elements(_broadcast([tuple(each.shape) for each in tensors]))
            return function(*operands, **options)

        return call

    def total(self, items: Iterable[Any], start: Any = 0) -> Any:
        """`sum` of tensors that are broadcast."""
        return functools.reduce(self.spread(operator.add), items, start)

    def method(self, value: Any, name: str, *operands: Any, **options: Any) -> Any:
        """A method of a tensor whose operands are broadcast with it."""
        return self.spread(getattr(type(value), name))(value, *operands, **options)


COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "In": lambda left, right: left in right,
    "NotIn": lambda left, right: left not in right,
}

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Pow": operator.pow,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
}


def check_nested(value: Any) -> None:
    """Refuse a list that holds too much, counting what it holds several times as often.

    Args:
        value: Anything.
    """
    waiting, count = [value], 0
    while waiting:
        each = waiting.pop()
        parts = (*each, *each.values()) if isinstance(each, dict) else each
        if isinstance(parts, list | tuple | set):
            count += 1 + len(parts)
            _check_length(count)
            waiting.extend(parts)


def _check_length(length: int) -> None:
    if length > MAX_TURNS:
        raise SizeError(f"a list or string of {length:.3g} elements is too long, the limit is {MAX_TURNS}")


def _bounded_integer(left: int, right: int) -> int | float:
    product_bits = left.bit_length() + right.bit_length()
    return left * right if product_bits <= MAX_BITS else float(left) * float(right)


def _indexed(value: Tensor, places: tuple[Any, ...]) -> int:
    """How many elements `value[places]` has at most."""
    used = sum(_axes(each) for each in places)
    kept = list(value.shape)
    axis, picked = 0, []
    for each in places:
        if each is Ellipsis:
            axis += max(0, value.ndim - used)
            continue
        if isinstance(each, Tensor | list | tuple):
            picked.append(_shape_of(each))
        for _ in range(_axes(each)):
            kept[axis : axis + 1] = [kept[axis]] if isinstance(each, slice) else [1]
            axis += 1
    return math.prod(kept) * _broadcast(picked)


def _axes(place: Any) -> int:
    """How many axes a part of an index stands for."""
    if place is None or place is Ellipsis:
        return 0
    return place.ndim if isinstance(place, Tensor) and place.dtype == torch.bool else 1


def _shape_of(place: Any) -> tuple[int, ...]:
    """The shape of what a part of an index picks, at most."""
    if isinstance(place, Tensor):
        return (place.numel(),) if place.dtype == torch.bool else tuple(place.shape)
    return (len(place), *_shape_of(place[0])) if isinstance(place, list | tuple) and place else ()


def _broadcast(shapes: list[tuple[int, ...]]) -> int:
    """How many elements shapes have together when they are broadcast; 0 where they cannot be, which torch tells."""
    rank = max(map(len, shapes), default=0)
    axes = list(zip(*((1,) * (rank - len(shape)) + shape for shape in shapes), strict=True))
    return math.prod(map(max, axes)) if all(map(_sound, axes)) else 0


def _sound(sizes: tuple[int, ...]) -> bool:
    return len({each for each in sizes if each != 1}) <= 1
