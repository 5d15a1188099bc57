"""Numbers and vectors of a task card that a term can read, with kind, words and measured range."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from rewardgen.store.records import TaskCard, VariableCard

Kind = Literal["speed", "rate", "length", "distance", "angle", "cosine", "flag", "vector", "other"]

_WANTED = r"(?:fully )?upright|standing|level|balanced|straight|vertical|up|aligned|on target|in the reference pose"
"""States that a robot is usually asked to be in."""
_STOP_WORDS = (
    "an|and|are|as|at|be|by|for|from|has|have|in|into|is|it|its|least|more|most|of|on|or|than|that|the|then|there|this|to|"
    "when|which|while|with|one|per|all|each|every|step|time|second|robot|task"
)
_UNITS: dict[str, Kind] = {"m/s": "speed", "rad/s": "rate", "deg/s": "rate", "m": "length", "rad": "angle"}
_EXPLANATION = re.compile(r"(?: in)? ?[,;:(\[]| - |\. ")
"""Separator of a meaning from its explanation."""


@dataclass(frozen=True)
class Feature:
    """A variable, one part of it, all of it as a vector, or a distance."""

    name: str
    x: str
    """Its Python expression."""
    what: str
    """Its meaning in a few words, for comments."""
    kind: Kind
    words: str
    """Name, part and meaning, lower case."""
    low: float = -1.0
    middle: float = 0.0
    high: float = 1.0
    """Range and median under trivial policies."""
    crowd: int = 1
    """Parts of the vector that it comes from: one joint of many matters less than a torso."""

    @property
    def extent(self) -> float:
        """Largest measured magnitude, never 0."""
        return max(abs(self.low), abs(self.high), 1e-3)

    def says(self, pattern: str) -> bool:
        """True if its words match a pattern."""
        return has(self.words, pattern)

    @property
    def is_forward(self) -> bool:
        """True for a speed or place of the robot along the forward axis."""
        return self.says("forwards?|ahead|x") and not self.says("foot|feet|hands?")

    @property
    def nouns(self) -> frozenset[str]:
        """The content words of its name and meaning."""
        return nouns(self.words.replace("_", " "))

    @property
    def wanted(self) -> float | None:
        """The value that its meaning names for a state one usually wants: 1 for "1 upright, -1 hanging"."""
        number = r"(-?\d+(?:\.\d+)?|zero)"
        link = r"(?:\s*(?:when|if|for|means|is|=|at|:|while|with|the|it|pole|body|torso|fully|straight))*"
        match = re.search(rf"(?<![\w.]){number}{link}\s+(?:\w+\s+)?(?:{_WANTED})\b", self.words)
        match = match or re.search(rf"\b(?:{_WANTED})\s*(?:is|=|at|being|means|:)\s*{number}", self.words)
        return float(match[1].replace("zero", "0")) if match else None


def features_of(card: TaskCard) -> tuple[Feature, ...]:
    """All numbers of a card that actions can change: variables, parts of vectors, whole vectors, distances."""
    numbers = [number for variable in card.variables for number in _read(variable)]
    targets = [variable for variable in card.variables if has(_words(variable), "target|goal")]
    for target in targets:
        for point in card.variables:
            alike = (point.shape, _unit(point)) == (target.shape, _unit(target)) and _unit(point) in ("m", "rad")
            if alike and point not in targets and not has(_words(point), "distance"):
                numbers.append(_gap(point, target))
    return tuple(numbers)


def _read(variable: VariableCard) -> list[Feature]:
    """A scalar variable; or each part of a vector, the vector, and its length if it points to another place."""
    name, words, unit, meaning = variable.name, _words(variable), _unit(variable), _meaning(variable)
    if not variable.shape:
        low, middle, high = _range(variable, 0)
        scalar = Feature(name, name, meaning, _kind(unit, words, low, high), words, low, middle, high)
        return [] if any(variable.fixed_at_start) else [scalar]
    size, clauses = variable.shape[0], re.split(r"[,;:()]", words)
    parts = [*variable.parts, *map(str, range(len(variable.parts), size))]
    numbers: list[Feature] = []
    for index, part in enumerate(parts):
        others = "|".join(re.escape(other.lower()) for other in parts if other != part)
        about = " ".join([part.lower(), *(clause for clause in clauses if not others or not has(clause, others))])
        label = f"{name}_{'_'.join(re.findall('[a-z0-9]+', part.lower()))}"
        low, middle, high = _range(variable, index)
        kind = _kind(unit, about, low, high)
        numbers.append(
            Feature(label, f"{name}[:, {index}]", f"{meaning} ({part})", kind, about, low, middle, high, size)
        )
    reach = math.hypot(*(number.extent for number in numbers))
    offset = r"vector (?:from|to)|offset|displacement|from \w+ (?:\w+ )?to|relative to the (?:target|goal)"
    if unit == "m" and size in (2, 3) and has(words, offset):
        norm, words = f"{name}.norm(dim=-1)", f"distance {words}"
        numbers.append(Feature(f"{name}_norm", norm, f"length of {meaning}", "distance", words, 0.0, reach / 2, reach))
    if any(variable.fixed_at_start):
        return [number for number, fixed in zip(numbers, variable.fixed_at_start, strict=False) if not fixed]
    extent = max((number.extent for number in numbers), default=1.0)
    return [*numbers, Feature(name, name, meaning, "vector", f"{unit} {words}", high=extent)]


def _range(variable: VariableCard, part: int) -> tuple[float, float, float]:
    """Lowest, median and highest measured value of a part."""
    measured = (variable.minimum[part:], variable.median[part:], variable.maximum[part:])
    if not all(measured) or not all(math.isfinite(values[0]) for values in measured):
        return -1.0, 0.0, 1.0
    return measured[0][0], measured[1][0], measured[2][0]


def _gap(point: VariableCard, target: VariableCard) -> Feature:
    """The distance of a point to its target."""
    ranges = zip(point.minimum, point.maximum, target.minimum, target.maximum, strict=False)
    reach = math.hypot(*(max(abs(high - least), abs(most - low)) for low, high, least, most in ranges)) or 1.0
    x = f"({point.name} - {target.name}).{'norm(dim=-1)' if point.shape else 'abs()'}"
    name, meaning = f"{point.name}_to_{target.name}", f"distance of {_meaning(point)} to {_meaning(target)}"
    return Feature(name, x, meaning, "distance", f"distance to target {_words(point)}", 0.0, reach / 2, reach)


def _kind(unit: str, words: str, low: float, high: float) -> Kind:
    if unit == "m" and low >= 0 and has(words, r"distance|gap|error|separation"):
        return "distance"
    if unit in ("1", "") and has(words, r"cos\w*|projection|alignment|upright\w*") and -1.01 <= low <= high <= 1.01:
        return "cosine"
    if unit in ("1", "") and 0 <= low <= high <= 1 and has(words, r"1 (?:while|when|if)"):
        return "flag"
    return _UNITS.get(unit, "other")


def _unit(variable: VariableCard) -> str:
    return variable.unit.lower().replace(" ", "").replace("radians", "rad").replace("meters", "m")


def _words(variable: VariableCard) -> str:
    return f"{variable.name.replace('_', ' ')}: {variable.meaning}".lower()


def _meaning(variable: VariableCard) -> str:
    """Meaning of a variable without the explanations that follow a comma or bracket."""
    clause = _EXPLANATION.split(" ".join(variable.meaning.split()))[0].translate(str.maketrans('"\\', "'/"))
    return re.sub(r"^1 (?:while|when|if) ", "", clause).rstrip(".") or variable.name.replace("_", " ")


def has(text: str, pattern: str) -> bool:
    """True if whole words of a text match a pattern."""
    return re.search(rf"\b(?:{pattern})\b", text) is not None


def nouns(text: str) -> frozenset[str]:
    """The words of a text that carry meaning, singular."""
    words = (word.removesuffix("s") for word in re.findall(r"[a-z]{2,}", text.lower()))
    return frozenset(word for word in words if not re.fullmatch(_STOP_WORDS, word))
