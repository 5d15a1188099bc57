"""What the wording of a task's variables implies, for a task that does not declare it: pairs, invariances and flags."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from torch import Tensor

from rewardgen.sim.quantities import Quantity
from rewardgen.sim.variables import Flip, Invariance, Pair, Shift, Var, Wrap

_WRAPPED = re.compile(r"[\[(]\s*-\s*(pi|π)\s*,\s*(pi|π)\s*[\])]")
_COST = re.compile(
    r"\b(error|distance (to|from|between)|deviation|torque|effort|energy|power|load|cost|penalty|jerk|violation)\b"
)
_GOOD = re.compile(r"\b1 (upright|level|standing|aligned|while no termination)\b")
_FLAG = re.compile(r"^(?:1 (?:while|if|when)|whether)\b|\b(?:0 or 1|1 or 0|flag)\b", re.IGNORECASE)
_QUATERNIONS = ({"w", "x", "y", "z"}, {"qw", "qx", "qy", "qz"})


def implied_invariances(declared: Mapping[str, Var], inputs: Mapping[str, Tensor]) -> Iterator[Invariance]:
    """Changes of orientations and angles that mean nothing: a quaternion's sign, an angle's seam, and full turns.

    Args:
        declared: The task's variables by name.
        inputs: Their values in states that policies get to, (M, ...).
    """
    for name, variable in declared.items():
        if len(variable.parts) == 4 and {part.lower().rsplit("_", 1)[-1] for part in variable.parts} in _QUATERNIONS:
            yield Flip(name)
        elif variable.unit == "rad" and not variable.parts:
            if _WRAPPED.search(variable.meaning):
                yield Wrap(name)
            elif float(inputs[name].abs().max()) > math.pi + 0.1:
                yield Shift(name, 2.0 * math.pi)


def implied_pairs(declared: Mapping[str, Var], inputs: Mapping[str, Tensor]) -> Iterator[Pair]:
    """Situations of which one is better by the words for what differs: a cost, or being upright, and full effort.

    Args:
        declared: The task's variables by name.
        inputs: Their values and the actions in states that policies get to, (M, ...).
    """
    most = float(inputs["action"].abs().max())
    yield Pair("gentle beats full effort", better={"action": 0.1 * most}, worse={"action": most})
    for name, variable in declared.items():
        low, high = float(inputs[name].min()), float(inputs[name].max())
        if variable.unit == "1" and _GOOD.search(variable.meaning):
            yield Pair(f"{name} beats not {name}", better={name: 1.0}, worse={name: 0.0})
        elif 0.0 <= low < high and _COST.search(f"{name.replace('_', ' ')}; {variable.meaning}".lower()):
            yield Pair(f"little {name} beats much", better={name: low}, worse={name: high})


def is_called_flag(variable: Var) -> bool:
    """Whether a variable is 0 or 1 by what is said of it."""
    touches = isinstance(variable, Quantity) and variable.code.startswith("Touching(")
    return touches or (variable.unit == "1" and bool(_FLAG.search(variable.meaning)))


def implied_flags(declared: Mapping[str, Var], inputs: Mapping[str, Tensor]) -> Iterator[str]:
    """Names of the variables that are either 0 or 1: nothing else was seen, and both were, or it is said of them.

    Args:
        declared: The task's variables by name.
        inputs: Their recorded values, (M, ...).
    """
    for name, variable in declared.items():
        value = inputs[name]
        up, down = value == 1.0, value == 0.0
        if bool((up | down).all()) and (is_called_flag(variable) or bool(up.any() and down.any())):
            yield name
