"""Teachers that are rules on what the clean evaluation measured, and ask nobody.

`signals` compares a task's ranked signals: the first that differs beyond its margin decides. HERON (Bukharin et al.
2023, "Deep reinforcement learning from hierarchical preference design") compares trajectories by such a hierarchy.

`simulated` prefers by the task's fitness, to study how many and how good answers a search needs. The kinds are those of
B-Pref (Lee et al. 2021, "B-Pref: Benchmarking preference-based reinforcement learning") with the numbers of its code,
over the fitness of whole episodes in place of sums of rewards. Its myopic teacher, which discounts early rewards, has
no counterpart: fitness has no steps.
"""

from __future__ import annotations

import math
import random
from statistics import fmean

from rewardgen.core.errors import UsageError, did_you_mean
from rewardgen.core.formatting import number as formatted
from rewardgen.search.teachers.protocol import TEACHERS, Answered, TeacherSetup
from rewardgen.store.comparisons import Answer, Question

KINDS = ("oracle", "stochastic", "mistake", "skip", "equal")
_MISTAKES = 0.1
"""Share of wrong answers of `mistake`."""
_MARGIN = 0.1
"""Share of the mean fitness of all episodes so far: `skip` compares no two that reach less, `equal` tells no two apart
that differ by less."""


class SignalsTeacher:
    """Prefers by the signals of the run's task."""

    needs_films = False

    def __init__(self, setup: TeacherSetup) -> None:
        card = setup.history.card
        if not card.signals:
            hint = 'write `signals = (Signal("height", at="max"), ...)` into the task, most important first'
            raise UsageError(f"the task `{card.name}` declares no signals to judge by", hint)
        self._setup, self._signals = setup, card.signals
        ranked = ", then ".join(
            f"{signal.name} ({signal.better} is better, by more than {formatted(signal.margin)})"
            for signal in card.signals
        )
        self.words = f"signals of two episodes at a time, the first that differs: {ranked}"

    async def answer(self, question: Question, number: int) -> Answered:
        """See `Teacher.answer`."""
        left, right = (self._setup.outcome(clip).signals for clip in (question.left, question.right))
        for signal in self._signals:
            name = signal.name
            lead = (left[name] - right[name]) * (1.0 if signal.better == "high" else -1.0)
            if abs(lead) > signal.margin:
                winner, loser = (left, right) if lead > 0.0 else (right, left)
                why = f"{name} {formatted(winner[name])} against {formatted(loser[name])}"
                return Answered("left" if lead > 0.0 else "right", why)
        readings = ", ".join(f"{name} {formatted(left[name])} and {formatted(right[name])}" for name in left)
        return Answered("same", f"no signal differs beyond its margin: {readings}")


TEACHERS.register("signals", SignalsTeacher)


class SimulatedTeacher:
    """Prefers the higher fitness, with the weakness of its kind; `oracle` without one."""

    words = "a person who compares two episodes at a time"
    needs_films = False

    def __init__(self, setup: TeacherSetup) -> None:
        self._setup, self._kind = setup, setup.argument or "oracle"
        if self._kind not in KINDS:
            raise UsageError(f"there is no simulated judge `{self._kind}`", did_you_mean(self._kind, KINDS))

    async def answer(self, question: Question, number: int) -> Answered:
        """See `Teacher.answer`."""
        rng = random.Random(f"{self._setup.history.config.seed}/{self._kind}/{number}")
        left, right = (self._setup.outcome(clip).fitness for clip in (question.left, question.right))
        best: Answer = "same" if left == right else "left" if left > right else "right"
        match self._kind:
            case "stochastic":
                chance = 1.0 / (1.0 + math.exp(max(-700.0, min(700.0, (right - left) / max(self._usual(), 1e-9)))))
                best = "left" if rng.random() < chance else "right"
            case "mistake" if best != "same" and rng.random() < _MISTAKES:
                best = "right" if best == "left" else "left"
            case "skip" if max(left, right) < _MARGIN * self._usual():
                best = "unclear"
            case "equal" if abs(left - right) < _MARGIN * self._usual():
                best = "same"
            case _:
                pass
        return Answered(best)

    def _usual(self) -> float:
        """Mean size of the fitness in all episodes so far."""
        trained = self._setup.history.trained
        return fmean(
            abs(outcome.fitness)
            for (phase, _, _), result in trained.items()
            if phase == "search"
            for outcome in result.outcomes
        )


TEACHERS.register("simulated", SimulatedTeacher)
