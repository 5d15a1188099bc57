"""A teacher that is a language model and reads two episodes as tables of numbers: `--judge reader:MODEL`."""

from __future__ import annotations

from rewardgen.core.asynchrony import blocking
from rewardgen.film.clips import clip_texts
from rewardgen.llm.factory import READER
from rewardgen.llm.prompts import JudgedEpisode
from rewardgen.search.teachers.asking import ask_in_both_orders
from rewardgen.search.teachers.protocol import TEACHERS, Answered, TeacherSetup
from rewardgen.store.comparisons import Question


class ReaderTeacher:
    """Asks about lengths, endings and variables of two episodes. The task needs no pictures.

    Args:
        setup: Of a run whose judge is a reader.
    """

    words = "a language model that reads two episodes at a time in numbers"
    needs_films = False

    def __init__(self, setup: TeacherSetup) -> None:
        self._setup = setup

    async def answer(self, question: Question, number: int) -> Answered:
        """See `Teacher.answer`."""
        setup = self._setup
        with blocking():
            left, right = clip_texts(setup.folder, setup.history, question, note=setup.note)
        return await ask_in_both_orders(setup, number, JudgedEpisode(left), JudgedEpisode(right))


TEACHERS.register(READER, ReaderTeacher)
