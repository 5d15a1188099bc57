"""What a reward must return, and what it is told when it returns anything else."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from rewardgen.errors import RewardgenError
from rewardgen.reward.signature import ENTRY

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


class Contract:
    """What one program returns, checked at each call; names that were sound once are not looked at again.

    Args:
        fresh: Whether what it returns surely shares no memory with its inputs.
    """

    def __init__(self, fresh: bool) -> None:
        self._fresh = fresh
        self._names: tuple[Any, ...] = ()

    def components(self, returned: Any, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The components of one call.

        Args:
            returned: What the reward returned.
            inputs: What it was given, (N, ...) each.

        Returns:
            Component name to (N,) float32, sharing no memory with the inputs.

        Raises:
            RewardError: It is not a dict of one finite value per world.
        """
        first_input = next(iter(inputs.values()))
        parts, total = _split(returned)
        stacked = self._usual(parts, total, first_input)
        as_they_are = self._fresh and stacked is not None
        if stacked is None:
            parts = _checked(parts, first_input)
            self._names = tuple(parts)
            values = list(parts.values())
            stacked = torch.stack(values if total is None else [*values, _component("total", total, first_input)])
        # Two infinities of opposite sign are no number either.
        if not math.isfinite(stacked.sum().item()):
            names = self._names if total is None else (*self._names, "total")
            _raise_non_finite(dict(zip(names, stacked, strict=True)), inputs)
        rows = stacked.unbind() if total is not None or not as_they_are else ()
        components = parts if as_they_are else dict(zip(self._names, rows, strict=False))
        return components if total is None else {**components, _RESIDUAL: _residual(stacked, rows)}

    def _usual(self, parts: dict[Any, Any], total: Any, first_input: Tensor) -> Tensor | None:
        """The components and the total, (K, N), if they have the names of the call before and need no conversion."""
        if not parts or tuple(parts) != self._names:
            return None
        values = list(parts.values()) if total is None else [*parts.values(), total]
        for value in values:
            if type(value) is not Tensor or value.dtype != torch.float32:
                return None
        try:
            stacked = torch.stack(values)
        except RuntimeError:
            return None
        sound = stacked.dtype == torch.float32 and stacked.shape == (len(values), first_input.shape[0])
        return stacked if sound else None


def _split(returned: Any) -> tuple[dict[Any, Any], Any]:
    """What a reward returned as its components and its total, None if it returned none."""
    if isinstance(returned, dict):
        return returned, None
    if isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[1], dict) and returned[0] is not None:
        return returned[1], returned[0]
    found = type(returned).__name__
    raise RewardError(f"`{ENTRY}` returned a {found}, expected a dict of components", None, "shape", _RETURN_HINT)


def _residual(stacked: Tensor, rows: Sequence[Tensor]) -> Tensor:
    """What the total, the last row of (K + 1, N), is more than the components before it; (N,)."""
    difference = rows[-1]
    for part in rows[:-1]:
        difference = difference - part
    # Added up in another order, the same numbers differ by a rounding.
    rounding = stacked.abs().sum(0) * _ROUNDING
    return difference.masked_fill(difference.abs() <= rounding, 0.0)


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


def _raise_non_finite(components: Mapping[str, Tensor], inputs: Mapping[str, Tensor]) -> None:
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


_RETURN_HINT = 'end with `return {"speed": speed, "effort": effort}`'
_SHAPE_HINT = "reduce over the last axis, as with `.sum(-1)`, or take one part, as with `x[:, 0]`"
_FINITE_HINT = "guard it, as with `.clamp(min=1e-6)` under a root, log or division, and keep exponents negative"
