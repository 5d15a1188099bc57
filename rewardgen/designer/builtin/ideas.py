"""Ideas for terms: what one of the card's variables could be rewarded for, each with a role and a prior.

The priors come from units and words alone. Ideas against the grain of the words (the other direction, another target)
stay in with a small prior, because words can mislead and a search can find out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from rewardgen.designer.builtin.genome import Factor, Term, TermInput
from rewardgen.designer.builtin.quantities import Quantity
from rewardgen.designer.builtin.rendering import local_name
from rewardgen.designer.builtin.shapes import SHAPES
from rewardgen.designer.builtin.words import TaskWords
from rewardgen.store.measurements import TIME_LIMIT
from rewardgen.store.records import TaskCard

Role = Literal["drive", "posture", "steady", "cost", "alive"]
"""What a term is for: the task itself, a pose worth keeping, calm where nothing should move, thrift, survival."""

ROLE_WEIGHTS: dict[Role, float] = {"drive": 1.0, "posture": 0.3, "steady": 0.1, "cost": 0.05, "alive": 1.0}
"""Size of a term's first weight. Its shape is within about 0 and 1, so this is its size per step, too.

Survival weighs as much as the drive: what a fall costs is all later steps, and a lunge must not outbid that.
"""

ROOT = r"torso|trunk|body|base|root|pelvis|chassis|cent(?:re|er) of mass|com|robot|vehicle|hull"
"""Words for the part of a robot that stands for the whole of it."""

LIMBS = frozenset(("foot", "feet", "leg", "hand", "limb"))
"""Words for parts whose heights and speeds are not the robot's, unless the task is about them."""


@dataclass(frozen=True)
class Idea:
    """A term that could be in a reward.

    Args:
        role: What it is for.
        topic: What it is about. A reward has one term per topic, so that nothing is counted twice.
        term: The term itself, with first guesses for its constants.
        prior: How much the card's words speak for it; 1 is much, 0.05 little.
    """

    role: Role
    topic: str
    term: Term
    prior: float


def rounded(value: float) -> float:
    """Three significant digits, as a person would write a constant."""
    return 0.0 if abs(value) < 1e-9 else float(f"{value:.3g}")


class Proposer:
    """Makes ideas on one card: knows the task's words and gives terms their names.

    Args:
        card: The task.
        goal: The user's own words for what it is about.
    """

    def __init__(self, card: TaskCard, goal: str) -> None:
        self.card = card
        self.words = TaskWords(card, goal)

    def idea(
        self, role: Role, topic: str, shape: str, read: TermInput, prior: float, size: float = 1.0, **constants: float
    ) -> Idea:
        """An idea with a named term.

        Args:
            role: What it is for.
            topic: What it is about.
            shape: Name of its shape.
            read: Its input.
            prior: How much speaks for it.
            size: Its weight relative to its role's.
            **constants: The shape's constants by role.
        """
        suffix = SHAPES[shape].suffix or shape
        name = suffix if shape in ("effort", "smooth", "alive") else f"{local_name(read, self.card)}_{suffix}"
        name = f"{name}_term" if name in self.card.input_names() else name
        values = tuple((each, rounded(constants[each])) for each in SHAPES[shape].roles)
        return Idea(role, topic, Term(Factor(name, shape, read, values), rounded(ROLE_WEIGHTS[role] * size)), prior)

    @property
    def falling(self) -> float:
        """Share of the trivial policies' episodes that end early, the larger of the two; 1 if not measured."""
        return max((1.0 - probe.terminations.get(TIME_LIMIT, 0.0) for probe in self.card.probes), default=1.0)

    @property
    def onward(self) -> float:
        """How strong the task asks for going along the forward axis."""
        return self.words.strength("go", "forward", "backward")

    def importance(self, quantity: Quantity) -> float:
        """How central a quantity is: the root body and what the task's words name count, one joint of many does not."""
        if quantity.crowd > 3 or quantity.says("joints?"):
            return 0.1 / quantity.crowd
        named = len(quantity.nouns & self.words.nouns)
        central = 1.0 if quantity.says(ROOT) or named else 0.4
        limb = 0.1 if quantity.nouns & LIMBS - self.words.nouns and quantity.kind != "distance" else 1.0
        spread = 1.0 if quantity.crowd == 1 else 0.4
        return central * limb * spread * (1.0 + 0.1 * min(named, 3))

    def speed_reference(self, quantity: Quantity, unit: str) -> float:
        """A speed worth 1: the first that the task's words name, else what a random policy reaches at most."""
        named = [abs(number) for number in self.words.numbers(unit) if number]
        return named[0] if named else max(quantity.extent, 0.1)

    def around(
        self, role: Role, topic: str, quantity: Quantity, target: float, prior: float, widening: float = 1.0
    ) -> Iterator[Idea]:
        """Ways to hold a quantity at a target, wide enough to be felt anywhere in its measured range.

        Args:
            role: What they are for.
            topic: What they are about.
            quantity: What to hold.
            target: Where.
            prior: Of the plainest way.
            widening: How much further than the measured range a trained policy may get.
        """
        reach = widening * max(abs(quantity.low - target), abs(quantity.high - target), 0.02 * abs(target), 1e-3)
        make, read, wide = self.idea, quantity.input, 0.5 * reach**2
        yield make(role, topic, "near", read, prior, target=target, temperature=wide)
        yield make(role, topic, "pull", read, 0.4 * prior, target=target, width=0.5 * reach)
        yield finer(make(role, topic, "near", read, 0.05 * prior, 0.5, target=target, temperature=wide))

    def arriving(self, role: Role, topic: str, quantity: Quantity, prior: float) -> Iterator[Idea]:
        """Ways to bring a place or distance to zero: steep near the end, where the last centimetres count.

        Args:
            role: What they are for.
            topic: What they are about.
            quantity: What to bring to zero.
            prior: Of the plainest way.
        """
        make, read, reach = self.idea, quantity.input, quantity.extent
        yield make(role, topic, "close", read, prior, target=0.0, temperature=0.4 * reach)
        yield make(role, topic, "pull", read, 0.5 * prior, target=0.0, width=0.3 * reach)
        yield make(role, topic, "near", read, 0.25 * prior, target=0.0, temperature=0.5 * reach**2)
        named = self.words.precision
        width = min(2.0 * named, 0.5 * reach) if named else 0.15 * reach
        prior = (0.6 if named else 0.2) * prior
        yield finer(make(role, topic, "near", read, prior, target=0.0, temperature=width**2), narrowing=1.0)


def finer(idea: Idea, narrowing: float = 0.05) -> Idea:
    """The same wish about a target, but narrow: precise at the end where the wide one guides from afar."""
    factor = replace(idea.term.factor, name=f"{idea.term.name}_fine")
    factor = factor.with_constant("temperature", rounded(narrowing * factor.constant("temperature")))
    return replace(idea, topic=f"{idea.topic}:fine", term=replace(idea.term, factor=factor))
