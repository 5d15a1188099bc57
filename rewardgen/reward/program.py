"""A reward as a callable: the checked syntax tree, compiled with the functions that it names and nothing else in reach.

Imported by workers only: it needs torch, and it runs generated code.
"""

from __future__ import annotations

import ast
import functools
import importlib
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CodeType
from typing import Any, Literal

import torch
from torch import Tensor

from rewardgen.errors import RewardgenError
from rewardgen.records import Finding
from rewardgen.reward.language import check_tree
from rewardgen.reward.parsing import parse_source
from rewardgen.reward.scope import split_module
from rewardgen.reward.signature import ENTRY, read_signature
from rewardgen.reward.tolerance import tolerance
from rewardgen.reward.transform import BOUNDED, POWER, REMAINDER, TOLERANCE, lower

_FILENAME = "<reward>"
_MAX_TURNS = 10_000
"""Loop turns in one call, over all loops."""
_MAX_COMPONENTS = 32
_COMPONENT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,47}")
_RESIDUAL = "residual"
_ROUNDING = 1e-5

RewardFailureKind = Literal["exception", "shape", "non-finite"]


class RewardError(RewardgenError):
    """What went wrong in a call of a reward.

    Args:
        message: What, without the line; `str(error)` begins with it.
        line: Line of the reward's source, if the error has one.
        kind: `exception`, `shape` for anything but a dict of (N,) tensors, or `non-finite`.
        hint: What to write instead.
        component: The component at fault, if it is one.
    """

    def __init__(
        self,
        message: str,
        line: int | None = None,
        kind: RewardFailureKind = "exception",
        hint: str = "",
        component: str | None = None,
    ) -> None:
        super().__init__(message, hint)
        self.line = line
        self.kind: RewardFailureKind = kind
        self.component = component

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


class Program:
    """A compiled reward.

    Args:
        source: Its source, for messages.
        inputs: Names of its inputs, in the order in which it takes them.
        tunables: Names and defaults of its constants.
        function: The compiled function.
        budget: Counts its loop turns.
    """

    def __init__(
        self,
        source: str,
        inputs: tuple[str, ...],
        tunables: dict[str, float],
        function: Callable[..., Any],
        budget: _LoopBudget,
    ) -> None:
        self.source = source
        self.inputs = inputs
        self.tunables = tunables
        self._function = function
        self._budget = budget

    def __call__(self, inputs: Mapping[str, Tensor], tunables: Mapping[str, float | Tensor] = {}) -> dict[str, Tensor]:
        """Compute the components for N worlds.

        Args:
            inputs: Every input of the reward, and any others, each (N,) or (N, k) float32.
            tunables: Values for its constants, each a float or (N,); the defaults serve the rest.

        Returns:
            Component name to (N,) float32, already weighted; their sum is the reward. A reward that returns
            `(total, components)` has one more component, `residual`: the total minus the sum of the others.

        Raises:
            RewardError: The reward raised, returned anything but that, or a component is not finite.
        """
        self._budget.left = _MAX_TURNS
        arguments = [inputs[name] for name in self.inputs]
        try:
            returned = self._function(*arguments, **tunables)
        except Exception as error:
            raise self._explain(error) from error
        components = _components(returned, arguments[0])
        if not math.isfinite(float(torch.stack(list(components.values())).sum())):
            _raise_non_finite(components, dict(zip(self.inputs, arguments, strict=True)))
        return components

    def _explain(self, error: Exception) -> RewardError:
        line = _line_of(error)
        text = " ".join(str(error).split())[:300]
        code = self.source.splitlines()[line - 1].strip()[:120] if line else ""
        place = f"`{code}`: " if code else ""
        hint = next((hint for phrase, hint in _HINTS.items() if phrase in text), _INPUTS_HINT)
        return RewardError(f"{place}{type(error).__name__}: {text}", line, "exception", hint)


