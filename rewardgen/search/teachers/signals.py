"""A teacher that compares a task's ranked signals: the first that differs beyond its margin decides.

HERON (Bukharin et al. 2023, "Deep reinforcement learning from hierarchical preference design") compares trajectories by
a hierarchy of weak signals, each with a margin.
"""

from __future__ import annotations

from rewardgen.core.errors import UsageError
from rewardgen.core.formatting import number as formatted
from rewardgen.search.teachers.protocol import TEACHERS, Answered, TeacherSetup
from rewardgen.store.comparisons import Question


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
