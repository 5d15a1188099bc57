"""Features of a task card, and ideas for terms that reward them, with a role and a prior each.

Priors come from units and words alone. Ideas against the grain of the words (the other direction, another target) stay
in with a small prior, because words can mislead and a search can find out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from rewardgen.designer.builtin.terms import Term, make_term
from rewardgen.store.measurements import TIME_LIMIT
from rewardgen.store.records import TaskCard, VariableCard

Kind = Literal["speed", "rate", "length", "distance", "angle", "cosine", "flag", "vector", "other"]

_WANTED = r"(?:fully )?upright|standing|level|balanced|straight|vertical|up|aligned|on target|in the reference pose"
"""Usual aims for a state."""
_STOP_WORDS = (
    "an|and|are|as|at|be|by|for|from|has|have|in|into|is|it|its|least|more|most|of|on|or|than|that|the|then|there|this|to|"
    "when|which|while|with|one|per|all|each|every|step|time|second|robot|task"
)
_UNITS: dict[str, Kind] = {"m/s": "speed", "rad/s": "rate", "deg/s": "rate", "m": "length", "rad": "angle"}
_EXPLANATION = re.compile(r"(?: in)? ?[,;:(\[]| - |\. ")
"""Separator of a meaning from its explanation."""

Role = Literal["drive", "posture", "steady", "cost", "alive"]
"""Purpose of a term: the task itself, a pose worth keeping, calm where nothing should move, thrift, survival."""

Proposal = tuple[Role, str, str, float, dict[str, float]]
"""Role, topic, shape, prior before the importance of the feature, and constants; `size` scales the weight."""

_WEIGHTS: dict[Role, float] = {"drive": 1.0, "posture": 0.3, "steady": 0.1, "cost": 0.05, "alive": 1.0}
"""First weight of a term, which is its size per step, because shapes are within about 0 and 1.

Survival weighs as much as the drive: a fall costs all later steps, and a lunge must not outbid that.
"""
_INTENTS = {
    "forward": r"forwards?|ahead|runs?|running|walk\w*|hops?|hopping|gallop\w*|swims?|swimming|crawl\w*|sprint\w*",
    "backward": r"backwards?|in reverse|rearwards?",
    "upright": r"upright|balanc\w+|stand(?:s|ing)?|vertical|swing\w*(?: \w+){0,3}[ -]up|fall(?:s|ing)?|toppl\w+",
    "high": r"jump\w*|lifts?|raises?|rises?|as high as|higher|leap\w*|stand\w* up|gets? up|climb\w*",
    "reach": r"reach\w*|touch\w*|targets?|goals?|toward\w*|grasp\w*|push\w* .{0,30}\bto|grab\w*|insert\w*|close to",
    "still": r"still|motionless|at rest|hold\w*|stays?|calm\w*|without moving|hover\w*|balanc\w+",
    "spin": r"spin\w*|\w*flips?|flipping|somersaults?|cartwheels?|twirl\w*|turn\w* (?:round|around|over)",
}
"""Intents in a task's words."""
_ROOT = r"torso|trunk|body|base|root|pelvis|chassis|cent(?:re|er) of mass|com|robot|vehicle|hull"
_LIMBS = frozenset(("foot", "feet", "leg", "hand", "limb"))
"""Parts whose heights and speeds are not the robot's, unless the task is about them."""
_MOVES = ("forward", "backward", "high", "reach", "spin")
"""Intents that make a pose a means; without them the pose is the end."""
_AGAINST = 0.015
"""Prior of a direction that the words do not ask for."""


class Idea(NamedTuple):
    """A possible term, with first guesses for its constants. A reward has one term per topic."""

    role: Role
    topic: str
    term: Term
    prior: float
    """Weight of the card's words for it; 1 is much, 0.05 little."""
    shape: str


def ideas_on(card: TaskCard, goal: str = "") -> dict[str, Idea]:
    """Return all ideas on a card by component name, likeliest first; at least one is a drive."""
    reader, numbers = _Reader(card, goal), features_of(card)
    full = sum(bound**2 for bound in (*card.action_low, *card.action_high)) / max(2 * card.action_size, 1) or 1.0
    action = Feature("", "action", "action", "vector", "")
    ideas = [
        reader.idea(action, ("cost", "effort", "effort", 1.0, {"size": 1.0 / full})),
        reader.idea(action, ("cost", "smooth", "smoothness", 0.3, {"size": 0.5 / full})),
    ]
    ideas += [reader.idea(number, row) for number in numbers for row in getattr(reader, number.kind)(number)]
    if reader.survival and not any(idea.role == "alive" for idea in ideas):
        row: Proposal = ("alive", "alive", "alive", 0.8 * reader.survival, {"size": reader.survival})
        ideas += [reader.idea(Feature("", number.x, "", "vector", ""), row) for number in numbers[:1]]
    if not any(idea.role == "drive" for idea in ideas):
        ideas += [reader.idea(number, row) for number in numbers for row in reader.blind(number)]
    by_name: dict[str, Idea] = {}
    for idea in sorted(ideas, key=lambda idea: (-idea.prior, idea.term.name)):
        by_name.setdefault(idea.term.name, idea)
    return by_name


