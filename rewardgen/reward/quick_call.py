"""A call of a reward that was called before: Python written for its numbers of inputs and components.

Without loops and look-ups, since for few worlds a reward takes about 0.1 ms and these are several percent of it. It
trusts nothing from the calls before: what is not exactly as expected this time gets the contract's own look.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from rewardgen.reward.components import LARGE_RESIDUAL, RESIDUAL, Components, drop_rounding
from rewardgen.reward.guards import Guards


class Form(NamedTuple):
    """What a reward returned, where it surely shares no memory with the inputs.

    Attributes:
        names: The components' names, in their order.
        with_total: Whether it returned `(total, components)`.
    """

    names: tuple[str, ...]
    with_total: bool


class Parts(NamedTuple):
    """What a call is made of.

    Attributes:
        function: The compiled reward.
        inputs: Names of its inputs.
        guards: Bounds what it makes; they know the device of the call before.
        settle: Called with the inputs where they are on another device than before.
        explain: The error to raise for one that the reward raised.
        checked: The contract: what the reward returned and the inputs to the components, or an error.
    """

    function: Callable[..., Any]
    inputs: tuple[str, ...]
    guards: Guards
    settle: Callable[[Sequence[Tensor]], None]
    explain: Callable[[Exception], Exception]
    checked: Callable[[Any, Sequence[Tensor]], Components]


class Call(Protocol):
    """Inputs and constants to components."""

    def __call__(self, inputs: Mapping[str, Tensor], tunables: Mapping[str, float | Tensor], /) -> Components:
        """Call a reward; see `Program`."""
        ...


def quick_call(parts: Parts, form: Form) -> Call:
    """A call that ends early where all values are (N,) float32 tensors of the expected names, with a finite sum.

    Args:
        parts: What it is made of.
        form: What the reward returned in the call before.
    """
    scope = {
        **{"Tensor": Tensor, "float32": torch.float32, "isfinite": math.isfinite, "Components": Components},
        **{"drop_rounding": drop_rounding, "large_squares": LARGE_RESIDUAL**2, "residual_name": RESIDUAL},
        **{"names": form.names, "begin": parts.guards.begin, **parts._asdict()},
        **{f"name{index}": name for index, name in enumerate(parts.inputs)},
    }
    exec(_code(len(parts.inputs), len(form.names), form.with_total), scope)
    return scope["call"]


@functools.cache
def _code(inputs: int, components: int, with_total: bool) -> CodeType:
    """The call's code: of a reward, only these numbers are in the text."""
    arguments = "".join(f"input{index}, " for index in range(inputs))
    long_look = f"return checked(returned, ({arguments}))"
    lines = [
        *(f"input{index} = inputs[name{index}]" for index in range(inputs)),
        f"if input0.device != guards.device: settle(({arguments}))",
        "shape = input0.shape",
        "begin(shape[0])",
        f"try: returned = function({arguments}**tunables)",
        "except Exception as error: raise explain(error) from error",
        "if len(shape) > 1: shape = shape[:1]",
        *_look(components, with_total, long_look),
    ]
    return compile("def call(inputs, tunables):\n" + "".join(f"    {line}\n" for line in lines), "<call>", "exec")


def _look(components: int, with_total: bool, long_look: str) -> list[str]:
    """From what the reward returned to its components."""
    values = [f"value{index}" for index in range(components)]
    listed = "".join(f"{value}, " for value in values)
    return [
        f"if type(returned) is not tuple or len(returned) != 2: {long_look}" if with_total else "parts = returned",
        *(["total, parts = returned"] if with_total else []),
        f"if type(parts) is not dict or tuple(parts) != names: {long_look}",
        f"{listed}= parts.values()",
        *(f"if {_unlike(value)}: {long_look}" for value in (*values, *(["total"] if with_total else []))),
        "combined = value0 + value1" if components > 1 else "combined = value0.clone()",
        *(f"combined += {value}" for value in values[2:]),
        "combined = total - combined" if with_total else "total = combined",
        "squares = combined.dot(combined).item()",
        f"if not isfinite(squares): {long_look}",
        "found = Components(parts)",
        "found.total = total",
        *(_residual(listed) if with_total else []),
        "return found",
    ]


def _unlike(value: str) -> str:
    return f"type({value}) is not Tensor or {value}.dtype is not float32 or {value}.shape != shape"


def _residual(listed: str) -> list[str]:
    return [
        "found[residual_name] = combined",
        "if 0.0 < squares <= large_squares * total.dot(total).item(): drop_rounding(combined, " + f"({listed}))",
    ]
