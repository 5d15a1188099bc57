"""A person who compares films of two episodes, on a page that the teacher is given.

The page is made and served above this folder (`rewardgen.serve.asking`), which registers the judge `human`. It reads
`HumanTeacher.shown` from threads of its own, and hands over answers.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from rewardgen.core.asynchrony import blocking
from rewardgen.film.clips import ClipFilm, film_clips
from rewardgen.search.comparing import asked_text
from rewardgen.search.teachers.protocol import Answered, TeacherSetup
from rewardgen.store.comparisons import Answer, Question


class Showing(NamedTuple):
    """A question as the person sees it."""

    turn: int
    """Number of this showing, so that an answer to another one is noticed."""
    films: tuple[ClipFilm, ClipFilm]
    """Left and right episode."""
    again: bool
    """True if it is the latest answered question, whose answer is taken back."""


class HumanTeacher:
    """Waits for a person's answers on the page that `serve` serves and whose address it returns. Thread-safe."""

    words = "a person who compares films of two episodes"
    needs_films = True

    def __init__(self, setup: TeacherSetup, serve: Callable[[HumanTeacher], str]) -> None:
        self.folder, self.history = setup.folder, setup.history
        self.progress = ""
        """Number of answers so far, and of those that are expected to settle the best candidate."""
        self.shown: Showing | None = None
        """The open question; None while there is none."""
        self.is_filming = False
        """True while the films of the next question are made."""
        self._other: Showing | None = None
        """The question that `undo` turns to."""
        self._note, self._turns = setup.note, 0
        self._deliver: Callable[[Answered], object] = lambda answered: None
        self._turn = threading.Lock()
        self._url = serve(self)

    @property
    def can_undo(self) -> bool:
        """True if the latest answer can be taken back, or taking it back can be undone."""
        return self.shown is not None and self._other is not None

    async def answer(self, question: Question, number: int) -> Answered:
        """See `Teacher.answer`."""
        self.progress = asked_text(self.history)
        answers: asyncio.Queue[Answered] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        self.is_filming = True
        with blocking():
            shown, other = self._filmed(question), self._latest()
        self.is_filming = False
        self._note(f"compare films at {self._url}")  # for each question: a screen keeps a note until the next event
        with self._turn:
            self.shown, self._other = shown, other
            self._deliver = partial(loop.call_soon_threadsafe, answers.put_nowait)
        try:
            return await answers.get()
        finally:
            with self._turn:
                self.shown = None

    def _filmed(self, question: Question, again: bool = False) -> Showing:
        films = film_clips(self.folder, self.history, question, note=self._note)
        self._turns += 1
        return Showing(self._turns, films, again)

    def _latest(self) -> Showing | None:
        """Return the latest answered question, unless a generation was planned by its answer."""
        latest = self.history.comparisons[-1] if self.history.comparisons else None
        is_late = latest is None or latest.generation < self.history.generations[-1].index
        return None if latest is None or is_late else self._filmed(latest, again=True)

    def take(self, turn: int, answer: Answer, why: str) -> bool:
        """Take an answer to a showing; False if that showing is over."""
        with self._turn:
            if self.shown is None or self.shown.turn != turn:
                return False
            self._deliver(Answered(answer, why, self.shown.again))
            self.shown = None
            return True

    def undo(self, turn: int) -> bool:
        """Show the latest answered question in place of the open one, or the open one again; False if it cannot."""
        with self._turn:
            if self.shown is None or self._other is None or self.shown.turn != turn:
                return False
            self._turns += 1
            self.shown, self._other = self._other._replace(turn=self._turns), self.shown
            return True
