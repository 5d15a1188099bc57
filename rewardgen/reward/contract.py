"""Contract of a reward's return value: components, their sum, and the error for anything else."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from rewardgen.core.errors import RewardgenError
from rewardgen.reward.signature import ENTRY

RESIDUAL = "residual"
_MAX_COMPONENTS = 32
_COMPONENT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,47}")
_ROUNDING = 1e-5
_LARGE_RESIDUAL = 1e-3
"""Root mean square of a residual relative to the total's, above which it is more than rounding."""

RewardFailureKind = Literal["exception", "shape", "non-finite"]


class RewardError(RewardgenError):
    """A failed call of a reward.

    Args:
        message: The failure, without the line; `str(error)` begins with the line.
        line: Line of the reward's source, if the error has one.
        kind: `exception`, `shape` for any value but a dict of (N,) tensors, or `non-finite`.
        hint: The text to write instead.
        component: The component at fault, if any.
    """

    def __init__(
        self,
        message: str,
        line: int | None,
        kind: RewardFailureKind,
        hint: str,
        component: str | None = None,
    ) -> None:
        super().__init__(message, hint)
        self.line = line
        self.kind: RewardFailureKind = kind
        self.component = component

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


class Components(dict[str, Tensor]):
    """Component name to (N,) float32, already weighted, of one call of a reward.

    Attributes:
        total: Sum of the components, (N,) float32: the reward.
        stage: Stage after each step, (T, N) int64, of rewards that have stages; else None.
    """

    __slots__ = ("stage", "total")
    total: Tensor
    stage: Tensor | None

    def at(self, step: int) -> Components:
        """Return the values of one step, of values for all steps."""
        components = Components({name: value[step] for name, value in self.items()})
        components.total, components.stage = self.total[step], None if self.stage is None else self.stage[step]
        return components

    def view(self, *shape: int) -> Components:
        """Return the same values in another shape."""
        components = Components({name: value.view(*shape) for name, value in self.items()})
        components.total, components.stage = self.total.view(*shape), None
        return components


def checked_components(returned: Any, inputs: Mapping[str, Tensor]) -> Components:
    """Check the return value of a call with some inputs, (N, ...) each, and return the components and their sum.

    A total in the return value is the sum; its difference from the components becomes the component `residual`.

    Raises:
        RewardError: The value is not a dict of one finite number per env, or the sum overflows a float.
    """
    parts, total = _split(returned)
    like = next(iter(inputs.values()))
    components = Components({_checked_name(name): _value_per_env(name, value, like) for name, value in parts.items()})
    components.stage = None
    values = list(components.values())
    combined = _added_up(values)
    named: dict[str, Tensor] = dict(components)
    if total is None:
        components.total = combined
    else:
        components.total = named["total"] = _value_per_env("total", total, like)
        components[RESIDUAL] = combined = components.total - combined
    # One check for all: a non-finite value shows in the sum; infinities of opposite sign give NaN.
    squares = combined.dot(combined).item()
    if not math.isfinite(squares):
        _check_finite(named, combined, inputs)
    if total is not None and 0.0 < squares <= _LARGE_RESIDUAL**2 * components.total.dot(components.total).item():
        # Rounding: the same numbers in another order.
        rounding = torch.stack(values).abs().amax(0) * _ROUNDING
        components[RESIDUAL] = torch.where(combined.abs() <= rounding, 0.0, combined)
    return components


def _split(returned: Any) -> tuple[dict[Any, Any], Any]:
    """Split a return value into components and total; the total is None without one."""
    parts, total = returned, None
    if isinstance(returned, tuple) and len(returned) == 2 and returned[0] is not None:
        total, parts = returned
    if not isinstance(parts, dict):
        message = f"`{ENTRY}` returned a {type(returned).__name__}, expected a dict of components"
        raise RewardError(message, None, "shape", _RETURN_HINT)
    if not 0 < len(parts) <= _MAX_COMPONENTS:
        message = f"`{ENTRY}` returned {len(parts)} components, expected 1 to {_MAX_COMPONENTS}"
        raise RewardError(message, None, "shape", _RETURN_HINT)
    return parts, total


def _checked_name(name: Any) -> str:
    if isinstance(name, str) and _COMPONENT_NAME.fullmatch(name):
        return name
    key = f"`{str(name)[:60]}`" if isinstance(name, str | int | float) else f"a {type(name).__name__}"
    message = f"{key} is not a component name"
    raise RewardError(message, None, "shape", "use letters, digits and `_`, 48 at most, starting with a letter")


def _value_per_env(name: str, value: Any, like: Tensor) -> Tensor:
    """Convert a component to (N,) float32, on the device of the input `like`, (N, ...)."""
    num_envs = like.shape[0]
    if type(value) is not Tensor:  # a subclass may override methods
        if isinstance(value, int | float):
            return torch.full((num_envs,), float(value), device=like.device)
        message = f"component `{name}` is a {type(value).__name__}, expected a tensor of shape (N,)"
        raise RewardError(message, None, "shape", _SHAPE_HINT, str(name))
    if value.ndim == 0 and not value.is_meta:
        value = value.to(like.device).repeat(num_envs)
    if value.device != like.device:
        message = f"component `{name}` is on the device {value.device}, the inputs are on {like.device}"
        raise RewardError(message, None, "shape", "make it with `device=` of an input", name)
    if value.shape != (num_envs,):
        got = f"({', '.join('N' if size == num_envs else str(size) for size in value.shape)})"
        message = f"component `{name}` has shape {got}, expected (N,)"
        raise RewardError(message, None, "shape", _SHAPE_HINT, str(name))
    return value if value.dtype == torch.float32 else value.to(torch.float32)


def _added_up(values: Sequence[Tensor]) -> Tensor:
    """Add up components, (N,) each, one after the other.

    A reduction over stacked components has another order near the end of a batch, so a slice would get other bits alone
    than among others.
    """
    total = values[0] + values[1] if len(values) > 1 else values[0].clone()
    for value in values[2:]:
        total += value
    return total


def _check_finite(components: Mapping[str, Tensor], combined: Tensor, inputs: Mapping[str, Tensor]) -> None:
    for name, value in components.items():
        wrong = ~torch.isfinite(value)
        if bool(wrong.any()):
            env = int(wrong.nonzero()[0])
            seen = ", ".join(f"{key} = {_short(tensor[env])}" for key, tensor in inputs.items())
            message = f"component `{name}` is {float(value[env])} in {int(wrong.sum())} of {len(value)} envs"
            others = [f"`{key}`" for key, other in components.items() if key != name and not other.isfinite().all()]
            message += f"; not finite either: {', '.join(others)}" if others else ""
            raise RewardError(f"{message}, as at {seen[:300]}", None, "non-finite", FINITE_HINT, name)
    if not bool(combined.isfinite().all()):
        raise RewardError("the sum of the components is not finite", None, "non-finite", FINITE_HINT)


def _short(value: Tensor) -> str:
    numbers = [f"{number:.4g}" for number in value.reshape(-1)[:8].tolist()]
    return numbers[0] if value.ndim == 0 else f"[{', '.join(numbers)}]"


_RETURN_HINT = 'end with `return {"speed": speed, "effort": effort}`'
_SHAPE_HINT = "reduce over the last axis, as with `.sum(-1)`, or take one part, as with `x[:, 0]`"
FINITE_HINT = "guard it, as with `.clamp(min=1e-6)` under a root, log or division, and keep exponents negative"
