"""Ideas for terms: behaviour that one of the card's features could be rewarded for, each with a role and a prior.

Priors come from units and words alone. Ideas against the grain of the words (the other direction, another target) stay
in with a small prior, because words can mislead and a search can find out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from rewardgen.designer.builtin.features import Feature, features_of, has, nouns
from rewardgen.designer.builtin.terms import Term, make_term
from rewardgen.store.measurements import TIME_LIMIT
from rewardgen.store.records import TaskCard

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
    """A term that could be in a reward, with first guesses for its constants. A reward has one term per topic."""

    role: Role
    topic: str
    term: Term
    prior: float
    """Weight of the card's words for it; 1 is much, 0.05 little."""
    shape: str


def ideas_on(card: TaskCard, goal: str = "") -> dict[str, Idea]:
    """All ideas on a card by component name, the likeliest first; at least one is a drive.

    Args:
        card: The task.
        goal: The user's own words.
    """
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
    """Three significant digits, as a person would write a constant."""
    return 0.0 if abs(value) < 1e-9 else float(f"{value:.3g}")


class _Reader:
    """Proposes what a feature could be rewarded for; the methods are named after its kinds."""

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
        term = make_term(name, shape, number.x, number.what, weight, **constants)
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