def rounded(value: float) -> float:
    """Round to three significant digits, as a person writes a constant."""
    return 0.0 if abs(value) < 1e-9 else float(f"{value:.3g}")


class _Reader:
    """Propose terms on a feature; the methods are named after the kinds of features."""

    def __init__(self, card: TaskCard, goal: str) -> None:
        self.card = card
        # A goal that names an intent replaces what the description's beginning and the success say.
        wished = has(goal.lower(), "|".join(_INTENTS.values()))
        task = card.description.partition("\n\n")[0]
        self.text = goal.lower() if wished else f"{card.success} {task} {goal}".lower()
        self.nouns = nouns(self.text)
        self.onward = self.ask("forward", "backward")
        self.pose: Role = "drive" if self.ask("upright") and not self.ask(*_MOVES) else "posture"
        self.pose_worth = 0.1 if self.ask("spin") else 1.0
        falls = max((1.0 - probe.terminations.get(TIME_LIMIT, 0.0) for probe in card.probes), default=1.0)
        # Where success or a wanted end ends an episode, a bonus per step would keep off it.
        ends_well = card.success_terminates or card.benign_terminations
        self.survival = 0.0 if ends_well or not card.termination_causes else max(falls, 0.2)

    def ask(self, *intents: str) -> bool:
        """True if the words express one of some intents."""
        return has(self.text, "|".join(_INTENTS[intent] for intent in intents))

    def named(self, unit: str, default: float) -> float:
        """The first positive number of a unit in the words: 2 for "at 2 m/s"."""
        numbers = [float(number) for number in re.findall(rf"(\d+(?:\.\d+)?) ?{unit}\b", self.text)]
        return next((number for number in numbers if number > 0.0), default)

    def idea(self, number: Feature, proposal: Proposal) -> Idea:
        """The idea of a proposal, its prior scaled by the importance of the feature."""
        role, topic, shape, prior, constants = proposal
        constants = {name: rounded(value) for name, value in constants.items()}
        weight = rounded(_WEIGHTS[role] * constants.pop("size", 1.0))
        name = f"{number.name}_{shape}".strip("_")
        name = f"{name}_term" if name in self.card.input_names() else name
        term = make_term(name, shape, number.x, number.meaning, weight, **constants)
        topic = f"{topic}:fine" if shape == "fine" else topic
        return Idea(role, topic, term, prior * self.importance(number), shape)

    def importance(self, number: Feature) -> float:
        """Weight of a feature: high for the root body and for words of the task, low for one joint of many."""
        if number.kind == "vector":
            return 1.0
        if number.crowd > 3 or number.says("joints?"):
            return 0.1 / number.crowd
        named = len(number.nouns & self.nouns)
        central = 1.0 if number.says(_ROOT) or named or number.kind == "flag" else 0.4
        limb = 0.1 if number.nouns & _LIMBS - self.nouns and number.kind != "distance" else 1.0
        return central * limb * (1.0 if number.crowd == 1 else 0.4) * (1.0 + 0.1 * min(named, 3))

    def along(self, topic: str, number: Feature, reverse: bool = False) -> Iterator[Proposal]:
        """Motion in the wanted direction."""
        extent = max(number.extent, 0.1)
        reference = self.named(r"m/s", extent) if number.kind == "speed" else extent
        yield "drive", topic, "progress", _AGAINST if reverse else 1.0, {"reference": reference}
        yield "drive", topic, "reverse", 1.0 if reverse else _AGAINST, {"reference": reference}

    def around(self, role: Role, topic: str, number: Feature, target: float, prior: float) -> Iterator[Proposal]:
        """A feature at a target, with a slope anywhere in its measured range."""
        reach = max(abs(number.low - target), abs(number.high - target), 1e-3)
        yield role, topic, "near", prior, {"target": target, "temperature": 0.5 * reach**2}
        yield role, topic, "pull", 0.4 * prior, {"target": target, "width": 0.5 * reach}
        yield role, topic, "fine", 0.05 * prior, {"target": target, "temperature": 0.025 * reach**2}

    def speed(self, number: Feature) -> Iterator[Proposal]:
        if self.onward and number.is_forward:
            yield from self.along("forward", number, self.ask("backward"))
        elif self.ask("high") and number.says("vertical|upwards?|z"):
            yield from self.along("rising", number)
        else:
            yield "steady", f"still:{number.name}", "still", 0.15, {"scale": number.extent}

    def rate(self, number: Feature) -> Iterator[Proposal]:
        if self.ask("spin"):
            yield from self.along("spin", number)
        yield "steady", f"still:{number.name}", "still", 0.3, {"scale": number.extent}

    def cosine(self, number: Feature) -> Iterator[Proposal]:
        target = -1.0 if (number.wanted or 1.0) < 0 else 1.0
        along, against = ("aligned", "opposed") if target > 0 else ("opposed", "aligned")
        yield self.pose, "tilt", along, self.pose_worth, {}
        yield self.pose, "tilt", against, 0.03 * self.pose_worth, {}
        yield self.pose, "tilt", "near", 0.35 * self.pose_worth, {"target": target, "temperature": 0.5}
        yield self.pose, "tilt", "fine", 0.2 * self.pose_worth, {"target": target, "temperature": 0.025}

    def angle(self, number: Feature) -> Iterator[Proposal]:
        """A tilt upright, another angle where it mostly was."""
        tilt = number.says(r"pitch|roll|tilt|lean\w*|upright") or (number.wanted is not None and number.crowd == 1)
        role, topic, prior = (self.pose, "tilt", 0.8) if tilt else ("steady", f"angle:{number.name}", 0.1)
        target = number.wanted or 0.0 if tilt else number.middle
        if number.extent > 2.0:
            yield role, topic, "facing", prior * self.pose_worth, {"target": target}
            prior *= 0.3
        yield from self.around(role, topic, number, target, prior * self.pose_worth)

    def length(self, number: Feature) -> Iterator[Proposal]:
        """A height or a place, and its change along the way that the task asks for."""
        if number.says(r"vertical|above|height|elevation|altitude|z"):
            yield from self.height(number)
        elif self.onward and number.is_forward:
            step = self.named(r"m/s", 1.0) * self.card.control_step_s
            yield "drive", "forward", "approach" if self.ask("backward") else "advance", 0.25, {"step": step}
        elif number.says(r"middle|cent(?:re|er)|origin|rail|track|lateral|y"):
            role: Role = "drive" if self.nouns & {"origin", "centre", "center", "middle"} else "steady"
            yield from self.around(role, f"place:{number.name}", number, 0.0, 1.0 if role == "drive" else 0.5)

    def height(self, number: Feature) -> Iterator[Proposal]:
        span = max(number.high - number.low, 0.1 * number.extent)
        standing = number.wanted if number.wanted is not None else max(number.middle, 0.5 * number.high)
        margin = max(0.15 * abs(standing), 0.1 * span)
        prior = 0.7 if self.ask("upright") or self.card.termination_causes else 0.3
        if self.ask("high"):
            yield "drive", "height", "raised", 1.0, {"start": number.middle, "rise": 1.5 * span}
        yield self.pose, "height", "above", prior, {"floor": standing - margin, "margin": margin}
        yield self.pose, "height", "near", 0.4 * prior, {"target": standing, "temperature": 2.0 * margin**2}

    def distance(self, number: Feature) -> Iterator[Proposal]:
        """Small if the task is to reach something, or if it is an error; steep where the last centimetres count."""
        role, prior = ("drive", 1.0) if self.ask("reach") else ("posture", 0.3)
        reach, topic = number.extent, f"distance:{number.name}"
        width = min(0.02 * self.named("cm", 7.5 * reach), 0.5 * reach)
        # A change worth 1 crosses the measured range in a second, or in a tenth of a short episode.
        step = reach * self.card.control_step_s / max(min(1.0, 0.1 * self.card.episode_seconds), 1e-3)
        yield role, topic, "close", prior, {"target": 0.0, "temperature": 0.4 * reach}
        yield role, topic, "pull", 0.5 * prior, {"target": 0.0, "width": 0.3 * reach}
        yield role, topic, "fine", 0.55 * prior, {"target": 0.0, "temperature": width**2}
        yield role, f"{topic}:change", "approach", 0.4 * prior, {"step": step}

    def flag(self, number: Feature) -> Iterator[Proposal]:
        """A bonus for staying healthy, and perhaps for another state that holds."""
        if not number.says(r"healthy|alive|no termination|survives?"):
            yield "posture", f"flag:{number.name}", "kept", 0.1, {}
        elif self.survival:
            yield "alive", "alive", "kept", self.survival, {"size": self.survival}

    def vector(self, number: Feature) -> Iterator[Proposal]:
        """Calm joints and quiet contacts."""
        if number.says("rad/s|m/s"):
            yield "steady", f"calm:{number.name}", "calm", 0.2, {"scale": number.extent}
        elif number.says("forces?|torques?|loads?|n|nm"):
            yield "steady", f"calm:{number.name}", "calm", 0.04, {"scale": number.extent, "size": 0.5}

    def other(self, number: Feature, prior: float = 0.05) -> Iterator[Proposal]:
        """More or less of what the task's words name."""
        if number.nouns & self.nouns or prior > 0.05:
            yield "drive", f"other:{number.name}", "progress", prior, {"reference": number.extent}
            yield "drive", f"other:{number.name}", "reverse", prior, {"reference": number.extent}

    def blind(self, number: Feature) -> Iterator[Proposal]:
        """Without a word on the aim: more, less, or the middle of the range."""
        if number.kind != "vector":
            yield from self.other(number, 0.3)
            yield from self.around("drive", f"other:{number.name}", number, number.middle, 0.3)


