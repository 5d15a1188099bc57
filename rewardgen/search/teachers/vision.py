"""A teacher that is a language model and sees pictures of two episodes: `--judge openai/gpt-5.1`."""

from __future__ import annotations

import base64

from rewardgen.analyzer.episode_text import lasted
from rewardgen.core.asynchrony import blocking
from rewardgen.film.clips import ClipFilm, film_clips
from rewardgen.llm.prompts import JudgedEpisode
from rewardgen.search.teachers.asking import ask_in_both_orders
from rewardgen.search.teachers.protocol import Answered, TeacherSetup
from rewardgen.store.comparisons import Clip, Question


class VisionTeacher:
    """Asks about pictures of two episodes, with their lengths and endings.

    Args:
        setup: Of a run whose judge is a model.
    """

    words = "a language model that sees pictures of two episodes at a time"
    needs_films = True

    def __init__(self, setup: TeacherSetup) -> None:
        self._setup = setup

    async def answer(self, question: Question, number: int) -> Answered:
        """See `Teacher.answer`."""
        setup = self._setup
        with blocking():
            left, right = film_clips(setup.folder, setup.history, question, videos=False, note=setup.note)
        shown = self._shown(question.left, left), self._shown(question.right, right)
        return await ask_in_both_orders(setup, number, *shown)

    def _shown(self, clip: Clip, film: ClipFilm) -> JudgedEpisode:
        card, outcome = self._setup.history.card, self._setup.outcome(clip)
        assert card is not None
        text = f"{lasted(outcome.steps, outcome.ending, card)}; pictures until {film.times_s[-1]:.2f} s"
        frames = zip(film.times_s, (base64.b64encode(path.read_bytes()).decode() for path in film.frames), strict=True)
        return JudgedEpisode(text, tuple(frames))
