"""What one call of a reward returns, and the quick look at it once a call before has told what it is made of.

The look is Python written for the number of components, without loops and look-ups: for few worlds a reward takes about
0.1 ms, and these were several percent of it. It trusts nothing from the call before: whatever is not exactly as
expected gets the contract's long look.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

import torch
from torch import Tensor

RESIDUAL = "residual"
_ROUNDING = 1e-5
_LARGE_RESIDUAL = 1e-3


class Components(dict[str, Tensor]):
    """What one call of a reward returns: component name to (N,) float32, already weighted.

    Attributes:
        total: Their sum, (N,) float32: the reward.
    """

    __slots__ = ("total",)
    total: Tensor


QuickLook = Callable[[Any, torch.Size], Components | None]
"""From what a reward returned, and (N,), to its components; None unless it is certain that they are sound."""


def quick_look(names: tuple[str, ...], with_total: bool) -> QuickLook:
    """A look at what surely shares no memory with the inputs.

    Args:
        names: The components' names, in their order.
        with_total: Whether the reward returns `(total, components)`.

    Returns:
        A function that tells the same as the contract where all values are (N,) float32 tensors and their sum is
        finite, and None where anything is otherwise.
    """
    scope = {
        **{"names": names, "Tensor": Tensor, "float32": torch.float32, "isfinite": math.isfinite},
        **{"Components": Components, "drop_rounding": drop_rounding, "residual_name": RESIDUAL},
    }
    exec(_code(len(names), with_total), scope)
    return scope["look"]


@functools.cache
def _code(count: int, with_total: bool) -> CodeType:
    """The look's code; nothing of a reward but the number of its components is in the text."""
    values = [f"value{index}" for index in range(count)]
    looked_at = [*values, "total"] if with_total else values
    lines = [
        *(["if type(returned) is not tuple or len(returned) != 2: return None"] if with_total else []),
        "total, parts = returned" if with_total else "parts = returned",
        "if type(parts) is not dict or tuple(parts) != names: return None",
        f"{', '.join(values)}, = parts.values()",
        *(f"if {_unlike(each)}: return None" for each in looked_at),
        "combined = value0 + value1" if count > 1 else "combined = value0.clone()",
        *(f"combined += {each}" for each in values[2:]),
        "combined = total - combined" if with_total else "total = combined",
        "squares = combined.dot(combined).item()",
        "if not isfinite(squares): return None",
        "found = Components(parts)",
        "found.total = total",
        *(["found[residual_name] = combined"] if with_total else []),
        *([f"if squares > 0.0: drop_rounding(combined, squares, total, ({', '.join(values)},))"] if with_total else []),
        "return found",
    ]
    return compile("def look(returned, shape):\n" + "".join(f"    {line}\n" for line in lines), "<look>", "exec")


def _unlike(value: str) -> str:
    return f"type({value}) is not Tensor or {value}.dtype is not float32 or {value}.shape != shape"


def added_up(values: Sequence[Tensor]) -> Tensor:
    """The sum of components, (N,), one after the other.

    A reduction over stacked components adds them up in another order near the end of the batch, and a slice would be
    priced otherwise among others than alone.

    Args:
        values: At least one, (N,) each.
    """
    total = values[0] + values[1] if len(values) > 1 else values[0].clone()
    for value in values[2:]:
        total += value
    return total


def drop_rounding(residual: Tensor, squares: float, total: Tensor, values: Sequence[Tensor]) -> None:
    """Set to zero what may come from adding up the same numbers in another order.

    In the usual cases there is nothing to do, and one operation or none tells: a reward that adds up its components in
    their order has no residual to the last bit, and one that leaves out a term has a large one.

    Args:
        residual: The total less the components, (N,), changed in place.
        squares: The sum of its squares.
        total: The total, (N,).
        values: The components, (N,) each.
    """
    if squares > _LARGE_RESIDUAL**2 * total.dot(total).item():
        return
    rounding = torch.stack(list(values)).abs_().amax(0).mul_(_ROUNDING)
    residual.masked_fill_(residual.abs() <= rounding, 0.0)
