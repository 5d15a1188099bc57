"""Whether a task's metric can be trusted: what was seen of it, held against what the authors of sketches meant.

Loads no torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rewardgen.core.formatting import number
from rewardgen.core.schema import Frozen, Text
from rewardgen.store.records import TaskCard
from rewardgen.tasks.sketches import SketchKind

LEAST_AGREEMENT = 0.8
"""Rank correlation (Spearman) of fitness with an author's ranks.

Of what was meant seriously: which of two cheats is worse is a matter of taste, and all that is right is equally right.
"""
_CLEARLY = 1e-6
_LOW = 0.75
"""Share of the least that a right episode reaches, below which episodes of policies that know nothing have to stay."""


class Rollout(Frozen):
    """What a metric says of a policy that knows nothing, means over its episodes."""

    policy: str
    fitness: float
    success_rate: float
    parts: dict[str, float] = {}


class TaskLook(Frozen):
    """A task as it was found: its problems, or its card and how policies fare that know nothing."""

    problems: tuple[tuple[Text, Text], ...] = ()
    """What is wrong with it, and a hint; the rest is empty then."""
    card: TaskCard | None = None
    start: dict[str, tuple[float, ...]] = {}
    """Value of each variable at the start of an episode, its parts in order."""
    follows: dict[str, tuple[str, ...]] = {}
    """Variable to those that it follows from, where a sketch names them."""
    rollouts: tuple[Rollout, ...] = ()


class SketchResult(Frozen):
    """What a metric says of one sketch."""

    name: Text
    kind: SketchKind
    rank: float
    fitness: float
    success: bool
    parts: dict[str, float] = {}
    steps: int
    terminated: bool
    faults: tuple[Text, ...] = ()
    """What about the sketch itself cannot be."""
    course: dict[str, tuple[float, ...]] = {}
    """Some points of the variables that it is about."""


class AuthorVerdict(Frozen):
    """A metric held against one author's sketches."""

    agreement: float
    """Rank correlation of fitness with the author's ranks, without cheats; NaN if one of them does not vary."""
    faults: tuple[Text, ...]

    @property
    def agrees(self) -> bool:
        """Whether the metric ranks them as their author did."""
        return not self.faults


class MetricVerdict(Frozen):
    """All that was found."""

    authors: tuple[AuthorVerdict, ...]
    faults: tuple[Text, ...] = ()
    """Found on episodes of the simulation."""
    notes: tuple[Text, ...] = ()
    """What a person should know; no reason to refuse it."""

    @property
    def agreeing(self) -> int:
        """How many authors agree with it."""
        return sum(each.agrees for each in self.authors)

    @property
    def unanimous(self) -> bool:
        """Whether nothing at all speaks against it."""
        return self.passed and self.agreeing == len(self.authors)

    @property
    def passed(self) -> bool:
        """Whether most authors agree with it, and nothing else speaks against it."""
        return not self.faults and 2 * self.agreeing > len(self.authors)

    @property
    def ambiguous(self) -> bool:
        """Whether the authors do not agree on what was asked for."""
        return self.passed and not self.unanimous


def judge_metric(
    look: TaskLook, authors: Sequence[Sequence[SketchResult]], asked: int = 1, contradictions: Sequence[str] = ()
) -> MetricVerdict:
    """Hold a metric against sketches and trivial episodes.

    Args:
        look: What was seen of the task.
        authors: The results of each author's sketches.
        asked: How many authors were asked for sketches.
        contradictions: Where the metric contradicts what its task declares.
    """
    verdicts = tuple(_author(each) for each in authors)
    # One author of several may have understood something else.
    trusted = [one for one, verdict in zip(authors, verdicts, strict=True) if verdict.agrees] or authors
    right = [each.fitness for one in trusted for each in one if each.kind == "right"]
    faults, notes = [*contradictions], []
    if len(authors) < asked:
        told = f"{asked - len(authors)} of {asked} authors drew nothing that could be used"
        (faults if len(authors) < 2 else notes).append(told)
    if right:
        bar = min(right)
        for rollout in look.rollouts:
            told = f"{_POLICIES.get(rollout.policy, rollout.policy)} reach fitness {number(rollout.fitness)}"
            if rollout.success_rate > 0.5 or rollout.fitness >= _LOW * bar:
                succeed = f" and succeed in {rollout.success_rate:.0%} of the episodes" if rollout.success_rate else ""
                faults.append(f"{told}{succeed}; episodes that are right reach {number(bar)}")
            elif rollout.success_rate > 0.0:
                notes.append(f"{told} and succeed in {rollout.success_rate:.0%} of the episodes")
    for name in sorted({name for one in authors for each in one for name in each.parts}):
        seen = [each.parts[name] for one in authors for each in one if name in each.parts]
        if max(seen) - min(seen) < 0.01:
            notes.append(f"the part `{name}` is {number(seen[0])} in every sketch")
    return MetricVerdict(authors=verdicts, faults=tuple(faults), notes=tuple(notes))


_POLICIES = {
    "zero": "episodes without any action",
    "random": "random actions",
    "lowest": "the lowest actions throughout",
    "highest": "the highest actions throughout",
}


def _author(results: Sequence[SketchResult]) -> AuthorVerdict:
    meant = [each for each in results if each.kind != "cheat"]
    top = max((each.rank for each in meant), default=0.0)
    ranks = [top if each.kind == "right" else each.rank for each in meant]
    agreement = spearman(ranks, [each.fitness for each in meant])
    return AuthorVerdict(agreement=agreement, faults=tuple(_faults(results, agreement)))


def _faults(results: Sequence[SketchResult], agreement: float) -> Iterator[str]:
    right = [each for each in results if each.kind == "right"]
    lowest = min(right, key=lambda each: each.fitness, default=None)
    if not agreement >= LEAST_AGREEMENT:
        told = "is the same for all" if agreement != agreement else f"orders them otherwise ({agreement:.2f} Spearman)"
        yield f"fitness {told}, where their author ranks them from worst to best: {_ranked(results)}"
    for each in results:
        told = f"`{each.name}` ({each.kind}) has fitness {number(each.fitness)}"
        if lowest and each.kind != "right" and each.fitness >= lowest.fitness - _CLEARLY:
            yield f"{told}, not below `{lowest.name}`, which is right, with {number(lowest.fitness)}"
        if each.kind == "right" and not each.success:
            yield f"{told} and is no success, though it is right"
        if each.kind != "right" and each.success:
            yield f"{told} and is a success, though it is not right"


def _ranked(results: Sequence[SketchResult]) -> str:
    ordered = sorted((each for each in results if each.kind != "cheat"), key=lambda each: each.rank)
    return ", ".join(f"`{each.name}` {number(each.fitness)}" for each in ordered)


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's rank correlation; equal values share their ranks, and NaN if one of the two does not vary.

    Args:
        one: Numbers.
        other: As many.
    """
    ranks = _ranks(one), _ranks(other)
    means = [sum(each) / len(each) for each in ranks]
    centred = [[value - mean for value in each] for each, mean in zip(ranks, means, strict=True)]
    sizes = [sum(value * value for value in each) for each in centred]
    if not all(sizes):
        return float("nan")
    return sum(a * b for a, b in zip(*centred, strict=True)) / (sizes[0] * sizes[1]) ** 0.5


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(range(len(values)), key=lambda index: values[index])
    starts = [0, *(at for at, (a, b) in enumerate(pairwise(order), 1) if values[b] - values[a] > 1e-9), len(order)]
    ranks = [0.0] * len(values)
    for first, after in pairwise(starts):
        for index in order[first:after]:
            ranks[index] = (first + after - 1) / 2.0
    return ranks
