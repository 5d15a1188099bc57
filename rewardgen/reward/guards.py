"""All that a compiled reward can reach: the functions that it names, some builtins, and guards around what could grow.

Bounded before memory is taken are the elements of a tensor, the length of lists and strings, the size of integers, and
the loop turns of a call. A tensor may have some hundred elements per world, so a product of all worlds with all worlds
is refused.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import math
import operator
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from rewardgen.reward.growth import ELEMENTS
from rewardgen.reward.numpy_subset import numpy_names
from rewardgen.reward.scope import split_module
from rewardgen.reward.tolerance import tolerance
from rewardgen.reward.transform import BOUNDED, GUARD, TOLERANCE

MAX_TURNS = 10_000
"""Loop turns in one call, over all loops, and elements of a list."""
MAX_TEXT = 200
"""Characters of a text within another."""
MAX_BITS = 128
"""Of an integer."""
ELEMENTS_AT_ALL = 1_000_000
ELEMENTS_PER_WORLD = 256


class SizeError(ValueError):
    """Something would be too large."""


class Guards:
    """The bounds of one program.

    Attributes:
        device: The device of the inputs of the running call.
    """

    def __init__(self) -> None:
        self.device = torch.device("cpu")
        self._numpy = numpy_names(lambda: self.device)
        self._operators = {name: self._operator(name) for name in _OPERATORS}
        self.begin(1)

    def begin(self, worlds: int) -> None:
        """Start a call.

        Args:
            worlds: N.
        """
        self._turns = MAX_TURNS
        self._elements = ELEMENTS_AT_ALL + ELEMENTS_PER_WORLD * worlds

    def reachable(self, references: dict[str, str]) -> dict[str, Any]:
        """The globals of a program.

        Args:
            references: Global name to the dotted name of what it must be bound to; see `Lowered`.
        """
        guards = {"iterate": self._iterate, "index": self._index, "slice": slice}
        guards |= {"compare": self._compare, "counted": _counted, "extend": _extend, "text": _text, "fail": _fail}
        return {
            "__builtins__": {**_BUILTINS, "sum": self._sum},
            **{GUARD + name: guard for name, guard in (guards | self._operators).items()},
            **{name: self._bound(dotted) for name, dotted in references.items()},
        }

    def _bound(self, dotted: str) -> Any:
        """What a global name of a program stands for."""
        if dotted.startswith(BOUNDED):
            name = dotted.removeprefix(BOUNDED)
            return self._bounded(self._bound(name), ELEMENTS.get(name, _broadcast))
        if dotted == TOLERANCE:
            return tolerance
        if dotted.startswith("."):
            return functools.partial(_call_method, dotted[1:])
        if dotted.startswith("numpy."):
            return self._numpy[dotted.removeprefix("numpy.")]
        module, name = split_module(dotted)
        return getattr(importlib.import_module(module), name)

    # Tensors.

    def _check_elements(self, count: int) -> None:
        if count > self._elements:
            raise SizeError(f"a tensor of {count:.3g} elements is too large, the limit is {self._elements}")

    def _bounded(self, function: Callable[..., Any], elements: Callable[..., int]) -> Callable[..., Any]:
        """A function that makes tensors, refused before it makes one that is too large."""

        def call(*operands: Any, **options: Any) -> Any:
            self._check_elements(elements(*operands, **options))
            return function(*operands, **options)

        return call

    def _operator(self, name: str) -> Callable[[Any, Any], Any]:
        """An operator, or a comparison."""
        function, bounded = _OPERATORS[name], _BOUNDED.get(name)
        elements = ELEMENTS["torch.matmul"] if name == "MatMult" else _broadcast

        def call(left: Any, right: Any) -> Any:
            if isinstance(left, Tensor) and isinstance(right, Tensor):
                if (left.ndim > 1 or right.ndim > 1) and left.shape != right.shape:
                    self._check_elements(elements(left, right))
            elif bounded and not (isinstance(left, _UNGROWING) and isinstance(right, _UNGROWING)):
                left, right = bounded(left, right)
            return function(left, right)

        return call

    def _compare(self, names: tuple[str, ...], *operands: Any) -> Any:
        """Comparisons, each of neighbours."""
        result = True
        for name, left, right in zip(names, operands, operands[1:], strict=False):
            result = result and self._operators[name](left, right)
        return result

    def _sum(self, items: Iterable[Any], start: Any = 0) -> Any:
        return functools.reduce(self._operators["Add"], items, start)

    def _index(self, value: Any, place: Any) -> Any:
        """`value[place]` where tensors or lists may pick elements again and again."""
        places = place if isinstance(place, tuple) else (place,)
        if isinstance(value, Tensor) and any(isinstance(each, _SHAPED) for each in places):
            self._check_elements(_indexed(value, places))
        return value[place]

    def _iterate(self, items: Iterable[Any]) -> Iterator[Any]:
        """The items of a loop, counted."""
        for item in items:
            self._turns -= 1
            if self._turns < 0:
                raise ValueError(f"more than {MAX_TURNS} loop turns in one call")
            yield item


def _broadcast(*operands: Any, **options: Any) -> int:
    """Elements of operands that are broadcast together, those in lists too; 0 where torch will tell that it cannot."""
    return _together({_shape_of(each) for each in (*operands, *options.values()) if isinstance(each, _SHAPED)})


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


def _indexed(value: Tensor, places: tuple[Any, ...]) -> int:
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
        elif isinstance(each, _SHAPED):
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


def _call_method(name: str, value: Any, *arguments: Any, **options: Any) -> Any:
    return getattr(value, name)(*arguments, **options)


# Numbers, lists and strings.


def _check_length(length: int) -> None:
    if length > MAX_TURNS:
        raise SizeError(f"a list or string of {length:.3g} elements is too long, the limit is {MAX_TURNS}")


def _counted(value: Any) -> Any:
    """Anything but a list that holds too much, counting what it holds several times as often."""
    waiting, count = [value], 0
    while waiting:
        each = waiting.pop()
        parts = (*each, *each.values()) if isinstance(each, dict) else each
        if isinstance(parts, list | tuple | set):
            count += 1 + len(parts)
            _check_length(count)
            waiting.extend(parts)
    return value


def _extend(value: list[Any], more: Iterable[Any]) -> None:
    added = list(more)
    _check_length(len(value) + len(added))
    value.extend(added)


def _text(value: Any) -> Any:
    """What an f-string shows: no list, whose text may be longer than all of its memory, and no long text."""
    if isinstance(value, str):
        _check_length(len(value) * (MAX_TURNS // MAX_TEXT))
    if isinstance(value, bool | int | float | str) or (isinstance(value, Tensor) and value.ndim == 0):
        return value
    return f"a {type(value).__name__}"


def _fail(text: Any = "the reward raised an error") -> None:
    raise ValueError(_text(text))


def _sum_of(left: Any, right: Any) -> tuple[Any, Any]:
    if isinstance(left, _SEQUENCES) and isinstance(right, _SEQUENCES):
        _check_length(len(left) + len(right))
    return left, right


def _product_of(left: Any, right: Any) -> tuple[Any, Any]:
    if isinstance(left, int) and isinstance(right, int):
        fits = left.bit_length() + right.bit_length() <= MAX_BITS
        return (left, right) if fits else (float(left), float(right))
    for sequence, count in ((left, right), (right, left)):
        if isinstance(sequence, _SEQUENCES):
            _check_length(len(sequence) * int(count))
    return left, right


def _power_of(base: Any, exponent: Any) -> tuple[Any, Any]:
    if isinstance(base, int) and isinstance(exponent, int) and not 0 <= exponent * base.bit_length() <= MAX_BITS:
        return float(base), exponent
    return base, exponent


def _remainder_of(value: Any, divisor: Any) -> tuple[Any, Any]:
    if isinstance(value, str):  # whose formatting is as long as a width says
        raise TypeError("strings are not formatted with `%`")
    return value, divisor


def _countable(left: Any, right: Any) -> tuple[Any, Any]:
    return _counted(left), _counted(right)


_SHAPED = (Tensor, list, tuple)
_SEQUENCES = (list, tuple, str)
_UNGROWING = (float, Tensor)
"""Of two of these, an operator makes a float or a tensor."""

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    **{"Eq": operator.eq, "NotEq": operator.ne, "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt},
    **{"GtE": operator.ge, "In": lambda left, right: left in right, "NotIn": lambda left, right: left not in right},
}
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    **{"Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv, "Mod": operator.mod},
    **{"FloorDiv": operator.floordiv, "Pow": operator.pow, "MatMult": operator.matmul, "BitAnd": operator.and_},
    **{"BitOr": operator.or_, "BitXor": operator.xor, "Is": operator.is_, "IsNot": operator.is_not},
    **_COMPARISONS,
}
_BOUNDED = {
    **{"Add": _sum_of, "Mult": _product_of, "Pow": _power_of, "Mod": _remainder_of},
    **dict.fromkeys(_COMPARISONS, _countable),
}
"""What operands are that grow on others than floats and tensors."""


# Builtins.


def _range(*arguments: int) -> range:
    values = range(*arguments)
    if len(values) > MAX_TURNS:
        raise ValueError(f"a range of {len(values)} is too long")
    return values


def _slice(*limits: int | None) -> slice:
    # Of lists it could hold more than can be counted.
    if not all(each is None or isinstance(each, int) for each in limits):
        raise TypeError("a slice is made of whole numbers")
    return slice(*limits)


def _import_loaded(name: str, *_: Any) -> Any:
    """For torch's C++ code, which imports through the builtins of the calling frame; no reward can name it."""
    if name.split(".")[0] == "torch" and name in sys.modules:
        return sys.modules[name]
    raise ImportError(f"a reward cannot import {name}")


def _flat(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that goes through nested lists, on no more of them than it can go through at once."""
    return lambda *arguments, **options: function(*map(_counted, arguments), **options)


_BUILTINS: dict[str, Any] = {
    **{each.__name__: each for each in (abs, all, any, bool, float, int, len, list, round)},
    # Tuples: an iterator kept in a module constant would remember between calls.
    "enumerate": lambda iterable, start=0: tuple(enumerate(iterable, start)),
    "zip": lambda *arguments, strict=False: _counted(tuple(zip(*arguments, strict=strict))),
    "reversed": lambda items: tuple(reversed(items)),
    **{each.__name__: _flat(each) for each in (dict, max, min, set, sorted, str, tuple)},
    "print": lambda *_, **__: None,
    "range": _range,
    "slice": _slice,
    "__import__": _import_loaded,
}
