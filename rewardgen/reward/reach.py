"""What a compiled reward can reach: the functions that it names, some builtins, and the guards; nothing else."""

from __future__ import annotations

import functools
import importlib
import operator
import sys
from collections.abc import Callable
from typing import Any

from rewardgen.reward.guards import COMPARISONS, MAX_TURNS, OPERATIONS, Guards, check_nested
from rewardgen.reward.numpy_subset import numpy_names
from rewardgen.reward.scope import split_module
from rewardgen.reward.tolerance import tolerance
from rewardgen.reward.transform import BOUNDED, COUNTED, GUARD, SIZED, SPREAD, TOLERANCE


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


def _counted(value: Any) -> Any:
    check_nested(value)
    return value


def _flat(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that goes through nested lists, on no more of them than it can go through at once."""

    def call(*arguments: Any, **options: Any) -> Any:
        for each in arguments:
            check_nested(each)
        return function(*arguments, **options)

    return call


_BUILTINS: dict[str, Any] = {
    **{each.__name__: each for each in (abs, all, any, bool, float, int, len, list, max, min, round, sum)},
    # Tuples: an iterator kept in a module constant would remember between calls.
    "enumerate": lambda iterable, start=0: tuple(enumerate(iterable, start)),
    "zip": lambda *arguments, strict=False: _counted(tuple(zip(*arguments, strict=strict))),
    "reversed": lambda items: tuple(reversed(items)),
    **{each.__name__: _flat(each) for each in (dict, set, sorted, str, tuple)},
    "print": lambda *_, **__: None,
    "range": _range,
    "slice": _slice,
    "__import__": _import_loaded,
}


_GUARDS = (
    *("index", "slice", "multiply", "add", "power", "remainder", "counted", "extend", "text", "compare"),
    *("method", "fail"),
)


def reachable(references: dict[str, str], guards: Guards) -> dict[str, Any]:
    """The globals of a program.

    Args:
        references: Global name to the dotted name of what it must be bound to; see `Lowered`.
        guards: The program's bounds.
    """
    guarded = {GUARD + name: getattr(guards, name) for name in _GUARDS}
    bound = {name: _bound(dotted, guards) for name, dotted in references.items()}
    return {"__builtins__": dict(_BUILTINS), BOUNDED: guards.iterate, COUNTED: guards.count, **guarded, **bound}


def _bound(dotted: str, guards: Guards) -> Any:
    """What a global name of a program stands for."""
    if dotted.startswith(SIZED):
        name = dotted.removeprefix(SIZED)
        return guards.sized(name, _method(name[1:]) if name.startswith(".") else _bound(name, guards))
    if dotted.startswith(SPREAD):
        name = dotted.removeprefix(SPREAD)
        operation = OPERATIONS.get(name) or COMPARISONS.get(name)
        return guards.total if name == "sum" else guards.spread(operation or _bound(name, guards))
    if dotted.startswith("numpy."):
        return numpy_names(lambda: guards.device)[dotted.removeprefix("numpy.")]
    return _resolve(dotted)


def _method(name: str) -> Callable[..., Any]:
    return lambda value, *arguments, **options: getattr(value, name)(*arguments, **options)


@functools.cache
def _resolve(dotted: str) -> Any:
    if dotted == "@":
        return operator.matmul
    if dotted == TOLERANCE:
        return tolerance
    module, name = split_module(dotted)
    return getattr(importlib.import_module(module), name)
