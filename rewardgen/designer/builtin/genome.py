"""The designer's view of a reward: a list of weighted, possibly gated terms. Plain data, rendered by `rendering`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

InputForm = Literal["value", "norm", "gap", "gap_norm"]

Structure = tuple[str, "TermInput"]
"""A shape and what it reads."""


@dataclass(frozen=True)
class TermInput:
    """A number read from the inputs, (N,); or a whole vector (N, k) for the shapes that take one.

    `value` is the variable, or one part of it; `norm` its Euclidean length; `gap` the absolute difference of two
    variables, and `gap_norm` the distance between two vectors.
    """

    variable: str
    part: int | None = None
    form: InputForm = "value"
    other: str = ""


@dataclass(frozen=True)
class Factor:
    """A shape of `shapes.SHAPES` applied to an input. `constants` are its tunables by role, in the shape's order."""

    name: str
    shape: str
    input: TermInput
    constants: tuple[tuple[str, float], ...] = ()

    def constant(self, role: str) -> float:
        """The value of one tunable constant."""
        return dict(self.constants)[role]

    def with_constant(self, role: str, value: float) -> Factor:
        """The same factor with one constant changed."""
        return replace(self, constants=tuple((each, value if each == role else old) for each, old in self.constants))

    @property
    def structure(self) -> Structure:
        """What it is without its name and numbers."""
        return self.shape, self.input


@dataclass(frozen=True)
class Term:
    """One component: weight times factor, times the gates, each a bounded factor of another quantity."""

    factor: Factor
    weight: float
    gates: tuple[Factor, ...] = ()

    @property
    def name(self) -> str:
        """The component's name."""
        return self.factor.name

    @property
    def structure(self) -> tuple[Structure, ...]:
        """What it is without names and numbers."""
        return (self.factor.structure, *sorted((gate.structure for gate in self.gates), key=repr))


@dataclass(frozen=True)
class Genome:
    """A reward as its terms, in the order of the source."""

    terms: tuple[Term, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The component names."""
        return tuple(term.name for term in self.terms)

    @property
    def gates(self) -> tuple[Factor, ...]:
        """The gates of all terms, each once, in order."""
        return tuple({gate.name: gate for term in self.terms for gate in term.gates}.values())

    @property
    def factors(self) -> tuple[Factor, ...]:
        """The factors of all terms, then the gates."""
        return (*(term.factor for term in self.terms), *self.gates)

    @property
    def structure(self) -> frozenset[tuple[Structure, ...]]:
        """The terms without names and numbers."""
        return frozenset(term.structure for term in self.terms)

    def term(self, name: str) -> Term:
        """The term of a component."""
        return next(term for term in self.terms if term.name == name)

    def with_term(self, name: str, term: Term) -> Genome:
        """The same reward with one term exchanged."""
        return Genome(tuple(term if each.name == name else each for each in self.terms))

    def without(self, names: set[str]) -> Genome:
        """The same reward less some terms."""
        return Genome(tuple(term for term in self.terms if term.name not in names))


def distance(one: Genome, other: Genome) -> float:
    """Jaccard distance of the two structures: 0 for the same terms, 1 for none in common."""
    union = one.structure | other.structure
    return 1.0 - len(one.structure & other.structure) / len(union) if union else 0.0


class Change(NamedTuple):
    """What an operator made.

    Attributes:
        genome: The new reward.
        diagnosis: What is wrong with the parent and what was changed, or the idea of a draft. Without numbers that
            differ from seed to seed, so that a failed idea is recognised when it comes up again.
        prediction: What training should show.
    """

    genome: Genome
    diagnosis: str
    prediction: str
