"""Implications of the wording of a task's variables: invariances, and flags."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from torch import Tensor

from rewardgen.sim.quantities import Quantity
from rewardgen.sim.variables import Flip, Invariance, Shift, Var, Wrap

_WRAPPED = re.compile(r"[\[(]\s*-\s*(pi|π)\s*,\s*(pi|π)\s*[\])]")
_FLAG = re.compile(r"^(?:1 (?:while|if|when)|whether)\b|\b(?:0 or 1|1 or 0|flag)\b", re.IGNORECASE)
_QUATERNIONS = ({"w", "x", "y", "z"}, {"qw", "qx", "qy", "qz"})


def implied_invariances(declared: Mapping[str, Var], inputs: Mapping[str, Tensor]) -> Iterator[Invariance]:
    """Yield changes of orientations and angles that mean nothing: a quaternion's sign, an angle's seam, full turns.

    Args:
        declared: The task's variables by name.
        inputs: Their values in states that policies reach, (M, ...).
    """
    for name, variable in declared.items():
        if len(variable.parts) == 4 and {part.lower().rsplit("_", 1)[-1] for part in variable.parts} in _QUATERNIONS:
            yield Flip(name)
        elif variable.unit == "rad" and not variable.parts:
            if _WRAPPED.search(variable.meaning):
                yield Wrap(name)
            elif float(inputs[name].abs().max()) > math.pi + 0.1:
                yield Shift(name, 2.0 * math.pi)


def is_called_flag(variable: Var) -> bool:
    """Return whether a variable is 0 or 1 by its declaration."""
    touches = isinstance(variable, Quantity) and variable.code.startswith("Touching(")
    return touches or (variable.unit == "1" and bool(_FLAG.search(variable.meaning)))


def implied_flags(declared: Mapping[str, Var], inputs: Mapping[str, Tensor]) -> Iterator[str]:
    """Yield variables that were only ever 0 or 1, and that are declared so or took both values, (M, ...)."""
    for name, variable in declared.items():
        up, down = inputs[name] == 1.0, inputs[name] == 0.0
        if bool((up | down).all()) and (is_called_flag(variable) or bool(up.any() and down.any())):
            yield name
