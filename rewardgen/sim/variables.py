"""Declarations of a task about its variables: units, pairs of situations, invariances. Loads no torch.

These are plain values: they go into files of transitions, and from there to processes that run generated code.
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
        meaning: What it is, with its frame and sign convention.
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
        low: It ends below this value.
        high: It ends above this value.
    """

    variable: str
    low: float = -math.inf
    high: float = math.inf

    def in_words(self, unit: str) -> str:
        """When it ends an episode.

        Args:
            unit: Of the variable.
        """
        bounds = {"below": self.low, "above": self.high}
        told = [f"{side} {bound:g} {unit}".removesuffix(" 1") for side, bound in bounds.items() if math.isfinite(bound)]
        return f"{self.variable} is {' or '.join(told)}"


Setting = float | tuple[float, ...]
"""A value of a variable; a single number stands for every part of a vector."""


@dataclass(frozen=True)
class Pair:
    """Two situations of which a reward must not prefer the second: the critic tries them on recorded states.

    The named variables are set, and their `prev_` with them, as if nothing had moved; everything else stays as
    recorded. Only rewards that read a variable in which the two differ are asked, and to like both alike is allowed.
    Set what decides along with what differs, such as a velocity to 0, so that no sound reward has a reason to disagree.

    Args:
        name: In words, such as "upright beats fallen".
        better: Variable or `action` to its value where more reward is due.
        worse: The same variables where less is due.
        graded: Whether there should still be something to gain on the second half of the way from worse to better.
    """

    name: str
    better: Mapping[str, Setting]
    worse: Mapping[str, Setting]
    graded: bool = False


@dataclass(frozen=True)
class Shift:
    """Declares that nothing changes when variables are moved together, now and one step earlier.

    Args:
        variables: One variable, or several such as the positions of a hand and of what it reaches for.
        amount: By how much, one number or one per part.
    """

    variables: str | tuple[str, ...]
    amount: Setting
    kind: Literal["shift"] = "shift"


@dataclass(frozen=True)
class Flip:
    """Declares that a quaternion and its negative mean the same.

    Args:
        variables: One variable or several; each is flipped by itself.
    """

    variables: str | tuple[str, ...]
    kind: Literal["flip"] = "flip"


@dataclass(frozen=True)
class Wrap:
    """Declares an angle in (-pi, pi] that goes on from one end to the other.

    Args:
        variables: One variable or several; each is wrapped by itself.
    """

    variables: str | tuple[str, ...]
    kind: Literal["wrap"] = "wrap"


Invariance = Shift | Flip | Wrap


def variables_of(invariance: Invariance) -> tuple[str, ...]:
    """The variables that a declared invariance is about."""
    named = invariance.variables
    return (named,) if isinstance(named, str) else tuple(named)
