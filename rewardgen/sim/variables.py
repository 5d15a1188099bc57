"""Declarations of a task about its variables: units, pairs of situations, invariances. Loads no torch.

Declarations are plain values, because files of transitions carry them to processes that run generated code.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Var:
    """Declares a variable of a task that rewards may read.

    Args:
        unit: SI unit, `rad`, or `1` for a pure number.
        meaning: Meaning in words, with frame and sign convention.
        parts: Names of the entries of a vector variable, in order; empty for a scalar per env.
    """

    unit: str
    meaning: str
    parts: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape without the env axis: () or (k,)."""
        return (len(self.parts),) if self.parts else ()


@dataclass(frozen=True)
class Outside:
    """Ends an episode where a variable leaves a range: `ends = {"fell": Outside("height", low=0.5)}`.

    Args:
        variable: Name of a scalar variable.
        low: Lower bound; the episode ends below it.
        high: Upper bound; the episode ends above it.
    """

    variable: str
    low: float = -math.inf
    high: float = math.inf

    def in_words(self, unit: str) -> str:
        """Describe the condition, with the unit of the variable."""
        bounds = {side: bound for side, bound in (("below", self.low), ("above", self.high)) if math.isfinite(bound)}
        sides = [f"{side} {bound:g} {unit}".removesuffix(" 1") for side, bound in bounds.items()]
        return f"{self.variable} is {' or '.join(sides)}"


Setting = float | tuple[float, ...]
"""A value of a variable; a single number stands for every part of a vector."""


def setting_text(value: Setting) -> str:
    """Write a value out: `0.5`, or `(0.5, 1)`."""
    return f"{value:g}" if isinstance(value, float | int) else f"({', '.join(f'{number:g}' for number in value)})"


@dataclass(frozen=True)
class Pair:
    """Two situations of which a reward must not prefer the second. The critic sets them into recorded states.

    The critic sets the named variables and their `prev_`, as if nothing moved, and keeps all others as recorded. The
    pair tests only rewards that read a variable in which the situations differ; equal rewards pass. Also set variables
    that could give a sound reward a reason to disagree, such as a velocity to 0.

    Args:
        name: Statement in words, such as "upright beats fallen".
        better: Values of variables or `action` that deserve more reward.
        worse: Values of the same variables that deserve less.
    """

    name: str
    better: Mapping[str, Setting]
    worse: Mapping[str, Setting]


@dataclass(frozen=True)
class Shift:
    """Declares that rewards do not change when variables are shifted together, now and one step earlier.

    Args:
        variables: One variable or several, such as the positions of a hand and of its goal.
        amount: Shift, one number or one per part.
    """

    variables: str | tuple[str, ...]
    amount: Setting
    kind: Literal["shift"] = "shift"


@dataclass(frozen=True)
class Flip:
    """Declares that a quaternion and its negative mean the same.

    Args:
        variables: One variable or several, flipped separately.
    """

    variables: str | tuple[str, ...]
    kind: Literal["flip"] = "flip"


@dataclass(frozen=True)
class Wrap:
    """Declares an angle in (-pi, pi] whose ends mean the same.

    Args:
        variables: One variable or several, wrapped separately.
    """

    variables: str | tuple[str, ...]
    kind: Literal["wrap"] = "wrap"


Invariance = Shift | Flip | Wrap


def variables_of(invariance: Invariance) -> tuple[str, ...]:
    """Return the variables of an invariance."""
    named = invariance.variables
    return (named,) if isinstance(named, str) else tuple(named)