def compile_reward(source: str) -> Program:
    """Check and compile a reward.

    Args:
        source: Its source.

    Raises:
        RewardError: It is not written in the reward language, or has no sound signature.
    """
    tree = parse_source(source)
    findings = (tree,) if isinstance(tree, Finding) else check_tree(tree)
    if findings:
        raise RewardError(findings[0].message, findings[0].line, "exception", findings[0].hint)
    assert isinstance(tree, ast.Module)
    try:
        signature = read_signature(source)
    except RewardgenError as error:
        raise RewardError(error.message, None, "exception", error.hint) from error
    lowered = lower(tree)
    budget = _LoopBudget()
    scope = _globals(lowered.references, budget)
    _define(compile(lowered.tree, _FILENAME, "exec", dont_inherit=True), scope)
    return Program(source, signature.inputs, signature.tunables, scope[ENTRY], budget)


def _define(code: CodeType, scope: dict[str, Any]) -> None:
    try:
        exec(code, scope)
    except Exception as error:
        raise RewardError(f"{type(error).__name__}: {str(error)[:300]}", _line_of(error)) from error


# What a program can reach.


class _LoopBudget:
    """Counts the loop turns that a call has left."""

    def __init__(self) -> None:
        self.left = _MAX_TURNS

    def iterate(self, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            self.left -= 1
            if self.left < 0:
                raise ValueError(f"more than {_MAX_TURNS} loop turns in one call")
            yield item


def _power(base: Any, exponent: Any) -> Any:
    """`base ** exponent`, without integers of a million digits."""
    if isinstance(base, int) and isinstance(exponent, int):
        return float(base) ** exponent
    return base**exponent


def _remainder(value: Any, divisor: Any) -> Any:
    """`value % divisor`, without the formatting of strings, which a width makes as long as it likes."""
    if isinstance(value, str):
        raise TypeError("strings are not formatted with `%`")
    return value % divisor


def _range(*arguments: int) -> range:
    values = range(*arguments)
    if len(values) > _MAX_TURNS:
        raise ValueError(f"a range of {len(values)} is too long")
    return values


def _import_loaded(name: str, *_: Any) -> Any:
    """For torch's C++ code, which imports through the builtins of the calling frame; no reward can name it."""
    if name.split(".")[0] == "torch" and name in sys.modules:
        return sys.modules[name]
    raise ImportError(f"a reward cannot import {name}")


_BUILTINS: dict[str, Any] = {
    **{each.__name__: each for each in (abs, all, any, bool, dict, float, int, len, list, max, min)},
    **{each.__name__: each for each in (round, set, sorted, str, sum, tuple)},
    # Lists: an iterator kept in a module constant would remember between calls.
    "enumerate": lambda *arguments, **options: list(enumerate(*arguments, **options)),
    "zip": lambda *arguments, strict=False: list(zip(*arguments, strict=strict)),
    "reversed": lambda items: list(reversed(items)),
    "print": lambda *_, **__: None,
    "range": _range,
    "__import__": _import_loaded,
}


def _globals(references: dict[str, str], budget: _LoopBudget) -> dict[str, Any]:
    bound = {name: _resolve(dotted) for name, dotted in references.items()}
    return {"__builtins__": dict(_BUILTINS), BOUNDED: budget.iterate, POWER: _power, REMAINDER: _remainder, **bound}


@functools.cache
def _resolve(dotted: str) -> Any:
    if dotted == TOLERANCE:
        return tolerance
    module, name = split_module(dotted)
    return getattr(importlib.import_module(module), name)


# What a program returns.


def _components(returned: Any, first_input: Tensor) -> dict[str, Tensor]:
    if isinstance(returned, dict):
        return _checked(returned, first_input)
    pair = isinstance(returned, tuple) and len(returned) == 2
    if not (pair and isinstance(returned[1], dict)):
        found = type(returned).__name__
        raise RewardError(f"`{ENTRY}` returned a {found}, expected a dict of components", None, "shape", _RETURN_HINT)
    parts = _checked(returned[1], first_input)
    total = _component("total", returned[0], first_input)
    return {**parts, _RESIDUAL: _residual(total, parts)}


def _residual(total: Tensor, parts: dict[str, Tensor]) -> Tensor:
    stacked = torch.stack(list(parts.values()))
    difference = total - stacked.sum(0)
    rounding = _ROUNDING * (stacked.abs().sum(0) + total.abs())
    return torch.where(difference.abs() <= rounding, torch.zeros_like(difference), difference)


def _checked(returned: dict[Any, Any], first_input: Tensor) -> dict[str, Tensor]:
    if not 0 < len(returned) <= _MAX_COMPONENTS:
        message = f"`{ENTRY}` returned {len(returned)} components, expected 1 to {_MAX_COMPONENTS}"
        raise RewardError(message, None, "shape", _RETURN_HINT)
    return {_name(name): _component(name, value, first_input) for name, value in returned.items()}


@functools.cache
def _name(name: Any) -> str:
    if isinstance(name, str) and _COMPONENT_NAME.fullmatch(name):
        return name
    message = f"`{str(name)[:60]}` is not a component name"
    raise RewardError(message, None, "shape", "use letters, digits and `_`, 48 at most, starting with a letter")


def _component(name: str, value: Any, first_input: Tensor) -> Tensor:
    worlds = first_input.shape[0]
    if isinstance(value, bool | int | float):
        return torch.full((worlds,), float(value), device=first_input.device)
    if not isinstance(value, Tensor):
        message = f"component `{name}` is a {type(value).__name__}, expected a tensor of shape (N,)"
        raise RewardError(message, None, "shape", _SHAPE_HINT, str(name))
    if value.ndim == 0:
        value = value.expand(worlds)
    if value.shape != (worlds,):
        got = f"({', '.join('N' if size == worlds else str(size) for size in value.shape)})"
        message = f"component `{name}` has shape {got}, expected (N,)"
        raise RewardError(message, None, "shape", _SHAPE_HINT, str(name))
    return value if value.dtype == torch.float32 else value.to(torch.float32)


def _raise_non_finite(components: dict[str, Tensor], inputs: dict[str, Tensor]) -> None:
    for name, value in components.items():
        wrong = ~torch.isfinite(value)
        if bool(wrong.any()):
            world = int(wrong.nonzero()[0])
            seen = ", ".join(f"{key} = {_short(tensor[world])}" for key, tensor in inputs.items())
            message = f"component `{name}` is {float(value[world])} in {int(wrong.sum())} of {len(value)} worlds"
            raise RewardError(f"{message}, as at {seen[:300]}", None, "non-finite", _FINITE_HINT, name)


def _short(value: Tensor) -> str:
    numbers = [f"{each:.4g}" for each in value.reshape(-1)[:8].tolist()]
    return numbers[0] if value.ndim == 0 else f"[{', '.join(numbers)}]"


def _line_of(error: BaseException) -> int | None:
    """The innermost line of the reward in the traceback."""
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _FILENAME:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


_RETURN_HINT = 'end with `return {"speed": speed, "effort": effort}`'
_SHAPE_HINT = "reduce over the last axis, as with `.sum(-1)`, or take one part, as with `x[:, 0]`"
_FINITE_HINT = "guard it, as with `.clamp(min=1e-6)` under a root, log or division, and keep exponents negative"

_INPUTS_HINT = "mend that line; inputs are torch tensors, (N,) or (N, k) as the table of variables says"

_HINTS = {
    "Boolean value of Tensor": "use `torch.where(condition, a, b)`, torch.maximum or torch.minimum, not `if` or `max`",
    "must match the size of tensor": "reduce (N, k) over its last axis with `.sum(-1)`, or index a part as `x[:, 0]`",
    "only one element tensors": "keep tensors: a component is one value per world",
    "can be converted to Scalar": "keep tensors: a component is one value per world",
    "must be Tensor, not float": "make it a tensor, as with `torch.full_like(height, 1.0)`, or use `math.`",
}
