"""Teachers answer questions on two episodes; from their answers a run is ranked without its fitness.

To add a teacher, write a class with `answer`, and register a function that builds it:

    class Shorter:
        words = "whoever likes short episodes"
        needs_films = False

        async def answer(self, question, number):
            left, right = (self._steps(clip) for clip in (question.left, question.right))
            return Answered("left" if left < right else "right", f"{left} steps against {right}")

    TEACHERS.register("shorter", lambda setup: Shorter(setup))

A run uses it with `--judge shorter`; what follows a colon, as in `--judge shorter:strict`, is `TeacherSetup.argument`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from rewardgen.core.registry import Registry
from rewardgen.llm.protocol import LLM, Note, silent
from rewardgen.store.comparisons import Answer, Clip, Question
from rewardgen.store.history import History
from rewardgen.store.measurements import EpisodeOutcome
from rewardgen.store.run_folder import RunFolder


class Answered(NamedTuple):
    """Answer of a teacher, with its reason in words if it has one."""

    answer: Answer
    why: str = ""
    again: bool = False
    """True if it answers the latest answered question once more, in place of the one that was asked."""


class TeacherSetup(NamedTuple):
    """Arguments of a teacher.

    Attributes:
        argument: What follows the teacher's name in `--judge`; empty without a colon.
        folder: The run's folder.
        history: The run's history, which grows.
        note: Shows a line beside the run.
        llm: The run's language models, for a teacher that is one.
    """

    argument: str
    folder: RunFolder
    history: History
    note: Note = silent
    llm: LLM | None = None

    def outcome(self, clip: Clip) -> EpisodeOutcome:
        """Return what the clean evaluation measured in a clip."""
        return self.history.trained["search", clip.candidate_id, clip.seed].outcomes[clip.start]


class Teacher(Protocol):
    """Compares episodes. Rules give equal answers to equal questions, so that a resumed run walks the same way."""

    words: str
    """The judge in words for designers, such as "a person who compares films of two episodes"."""

    needs_films: bool
    """True if it is shown pictures, so that a task that cannot be filmed is refused before anything is trained."""

    async def answer(self, question: Question, number: int) -> Answered:
        """Compare two clips.

        Args:
            question: The clips.
            number: Place of the question among the run's comparisons, from which random answers are drawn.

        Raises:
            BudgetExhausted: A limit on model calls is reached.
            RewardgenError: The clips cannot be shown.
        """
        ...


TEACHERS: Registry[Callable[[TeacherSetup], Teacher]] = Registry("judge")
