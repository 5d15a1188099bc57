"""Judgements of a language model on a run: is the goal measured, and does the policy do what was asked?"""

from __future__ import annotations

from typing import Literal

from rewardgen.core.schema import Frozen


class Judgement(Frozen):
    """Answer of a language model that was asked if a policy does what the user wants."""

    answer: Literal["yes", "partly", "no"] | None = None
    why: str = ""
    problem: str = ""
    """Reason for a missing answer."""

    @property
    def text(self) -> str:
        """The judgement of a run's policy as a sentence."""
        if self.answer is None:
            return f"Whether this does what was asked was not judged: {self.problem}"
        answer = {"yes": "Yes", "partly": "Only partly", "no": "No"}[self.answer]
        return f"Does this do what was asked? {answer}, says the model that read its episodes: {self.why}"


class GoalCheck(Judgement):
    """Answer of a language model that was asked if the fitness measures the user's goal."""

    obstacle: str = ""
    """Reason why the goal cannot be reached on this task; empty if it can."""

    @property
    def is_objection(self) -> bool:
        """True if the model says that the goal is not measured or cannot be reached."""
        return self.answer == "no" or bool(self.obstacle)

    @property
    def text(self) -> str:
        """The check as a clause."""
        if self.answer is None:
            return f"whether the fitness measures the goal was not checked: {self.problem}"
        claims = {"yes": "measures the goal", "partly": "measures part of the goal", "no": "does not measure the goal"}
        text = f"the model says that the fitness {claims[self.answer]}: {self.why}"
        return f"{text.rstrip('.')}; and that it cannot be reached here: {self.obstacle}" if self.obstacle else text
