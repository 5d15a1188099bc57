"""What looks like a slip in a task file, though Python takes it: odd units, a fitness of nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rewardgen.sim.contract import Problem
from rewardgen.tasks.protocol import Task

_SPELLED_OUT = (
    (r"\b(?:per|by)\b", "/"),
    (r"\b(?:met(?:er|re)s?|mtrs?)\b", "m"),
    (r"\b(?:seconds?|secs?)\b", "s"),
    (r"\b(?:radians?|rads)\b", "rad"),
    (r"\bnewtons?\b", "N"),
    (r"\b(?:kilograms?|kgs|kilos?)\b", "kg"),
    (r"\bjoules?\b", "J"),
    (r"\bhertz\b", "Hz"),
    (r"^(?:-|none|dimensionless|unitless|number|ratio|fraction|scalar)$", "1"),
    (r"\s*/\s*", "/"),
)


def unit_notes(task: Task) -> list[Problem]:
    """Units that are written out."""
    found = []
    for name, variable in task.declared().items():
        unit = variable.unit.strip()
        for pattern, symbol in _SPELLED_OUT:
            unit = re.sub(pattern, symbol, unit, flags=re.IGNORECASE)
        if " " in unit and re.fullmatch(r"1|[A-Za-z]{1,3}([/ ^][A-Za-z\d]{1,3})*", variable.meaning.strip()):
            what = f"the unit of `{name}` is `{variable.unit}`, and its meaning `{variable.meaning}`"
            found.append(Problem(what, f'the unit comes first: `Var("{variable.meaning}", "{variable.unit}")`'))
        elif unit != variable.unit:
            what = f"the unit of `{name}` is `{variable.unit}`, which nothing that reads units knows"
            found.append(Problem(what, f"did you mean `{unit}`?"))
    return found


def success_notes(rates: Sequence[float]) -> list[Problem]:
    """A success that policies have which know nothing.

    Args:
        rates: Success rate of each of the trivial policies.
    """
    if not rates or min(rates) < 1.0:
        return []
    what = "every episode of no action and of random actions is a success"
    return [Problem(what, "ask in `success` for what only a policy that does the task reaches")]


def fitness_notes(values: Sequence[float]) -> list[Problem]:
    """A fitness that tells no episode from another.

    Args:
        values: The fitness of each of the trivial policies' episodes.
    """
    if len(set(values)) != 1:
        return []
    what = f"the fitness is {values[0]:g} in all {len(values)} episodes of no action and of random actions"
    hint = "if they all do equally badly, that is right, but a fitness that grows on the way there tells rewards apart"
    return [Problem(what, hint)]
