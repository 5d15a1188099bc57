"""The numbers of a task card that a term can read, each with its kind, its direction words and its measured range."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from rewardgen.designer.builtin.genome import TermInput
from rewardgen.designer.builtin.words import content_words, has, value_when
from rewardgen.store.records import TaskCard, VariableCard

Kind = Literal["speed", "rate", "length", "distance", "angle", "cosine", "flag", "other"]

DESIRED = r"(?:fully )?upright|standing|level|balanced|straight|vertical|up|aligned|on target|in the reference pose"
"""States that a robot is usually asked to be in."""


@dataclass(frozen=True)
class Quantity:
    """A scalar of the card: a variable, a part of one, or the length or distance of vectors.

    `words` are its name, part and meaning in lower case; `low`, `middle`, `high` the range that trivial policies reach.
    """

    input: TermInput
    kind: Kind
    words: str
    low: float
    middle: float
    high: float
    crowd: int = 1
    """Parts of the vector it comes from: a joint of many matters less than a torso."""

    @property
    def span(self) -> float:
        """Width of the measured range, never 0."""
        return max(self.high - self.low, 1e-3)

    @property
    def extent(self) -> float:
        """Largest measured magnitude, never 0."""
        return max(abs(self.low), abs(self.high), 1e-3)

    def says(self, pattern: str) -> bool:
        """Whether its words match a pattern."""
        return has(self.words, pattern)

    @property
    def nouns(self) -> frozenset[str]:
        """The content words of its name and meaning."""
        return content_words(self.words.replace("_", " "))

    @property
    def desired(self) -> float | None:
        """The value that its meaning gives for a state one usually wants, such as upright."""
        return value_when(self.words, DESIRED)


def quantities(card: TaskCard) -> tuple[Quantity, ...]:
    """All scalars of a card that actions can change: variables, parts of vectors, distances between points."""
    found: list[Quantity] = []
    for variable in card.variables:
        if variable.shape:
            names = [*variable.parts, *(str(index) for index in range(len(variable.parts), variable.shape[0]))]
            found += [_measured(variable, index, _part_words(variable, name)) for index, name in enumerate(names)]
        else:
            found.append(_measured(variable, None, f"{_spoken(variable)}: {variable.meaning}".lower()))
        if _is_offset(variable):
            reach = math.sqrt(sum(max(abs(low), abs(high)) ** 2 for low, high in _ranges(variable))) or 1.0
            words = f"distance {_spoken(variable)} {variable.meaning}".lower()
            read = TermInput(variable.name, form="norm")
            found.append(Quantity(read, "distance", words, 0.0, reach / 2, reach))
    targets = [each for each in card.variables if has(f"{_spoken(each)} {each.meaning}".lower(), "target|goal")]
    others = [each for each in card.variables if each not in targets]
    for target in targets:
        alike = [each for each in others if each.shape == target.shape and unit_of(each) == unit_of(target)]
        found += [_gap(each, target) for each in alike]
    given = {(each.name, part) for each in card.variables for part, yes in enumerate(each.given) if yes}
    return tuple(each for each in found if not _is_given(each.input, given))


def _is_given(read: TermInput, given: Collection[tuple[str, int]]) -> bool:
    """Whether no action changes it. What it is compared with may be given: a distance to a target is not."""
    return read.form == "value" and (read.variable, read.part or 0) in given


def extent(variable: VariableCard) -> float:
    """Largest measured magnitude over all parts, never 0; 1 if nothing was measured."""
    measured = [abs(value) for value in (*variable.minimum, *variable.maximum) if math.isfinite(value)]
    return max(max(measured, default=1.0), 1e-3)


def unit_of(variable: VariableCard) -> str:
    """The unit in one spelling: no spaces, `rad` for radians."""
    return variable.unit.lower().replace(" ", "").replace("radians", "rad").replace("meters", "m")


def _spoken(variable: VariableCard) -> str:
    return variable.name.replace("_", " ")


def _part_words(variable: VariableCard, part: str) -> str:
    """The words on one part: its name, the clauses that name it, and those that name no part."""
    clauses = re.split(r"[,;:()]", variable.meaning.lower())
    named = [clause for clause in clauses if has(clause, re.escape(part.lower()))]
    common = [clause for clause in clauses if not any(has(clause, re.escape(each.lower())) for each in variable.parts)]
    return " ".join([_spoken(variable), part.lower().replace("_", " "), *named, *common])


def _measured(variable: VariableCard, part: int | None, words: str) -> Quantity:
    index = part or 0
    low, middle, high = (
        values[index] if index < len(values) and math.isfinite(values[index]) else missing
        for values, missing in ((variable.minimum, -1.0), (variable.median, 0.0), (variable.maximum, 1.0))
    )
    kind = _kind(unit_of(variable), words, low, high)
    crowd = variable.shape[0] if variable.shape else 1
    return Quantity(TermInput(variable.name, part), kind, words, low, middle, high, crowd)


def _kind(unit: str, words: str, low: float, high: float) -> Kind:
    if unit in ("m/s", "m/step", "ms^-1"):
        return "speed"
    if unit in ("rad/s", "deg/s"):
        return "rate"
    if unit in ("m", "cm", "mm"):
        return "distance" if low >= 0 and has(words, r"distance|gap|error|separation") else "length"
    if unit in ("rad", "deg"):
        return "angle"
    if unit not in ("1", ""):
        return "other"
    if has(words, r"cos|cosine|projection|alignment|uprightness|upright") and -1.01 <= low <= high <= 1.01:
        return "cosine"
    return "flag" if 0 <= low <= high <= 1 and has(words, r"1 (?:while|when|if)") else "other"


def _is_offset(variable: VariableCard) -> bool:
    """Whether a vector points from one place to another, so that its length is a distance."""
    words = r"vector (?:from|to)|offset|displacement|from \w+ (?:\w+ )?to|relative to the (?:target|goal)"
    return variable.shape in ((2,), (3,)) and unit_of(variable) == "m" and has(variable.meaning.lower(), words)


def _gap(variable: VariableCard, target: VariableCard) -> Quantity:
    """The distance of a point to its target."""
    pairs = zip(_ranges(variable), _ranges(target), strict=False)
    reach = math.sqrt(sum(max(abs(a[1] - b[0]), abs(b[1] - a[0])) ** 2 for a, b in pairs)) or 1.0
    words = f"distance to target {_spoken(variable)} {variable.meaning}".lower()
    kind: Kind = "distance" if unit_of(variable) in ("m", "rad", "1") else "other"
    read = TermInput(variable.name, form="gap_norm" if variable.shape else "gap", other=target.name)
    return Quantity(read, kind, words, 0.0, reach / 2, reach)


def _ranges(variable: VariableCard) -> list[tuple[float, float]]:
    return list(zip(variable.minimum, variable.maximum, strict=False))