# Features of a card.


@dataclass(frozen=True)
class Feature:
    """A variable, one part of it, all of it as a vector, or a distance."""

    name: str
    x: str
    """Python expression."""
    meaning: str
    """A few words, for comments."""
    kind: Kind
    words: str
    """Name, part and meaning, lower case."""
    low: float = -1.0
    middle: float = 0.0
    high: float = 1.0
    """Range and median under trivial policies."""
    crowd: int = 1
    """Number of parts in its vector: one joint of many matters less than a torso."""

    @property
    def extent(self) -> float:
        """Largest measured magnitude, never 0."""
        return max(abs(self.low), abs(self.high), 1e-3)

    def says(self, pattern: str) -> bool:
        """Return True if the words match a pattern."""
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
        """The value that the words name for a usual aim: 1 for "1 upright, -1 hanging"."""
        number = r"(-?\d+(?:\.\d+)?|zero)"
        link = r"(?:\s*(?:when|if|for|means|is|=|at|:|while|with|the|it|pole|body|torso|fully|straight))*"
        match = re.search(rf"(?<![\w.]){number}{link}\s+(?:\w+\s+)?(?:{_WANTED})\b", self.words)
        match = match or re.search(rf"\b(?:{_WANTED})\s*(?:is|=|at|being|means|:)\s*{number}", self.words)
        return float(match[1].replace("zero", "0")) if match else None


