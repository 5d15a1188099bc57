"""What a task's words ask for: intents such as going forward, standing upright, or reaching, with a strength each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

from rewardgen.store.records import TaskCard

INTENTS: Mapping[str, str] = {
    "forward": r"forwards?|ahead",
    "go": r"runs?|running|walk\w*|hops?|hopping|gallop\w*|swims?|swimming|crawl\w*|sprint\w*|travel\w*",
    "backward": r"backwards?|in reverse|rearwards?",
    "sideways": r"sideways|sidestep\w*|strafe\w*|laterally",
    "upright": r"upright|balanc\w+|stand(?:s|ing)?|vertical|swing\w*(?: \w+){0,3}[ -]up|fall(?:s|ing)?|toppl\w+",
    "high": r"jump\w*|lifts?|raises?|rises?|as high as|higher|leap\w*|stand\w* up|gets? up|climb\w*",
    "low": r"crouch\w*|duck\w*|squat\w*|as low as|lie down|lower the",
    "reach": r"reach\w*|touch\w*|targets?|goals?|toward\w*|grasp\w*|push\w* .{0,30}\bto|grab\w*|insert\w*|close to",
    "still": r"still|motionless|at rest|hold\w*|stays?|calm\w*|without moving|hover\w*|balanc\w+",
    "centre": r"cent(?:re|er)\w*|middle|origin|in place|on the spot|rail",
    "spin": r"spin\w*|\w*flips?|flipping|somersaults?|cartwheels?|twirl\w*|turn\w* (?:round|around|over)",
    "straight": r"straight ahead|straight line|heading|drift\w*|veer\w*",
}
"""Intent to the words that express it."""

COURSES = ("forward", "go", "backward", "sideways", "high", "low", "still", "spin")
"""Intents on where the robot goes: they exclude each other, so a user's goal overrides the task's."""

_MENTION = 0.12
"""Intents weaker than this, relative to the strongest, come from words on how the robot is built."""

_NEGATED = re.compile(
    r"\b(?:without|never|not|no|avoid\w*|instead of|rather than)\s+\w+(?:\s+(?!or\b)\w+)?(?:\s+or\s+\w+)?"
)
_AVERTED = re.compile(r"\bfall\w*|\btopple\w*|\btip(?:ping|s)? over|\bdrift\w*|\bveer\w*|\bmoving")
"""Words whose negation means the intent: "without falling" asks for staying upright."""
_QUANTITY = re.compile(r"(-?\d+(?:\.\d+)?)\s*(m/s|rad/s|rad|m|degrees|deg)(?![\w/])")
_PRECISION = re.compile(r"(?:within|closer than|less than)(?: about)? (\d+(?:\.\d+)?) ?(mm|cm|m)\b(?!/)")
_METRES = {"mm": 0.001, "cm": 0.01, "m": 1.0}
_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by for from has have in into is it its least more most of on or than that the then "
        "there this to when which while with one per all each every steps step time seconds second robot task",
    )
)


class TaskWords:
    """The words that say what a task wants: the user's goal, the description, the meaning of success.

    Args:
        card: The task.
        goal: The user's own words; they outweigh the rest.
    """

    def __init__(self, card: TaskCard, goal: str) -> None:
        self.goal = goal.lower()
        self.success = card.success.lower()
        self.task, _, self.explanation = card.description.lower().partition("\n\n")

    @cached_property
    def intents(self) -> dict[str, float]:
        """Intent to strength: 0 for absent, 1 for the description, more with success and the goal.

        The first paragraph of a description says what to do; the others explain the robot and count little.
        """
        texts = ((self.task, 1.0), (self.explanation, 0.1), (self.success, 0.7))
        given = {each: sum(weight * _mentions(text, each) for text, weight in texts) for each in INTENTS}
        wished = {each: 3.0 * _mentions(self.goal, each) for each in INTENTS}
        # A goal that says where to go, or to stay, replaces what the task itself says on that.
        kept = 0.15 if any(wished[each] for each in COURSES) else 1.0
        return {each: wished[each] + given[each] * (kept if each in COURSES else 1.0) for each in INTENTS}

    def strength(self, *intents: str) -> float:
        """How strong the strongest of some intents is, relative to the strongest of all: 0 (a mere mention) to 1."""
        relative = max(self.intents[intent] for intent in intents) / max(*self.intents.values(), 1e-9)
        return relative if relative >= _MENTION else 0.0

    @property
    def backward(self) -> bool:
        """Whether the words ask for going backward rather than forward."""
        return self.intents["backward"] > self.intents["forward"]

    @cached_property
    def nouns(self) -> frozenset[str]:
        """The content words on what to do: of the goal, the description's first paragraph and the success."""
        return content_words(f"{self.goal} {self.task} {self.success}")

    def numbers(self, unit: str) -> tuple[float, ...]:
        """Numbers with a unit in the goal, the success and the description, in that order: "at 2 m/s" gives 2."""
        found = _QUANTITY.findall(f"{self.goal} . {self.success} . {self.task}\n\n{self.explanation}")
        return tuple(float(number) for number, each in found if each == unit)

    @property
    def precision(self) -> float | None:
        """How close is close enough [m], if the goal or the success says so: "within 5 cm" gives 0.05."""
        found = _PRECISION.search(f"{self.goal} . {self.success}")
        return float(found.group(1)) * _METRES[found.group(2)] if found else None


def content_words(text: str) -> frozenset[str]:
    """The words of a text that carry meaning, singular."""
    words = re.findall(r"[a-z]+", text.lower())
    return frozenset(word.removesuffix("s") for word in words if len(word) > 1 and word not in _STOP_WORDS)


def has(text: str, pattern: str) -> bool:
    """Whether whole words of a text match a pattern."""
    return re.search(rf"\b(?:{pattern})\b", text) is not None


def value_when(text: str, states: str) -> float | None:
    """The value a meaning gives for a state: "1 when upright, -1 when hanging" gives 1 for `upright`.

    Args:
        text: The meaning of a variable, lower case.
        states: Pattern of the words for the state.
    """
    number = r"(-?\d+(?:\.\d+)?|zero|one|pi)"
    link = r"(?:\s*(?:when|if|for|means|is|=|at|:|while|with|the|it|pole|body|torso|fully|exactly|perfectly|straight))*"
    found = re.search(rf"(?<![\w.]){number}{link}\s+(?:\w+\s+)?(?:{states})\b", text)
    if not found:
        found = re.search(rf"\b(?:{states})\s*(?:is|=|at|being|means|:)\s*{number}", text)
    named = {"zero": "0", "one": "1", "pi": "3.14159"}
    return float(named.get(found[1], found[1])) if found else None


def _mentions(text: str, intent: str) -> bool:
    kept = _NEGATED.sub(lambda match: " ".join(_AVERTED.findall(match.group())), text)
    return has(kept, INTENTS[intent])
