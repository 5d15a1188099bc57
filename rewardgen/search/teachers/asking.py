"""Teachers that are language models: `--judge openai/gpt-5.1` sees pictures, `--judge reader:MODEL` reads numbers.

Both orders of two episodes are asked, since models prefer a place.

What is not answered in the form that was asked for is `unclear`, so that it decides nothing.
"""

from __future__ import annotations

import asyncio
import base64
import re

from rewardgen.analyzer.episode_text import lasted
from rewardgen.core.asynchrony import blocking
from rewardgen.core.errors import ModelError
from rewardgen.film.clips import ClipFilm, clip_texts, film_clips
from rewardgen.llm.factory import READER
from rewardgen.llm.prompts import JudgedEpisode, judge_messages
from rewardgen.llm.protocol import CallFailed
from rewardgen.search.teachers.protocol import TEACHERS, Answered, TeacherSetup
from rewardgen.store.comparisons import Answer, Clip, Question, mirrored
from rewardgen.store.messages import LLMRequest

MAX_TOKENS = 4096
"""Limit on a reply: a few sentences, and reasoning models think first."""
_ANSWER = re.compile(r"^\W*ANSWER\W+(first|second|same|unclear)\W*$", re.IGNORECASE | re.MULTILINE)
_BECAUSE = re.compile(r"^\W*BECAUSE\W+(.+?)[\s*_`]*$", re.IGNORECASE | re.MULTILINE)
_SUBTASK = re.compile(r"\W{0,9}SUBTASK\W{1,9}(\w.*)", re.IGNORECASE)
_MOST_SUBTASKS = 5
_IN_PLACE: dict[str, Answer] = {"first": "left", "second": "right", "same": "same", "unclear": "unclear"}


async def ask_in_both_orders(setup: TeacherSetup, number: int, left: JudgedEpisode, right: JudgedEpisode) -> Answered:
    """Ask the run's judging model which episode is better; answers that depend on the order make them the same."""
    calls = [_ask(setup, number, left, right, exchanged) for exchanged in (False, True)]
    replies = await asyncio.gather(*calls, return_exceptions=True)  # both are paid: both end and are recorded
    failed = [reply for reply in replies if isinstance(reply, CallFailed)]
    for reply in replies:
        if isinstance(reply, BaseException) and reply not in failed:
            raise reply
    if len(failed) == len(replies):  # an answer of nobody's would rank candidates for good
        hint = "check that the model can be reached and takes such requests, then resume the run, or with `--judge`"
        raise ModelError(f"the judge did not answer question {number}: {failed[0].message}", hint)
    for reply in failed:
        setup.note(f"question {number}, in one of both orders: {reply.message}")
    read = [Answered("unclear", reply.message) if isinstance(reply, CallFailed) else reply for reply in replies]
    given, exchanged = (answered for answered in read if isinstance(answered, Answered))
    if "unclear" in (given.answer, exchanged.answer):
        return given if given.answer == "unclear" else exchanged
    return given if given.answer == exchanged.answer else Answered("same", "the answer changes with the order")


async def _ask(
    setup: TeacherSetup, number: int, left: JudgedEpisode, right: JudgedEpisode, exchanged: bool
) -> Answered:
    config, card = setup.history.config, setup.history.card
    assert setup.llm is not None
    messages = judge_messages(card, config.goal, *((right, left) if exchanged else (left, right)))
    label = f"comparisons/judge/{number}-{'right' if exchanged else 'left'}-first"
    request = LLMRequest(label=label, messages=messages, temperature=0.0, max_tokens=MAX_TOKENS)
    return read_answer((await setup.llm.complete(request)).text, exchanged)


def read_answer(text: str, exchanged: bool = False) -> Answered:
    """Read a reply, with its reason and then those of the subtasks; without one answer it is `unclear`."""
    answers = {answer.lower() for answer in _ANSWER.findall(text)}
    if len(answers) != 1:
        return Answered("unclear", "contradictory answers" if answers else "no readable answer")
    sides: dict[str, Answer] = {place: mirrored(side) if exchanged else side for place, side in _IN_PLACE.items()}
    reasons = [*_BECAUSE.findall(text)[-1:]]
    for line in text.splitlines():
        head, place, why, *_ = [part.strip(" *_`") for part in line.split("|", 2)] + ["", ""]
        if (name := _SUBTASK.match(head)) and place.lower() in sides and why and len(reasons) <= _MOST_SUBTASKS:
            reasons.append(f"{name[1]}: {sides[place.lower()]}, {why}")
    return Answered(sides[answers.pop()], "; ".join(reasons))


class VisionTeacher:
    """Asks about pictures of two episodes, with their lengths and endings."""

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
        text = f"{lasted(outcome.steps, outcome.ending, card)}; pictures until {film.times_s[-1]:.2f} s"
        frames = zip(film.times_s, (base64.b64encode(path.read_bytes()).decode() for path in film.frames), strict=True)
        return JudgedEpisode(text, tuple(frames))


class ReaderTeacher:
    """Asks about lengths, endings and variables of two episodes. The task needs no pictures."""

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
