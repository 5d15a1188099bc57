"""What a reward must return, and what it is told when it returns anything else."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from rewardgen.core.errors import RewardgenError
from rewardgen.reward.components import RESIDUAL, Components, added_up, drop_rounding, may_be_rounding
from rewardgen.reward.quick_call import Form
from rewardgen.reward.signature import ENTRY

_MAX_COMPONENTS = 32
_COMPONENT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,47}")
_FLOAT = torch.float32

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
    """What one program returns, checked at each call.

    Args:
        inputs: Names of its inputs, for messages.
        fresh: Whether what it returns surely shares no memory with them.

    Attributes:
        form: What it returned last, if that was handed out as it is; None before.
    """

    def __init__(self, inputs: Sequence[str], fresh: bool) -> None:
        self._inputs = inputs
        self._fresh = fresh
        self.form: Form | None = None

    def components(self, returned: Any, arguments: Sequence[Tensor]) -> Components:
        """The components of one call.

        Args:
            returned: What the reward returned.
            arguments: The inputs that it was given, (N, ...) each.

        Returns:
            The components and their sum, sharing no memory with the inputs. Of a reward that returns its total, that is
            their sum, and what the others lack is a component `residual`.

        Raises:
            RewardError: It is not a dict of one finite value per world, or these add up to more than a float can hold.
        """
        parts, given = _split(returned)
        names = _sound_names(parts)
        values = list(parts.values()) if given is None else [*parts.values(), given]
        if self._fresh and _are_sound(values, arguments[0]):
            self.form = Form(names, given is not None)
        else:
            values = _owned((*names, "total"), values, arguments[0])
            parts = dict(zip(names, values, strict=False))
        found = Components(parts)
        if given is None:
            found.total = combined = added_up(values)
        else:
            found.total = total = values.pop()
            found[RESIDUAL] = combined = total - added_up(values)
        # One look for all: a value that is not finite shows in their sum, and infinities of opposite sign are NaN.
        squares = combined.dot(combined).item()
        if not math.isfinite(squares):
            named = parts if given is None else {**parts, "total": found.total}
            _check_finite(named, combined, dict(zip(self._inputs, arguments, strict=True)))
        if given is not None and may_be_rounding(squares, found.total):
            drop_rounding(combined, values)
        return found


def _are_sound(values: Sequence[Any], first_input: Tensor) -> bool:
    """Whether values are (N,) float32 tensors."""
    shape = (first_input.shape[0],)
    for value in values:  # noqa: SIM110, a generator takes twice as long
        if type(value) is not Tensor or value.dtype is not _FLOAT or value.shape != shape:
            return False
    return True


def _owned(names: Sequence[str], values: Sequence[Any], first_input: Tensor) -> list[Tensor]:
    """The values as (N,) float32 tensors that share no memory with the inputs."""
    columns = [_component(name, value, first_input) for name, value in zip(names, values, strict=False)]
    return list(torch.stack(columns).unbind())


def _split(returned: Any) -> tuple[dict[Any, Any], Any]:
    """What a reward returned as its components and its total, None if it returned none."""
    if isinstance(returned, dict):
        return returned, None
    if isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[1], dict) and returned[0] is not None:
        return returned[1], returned[0]
    found = type(returned).__name__
    raise RewardError(f"`{ENTRY}` returned a {found}, expected a dict of components", None, "shape", _RETURN_HINT)


def _sound_names(returned: dict[Any, Any]) -> tuple[str, ...]:
    if not 0 < len(returned) <= _MAX_COMPONENTS:
        message = f"`{ENTRY}` returned {len(returned)} components, expected 1 to {_MAX_COMPONENTS}"
        raise RewardError(message, None, "shape", _RETURN_HINT)
    return tuple(_name(name) for name in returned)


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
    if type(value) is not Tensor:  # a subclass would bring methods of its own
        message = f"component `{name}` is a {type(value).__name__}, expected a tensor of shape (N,)"
        raise RewardError(message, None, "shape", _SHAPE_HINT, str(name))
    if value.ndim == 0:
        value = value.expand(worlds)
    if value.shape != (worlds,):
        got = f"({', '.join('N' if size == worlds else str(size) for size in value.shape)})"
        message = f"component `{name}` has shape {got}, expected (N,)"
        raise RewardError(message, None, "shape", _SHAPE_HINT, str(name))
    return value if value.dtype == torch.float32 else value.to(torch.float32)


def _check_finite(components: Mapping[str, Tensor], combined: Tensor, inputs: Mapping[str, Tensor]) -> None:
    for name, value in components.items():
        wrong = ~torch.isfinite(value)
        if bool(wrong.any()):
            world = int(wrong.nonzero()[0])
            seen = ", ".join(f"{key} = {_short(tensor[world])}" for key, tensor in inputs.items())
            message = f"component `{name}` is {float(value[world])} in {int(wrong.sum())} of {len(value)} worlds"
            raise RewardError(f"{message}, as at {seen[:300]}", None, "non-finite", _FINITE_HINT, name)
    if not bool(combined.isfinite().all()):
        raise RewardError("the sum of the components is not finite", None, "non-finite", _FINITE_HINT)


def _short(value: Tensor) -> str:
    numbers = [f"{each:.4g}" for each in value.reshape(-1)[:8].tolist()]
    return numbers[0] if value.ndim == 0 else f"[{', '.join(numbers)}]"


_RETURN_HINT = 'end with `return {"speed": speed, "effort": effort}`'
_SHAPE_HINT = "reduce over the last axis, as with `.sum(-1)`, or take one part, as with `x[:, 0]`"
_FINITE_HINT = "guard it, as with `.clamp(min=1e-6)` under a root, log or division, and keep exponents negative"