def features_of(card: TaskCard) -> tuple[Feature, ...]:
    """Return all numbers of a card that actions can change: variables, parts, whole vectors, distances."""
    numbers = [number for variable in card.variables for number in _read(variable)]
    targets = [variable for variable in card.variables if has(_words(variable), "target|goal")]
    for target in targets:
        for point in card.variables:
            alike = (point.shape, _unit(point)) == (target.shape, _unit(target)) and _unit(point) in ("m", "rad")
            if alike and point not in targets and not has(_words(point), "distance"):
                numbers.append(_gap(point, target))
    return tuple(numbers)


def _read(variable: VariableCard) -> list[Feature]:
    """Return a scalar; or the parts of a vector, the vector, and its length if it points to another place."""
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
    """Return lowest, median and highest measured value of a part."""
    measured = (variable.minimum[part:], variable.median[part:], variable.maximum[part:])
    if not all(measured) or not all(math.isfinite(values[0]) for values in measured):
        return -1.0, 0.0, 1.0
    return measured[0][0], measured[1][0], measured[2][0]


def _gap(point: VariableCard, target: VariableCard) -> Feature:
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
    """Return the meaning of a variable without explanations after a comma or bracket."""
    clause = _EXPLANATION.split(" ".join(variable.meaning.split()))[0].translate(str.maketrans('"\\', "'/"))
    return re.sub(r"^1 (?:while|when|if) ", "", clause).rstrip(".") or variable.name.replace("_", " ")


def has(text: str, pattern: str) -> bool:
    """Return True if whole words of a text match a pattern."""
    return re.search(rf"\b(?:{pattern})\b", text) is not None


def nouns(text: str) -> frozenset[str]:
    """Return the content words of a text, singular."""
    words = (word.removesuffix("s") for word in re.findall(r"[a-z]{2,}", text.lower()))
    return frozenset(word for word in words if not re.fullmatch(_STOP_WORDS, word))
