"""All that a compiled reward can reach: the functions that it names, some builtins, and guards around what could grow.

Bounded before memory is taken are the elements of a tensor, the length of lists and strings, the size of integers, and
the loop turns and calls of functions in a call. A tensor may have some hundred elements per world, so a product of all
worlds with all worlds is refused. What a reward may not get to know is in `rewardgen.reward.worlds`.
"""

from __future__ import annotations

import functools
import importlib
import math
import operator
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from rewardgen.reward.broadcasting import SHAPED, broadcast, indexed
from rewardgen.reward.growth import (
    ELEMENTS,
    JOINING,
    MAKING,
    PARTING,
    RESHAPING,
    SHORTENING,
    SIZED,
    SQUEEZING,
    TABLES,
    TENSOR_TAKING,
    WITH_AXIS,
)
from rewardgen.reward.numpy_subset import numpy_names
from rewardgen.reward.scope import split_module
from rewardgen.reward.tolerance import tolerance
from rewardgen.reward.transform import BOUNDED, GUARD, TOLERANCE
from rewardgen.reward.worlds import COUNT_KEPT, Sizes, WorldCount, decided, is_known, is_mask, key, known, tensors_in

MAX_TURNS = 10_000
"""Loop turns and calls of its own functions in one call of a reward, and elements of a list."""
MAX_TEXT = 200
"""Characters of a text within another."""
MAX_BITS = 128
"""Of an integer."""
ELEMENTS_AT_ALL = 1_000_000
ELEMENTS_PER_WORLD = 256
INPUTS_PER_WORLD = 4
"""Of a reward's largest input: a tensor may have so many times its elements."""


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
        self._builtins = {**_BUILTINS, **self._own_builtins()}
        self._tables: dict[int, Tensor] = {}
        self.begin(0)

    def begin(self, worlds: int, parts: frozenset[int] = frozenset(), largest: int = 1) -> None:
        """Start a call.

        Args:
            worlds: N; 0 while the program is compiled.
            parts: Sizes of the other axes of its inputs.
            largest: Elements per world of the largest input.
        """
        self._turns = MAX_TURNS
        self._elements = ELEMENTS_AT_ALL + max(ELEMENTS_PER_WORLD, INPUTS_PER_WORLD * largest) * worlds
        self._sizes = Sizes(worlds, parts, self._tables)
        self._marks: list[bool] = []

    def know(self, constants: Iterable[Any]) -> None:
        """Know the tensors in a program's constants, whose sizes it may be told."""
        self._tables = {id(each): each for each in tensors_in(list(constants))}

    def reachable(self, references: dict[str, str]) -> dict[str, Any]:
        """The globals of a program.

        Args:
            references: Global name to the dotted name of what it must be bound to; see `Lowered`.
        """
        guards = {"iterate": self._iterate, "index": self._index, "slice": _slice, "place": _place, "key": key}
        guards |= {"compare": self._compare, "counted": _counted, "text": _text, "fail": _fail, "decided": decided}
        guards |= {"extend": self._extend, "update": self._update, "keyed": _keyed, "items": self._items}
        guards |= {"turn": self._turn, "distinct": self._distinct, "shape": self._shape, "field": _field}
        guards |= {"mark": self._mark, "stored": self._stored, "float": _float, "int": _int, "bool": _bool}
        return {
            "__builtins__": self._builtins,
            **{GUARD + name: guard for name, guard in (guards | self._operators).items()},
            **{name: self._bound(dotted) for name, dotted in references.items()},
        }

    def _bound(self, dotted: str) -> Any:
        """What a global name of a program stands for."""
        if dotted.startswith(BOUNDED):
            return self._bounded(dotted.removeprefix(BOUNDED))
        if dotted == TOLERANCE:
            return tolerance
        if dotted.startswith("."):
            return functools.partial(_call_method, dotted[1:])
        if dotted.startswith("numpy."):
            return self._numpy[dotted.removeprefix("numpy.")]
        module, name = split_module(dotted)
        return getattr(importlib.import_module(module), name)

    def _bounded(self, name: str) -> Callable[..., Any]:
        """A function of torch, numpy or math, with a look at its arguments."""
        if name in _OF_SIZES:
            return functools.partial(_OF_SIZES[name], self)
        function = self._bound(name)
        if name.startswith("math."):
            return lambda *operands: function(*map(_plain, operands))
        call = self._sized(name, function)
        if name in PARTING:
            return functools.partial(self._parted, call, PARTING[name])
        if name == "torch.where":
            return functools.partial(self._where, call)
        if name in ("torch.arange", "numpy.arange"):
            return functools.partial(self._arange, call)
        if name in JOINING:
            return functools.partial(self._joined, call)
        if name in RESHAPING:
            return functools.partial(self._unflattened if "unflatten" in name else self._reshaped, call)
        if name in SQUEEZING:
            return functools.partial(self._squeezed, call)
        return functools.partial(self._kept, call) if name in SHORTENING else call

    @staticmethod
    def holds_tensor(constant: Any) -> bool:
        """Whether a constant has tensors in it.

        Raises:
            SizeError: It holds more than a list may.
        """
        return not is_known(_counted(constant))

    # Sizes.

    def _shape(self, value: Any) -> tuple[Any, ...]:
        return self._sizes.shape(value)

    def _size(self, value: Any, axis: int | None = None, *, dim: int | None = None) -> Any:
        axis = dim if axis is None else axis
        sizes = self._sizes.shape(value)
        return sizes if axis is None else sizes[axis]

    def _rank(self, value: Tensor) -> Any:
        return WorldCount(value.ndim) if self._sizes.hidden else value.ndim

    def _count(self, value: Any) -> Any:
        sizes = self._sizes.shape(value) if isinstance(value, Tensor) else value
        count = math.prod(each.size if isinstance(each, WorldCount) else each for each in sizes)
        return WorldCount(count) if any(isinstance(each, WorldCount) for each in sizes) else count

    def _len(self, value: Any) -> Any:
        return self._sizes.shape(value)[0] if isinstance(value, Tensor) and value.ndim else len(value)

    def _kept(self, function: Callable[..., Any], *operands: Any, **options: Any) -> Any:
        result = function(*operands, **options)
        self._sizes.keep(_first(operands, options), result)
        return result

    def _joined(self, function: Callable[..., Any], *operands: Any, **options: Any) -> Any:
        result = function(*operands, **options)
        self._sizes.joined(_first(operands, options), result)
        return result

    def _reshaped(self, function: Callable[..., Any], value: Any, *operands: Any, **options: Any) -> Any:
        result = function(value, *operands, **options)
        if isinstance(value, Tensor) and isinstance(result, Tensor) and not self._sizes.is_own(value):
            given = (*operands, *options.values())
            asked = next((each for each in given if isinstance(each, list | tuple)), given)
            self._sizes.inferred(value.shape, asked, result.shape)
        return result

    def _unflattened(self, function: Callable[..., Any], value: Tensor, dim: int, sizes: Any, **options: Any) -> Any:
        result = function(value, dim, sizes, **options)
        axis = dim % value.ndim
        self._sizes.inferred(value.shape[axis : axis + 1], sizes, result.shape[axis : axis + len(sizes)])
        return result

    def _parted(self, function: Callable[..., Any], axis_at: int, *operands: Any, **options: Any) -> Any:
        for each in known((*operands[1:], *options.values()) if operands else ()):
            if isinstance(each, WorldCount):
                raise TypeError(COUNT_KEPT)
        axis = options.get("dim", operands[axis_at] if len(operands) > axis_at else 0)
        self._sizes.part(_first(operands, options), axis)
        return function(*operands, **options)

    def _squeezed(self, function: Callable[..., Any], *operands: Any, **options: Any) -> Any:
        if self._sizes.hidden:
            raise TypeError(COUNT_KEPT)
        return function(*operands, **options)

    def _where(self, function: Callable[..., Any], *operands: Any, **options: Any) -> Any:
        if len(operands) + len(options) == 1:  # the places at which something holds
            self._sizes.hide()
        return function(*operands, **options)

    def _arange(self, function: Callable[..., Any], *limits: Any, **options: Any) -> Any:
        known((*limits, *options.values()))
        if len(limits) == 1 and isinstance(limits[0], WorldCount):
            return function(limits[0].size, **options)
        result = function(*limits, **options)
        return self._sizes.own(result) if all(map(_own, (*limits, *options.values()))) else result

    def _mark(self) -> None:
        """Begin to compute what is assigned to an element."""
        self._marks.append(self._sizes.hidden)

    def _stored(self, value: Any, place: Any) -> Any:
        """Where it is assigned to. What was picked by a mask, and goes to the elements of a mask, has left no trace."""
        hidden = self._marks.pop()
        if type(place) in _PLAIN_KEYS:
            return place
        if isinstance(value, Tensor) and any(map(is_mask, place if isinstance(place, tuple) else (place,))):
            self._sizes.hidden = hidden
        return _place(value, place)

    # Tensors.

    def _check_elements(self, count: int) -> None:
        if count > self._elements:
            raise SizeError(f"a tensor of {count:.3g} elements is too large, the limit is {self._elements}")

    def _sized(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that makes tensors, refused before it makes one that is too large."""
        elements, hides = ELEMENTS.get(name, broadcast), name not in SIZED
        tensors = not hides or not name.startswith("numpy.")  # what numpy makes of numbers is a number
        plain, axis = name.split(".")[-1] not in TENSOR_TAKING, name.split(".")[-1] in WITH_AXIS
        makes = name in TABLES or (name in MAKING and not name.endswith(".arange"))
        first, last = int(name not in MAKING), None if plain else 1 + axis

        def takes(option: str) -> bool:
            return plain or option in ("dim", "axis")

        def call(*operands: Any, **options: Any) -> Any:
            asked = (*operands, *options.values())
            if tensors:
                operands = tuple([self._sizes.given(each, hides=hides) for each in operands])
                options = {name: self._sizes.given(each, hides=hides) for name, each in options.items()}
            self._sizes.unsized((*operands[first:last], *(each for name, each in options.items() if takes(name))))
            self._check_elements(elements(*operands, **options))
            result = function(*operands, **options)
            return self._sizes.own(result) if makes and all(map(_own, asked)) else result

        return call

    def _operator(self, name: str) -> Callable[[Any, Any], Any]:
        """An operator, or a comparison."""
        function, bounded = _OPERATORS[name], _BOUNDED.get(name)
        elements = ELEMENTS["torch.matmul"] if name == "MatMult" else broadcast
        contains = name in ("In", "NotIn")

        def call(left: Any, right: Any) -> Any:
            if isinstance(left, Tensor) and isinstance(right, Tensor) and not contains:
                if (left.ndim > 1 or right.ndim > 1) and left.shape != right.shape:
                    self._check_elements(elements(left, right))
            elif bounded and (contains or not (isinstance(left, _UNGROWING) and isinstance(right, _UNGROWING))):
                left, right = bounded(left, right)
            result = function(left, right)
            if type(result) is set:
                raise TypeError("keys are looked for with `in`, and not combined")
            return result

        return call

    def _compare(self, names: tuple[str, ...], *operands: Any) -> Any:
        """Comparisons, each of neighbours."""
        result = True
        for name, left, right in zip(names, operands, operands[1:], strict=False):
            result = decided(result) and self._operators[name](left, right)
        return result

    def _index(self, value: Any, place: Any) -> Any:
        """`value[place]`: of tensors, which may pick elements again and again, and of lists and dicts."""
        if type(place) in _PLAIN_KEYS:
            return value[place]
        if not isinstance(value, Tensor):
            return value[_place(value, place)]
        places = place if isinstance(place, tuple) else (place,)
        for each in places:
            if isinstance(each, list | tuple) and not is_known(each):
                raise TypeError("a list of tensors is no index: stack them")
        if any(isinstance(each, SHAPED) for each in places):
            self._check_elements(indexed(value, places))
            if any(map(is_mask, places)):
                self._sizes.hide()
        result = value[_place(value, place)]
        if self._sizes.is_own(value) and all(map(_own, places)):
            return self._sizes.own(result)
        slices = [each for each in places if isinstance(each, slice)]
        if slices:
            self._sizes.keep(value, result)
            if any(isinstance(limit, WorldCount) for each in slices for limit in (each.start, each.stop, each.step)):
                self._sizes.hide()
        return result

    # Loops, lists and dicts.

    def _turn(self) -> None:
        """A turn of a loop, or a call of a function of the reward's own."""
        self._turns -= 1
        if self._turns < 0:
            raise ValueError(f"more than {MAX_TURNS} loop turns and calls in one call")

    def _iterate(self, items: Iterable[Any]) -> Iterator[Any]:
        """The items of a loop, counted."""
        for item in self._items(items):
            self._turn()
            yield item

    def _items(self, value: Any) -> Any:
        return self._sizes.items(value)

    def _sum(self, items: Iterable[Any], start: Any = 0) -> Any:
        return functools.reduce(self._operators["Add"], self._items(items), start)

    def _extend(self, value: list[Any], more: Iterable[Any]) -> None:
        added = list(self._items(more))
        _check_length(len(value) + len(added))
        value.extend(added)

    def _distinct(self, items: Iterable[Any] = ()) -> dict[Any, None]:
        """A set, in the order in which it was written: that of Python's sets differs from process to process."""
        return dict.fromkeys(map(key, self._items(items)))

    def _dict(self, items: Any = (), /, **named: Any) -> dict[Any, Any]:
        pairs = items.items() if isinstance(items, dict) else (tuple(self._items(each)) for each in self._items(items))
        return _counted({**{key(name): value for name, value in pairs}, **named})

    def _update(self, value: dict[Any, Any], items: Any = (), /, **named: Any) -> None:
        value.update(self._dict(items, **named))

    def _own_builtins(self) -> dict[str, Callable[..., Any]]:
        """Builtins that go through things."""

        def listed(function: Callable[..., Any]) -> Callable[..., Any]:
            return lambda items=(): _counted(function(_counted(self._items(items))))

        def chosen(function: Callable[..., Any]) -> Callable[..., Any]:
            """The first in some order, which no tensor decides."""

            def call(*operands: Any, **options: Any) -> Any:
                items = list(self._items(operands[0])) if len(operands) == 1 else list(operands)
                if "reverse" in options:
                    decided(options["reverse"])
                return function(_plain(items) if len(items) > 1 else items, **options)

            return call

        return {
            **{"len": self._len, "sum": self._sum, "dict": self._dict, "set": self._distinct},
            **{
                "list": listed(list),
                "tuple": listed(tuple),
                "reversed": lambda items: tuple(reversed(self._items(items))),
            },
            **{each.__name__: chosen(each) for each in (max, min, sorted)},
            **{each.__name__: lambda items, of=each: of(_plain(list(self._items(items)))) for each in (all, any)},
            # Tuples: an iterator kept in a module constant would remember between calls.
            "enumerate": lambda iterable, start=0: tuple(enumerate(self._items(iterable), known(start))),
            "zip": lambda *lists, strict=False: _counted(tuple(zip(*map(self._items, lists), strict=decided(strict)))),
        }


def _own(value: Any) -> bool:
    """Whether an argument is of a reward's own numbers, with no tensor and no size of one in it."""
    if isinstance(value, slice):
        return not any(type(each) is WorldCount for each in (value.start, value.stop, value.step))
    counts = value if isinstance(value, list | tuple) else (value,)
    return is_known(value) and not any(type(each) is WorldCount for each in counts)


def _first(operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
    return operands[0] if operands else next(iter(options.values()))


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


def _plain(value: Any) -> Any:
    return known(_counted(value))


def _keyed(name: str, value: Any, *arguments: Any) -> Any:
    """A method whose first argument is the key of a dict, or an index of a list."""
    return getattr(value, name)(*map(key, arguments[:1]), *arguments[1:])


def _field(value: Any, name: str) -> Any:
    """A part of what `max`, `sort` and the like return; of a dict it would be a method, whose text has its address."""
    if not isinstance(value, tuple):
        raise TypeError(f"`.{name}` is of results of torch such as `x.max(-1)`, and of a dict with `()`")
    return getattr(value, name)


def _text(value: Any) -> Any:
    """What an f-string shows: no list, whose text may be longer than all of its memory, no tensor, and no long text."""
    if isinstance(value, str):
        _check_length(len(value) * (MAX_TURNS // MAX_TEXT))
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, WorldCount):
        return str(value)
    return math.nan if isinstance(value, Tensor) and value.ndim == 0 else f"a {type(value).__name__}"


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
            _check_length(len(sequence) * int(known(count)))
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
    for each in (left, right):
        if isinstance(each, list | tuple | dict):
            _plain(each)
    return left, right


def _contained(left: Any, right: Any) -> tuple[Any, Any]:
    return (key(left), right) if isinstance(right, dict) else (_plain(left), _plain(right))


_SEQUENCES = (list, tuple, str)
_PLAIN_KEYS = (str, int)
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
    **{**dict.fromkeys(_COMPARISONS, _countable), "In": _contained, "NotIn": _contained},
}
"""What operands are that grow on others than floats and tensors."""


_OF_SIZES: dict[str, Callable[..., Any]] = {
    **{".size": Guards._size, ".numel": Guards._count, "torch.numel": Guards._count, ".dim": Guards._rank},
}
"""Functions that tell of a tensor's shape."""


# Builtins.


def _range(*arguments: int) -> range:
    values = range(*map(known, arguments))
    if len(values) > MAX_TURNS:
        raise ValueError(f"a range of {len(values)} is too long")
    return values


def _slice(*limits: Any) -> slice:
    # Of lists it could hold more than can be counted.
    if not all(each is None or isinstance(each, int | WorldCount) for each in limits):
        raise TypeError("a slice is made of whole numbers")
    return slice(*limits)


def _place(value: Any, place: Any) -> Any:
    """An index: of a tensor whatever torch takes, of a list what no tensor decides."""
    if isinstance(value, Tensor):
        parts = place if isinstance(place, tuple) else (place,)
        numbers = tuple(_numbered(each) if isinstance(each, slice) else each for each in parts)
        return numbers if isinstance(place, tuple) else numbers[0]
    return place if isinstance(place, slice) else key(place)


def _numbered(limits: slice) -> slice:
    given = (limits.start, limits.stop, limits.step)
    return slice(*(each.size if isinstance(each, WorldCount) else each for each in given))


def _round(value: Any, digits: int | None = None) -> Any:
    # Python would make an integer of as many digits.
    return round(known(value), digits if digits is None else max(-_DIGITS, min(_DIGITS, known(digits))))


def _float(*value: Any) -> float:
    return float(*map(known, value))


def _int(*value: Any) -> int:
    return int(*map(known, value))


def _bool(*value: Any) -> bool:
    return bool(*map(decided, value))


def _string(value: Any = "") -> str:
    return str(_text(value))


def _import_loaded(name: str, *_: Any) -> Any:
    """For torch's C++ code, which imports through the builtins of the calling frame; no reward can name it."""
    if name.split(".")[0] == "torch" and name in sys.modules:
        return sys.modules[name]
    raise ImportError(f"a reward cannot import {name}")


_DIGITS = 40
_BUILTINS: dict[str, Any] = {
    # As dtypes; calls of them are guarded.
    **{"bool": bool, "float": float, "int": int},
    **{"abs": abs, "round": _round, "str": _string, "range": _range, "slice": _slice},
    "print": lambda *_, **__: None,
    "__import__": _import_loaded,
}
