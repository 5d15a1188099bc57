"""Questions to a language model that compares episodes: both orders are asked, since models prefer a place.

What is not answered in the form that was asked for is `unclear`, so that it decides nothing.
"""

from __future__ import annotations

import asyncio
import re

from rewardgen.core.errors import ModelError
from rewardgen.llm.prompts import JudgedEpisode, judge_messages
from rewardgen.llm.protocol import CallFailed
from rewardgen.search.teachers.protocol import Answered, TeacherSetup
from rewardgen.store.comparisons import Answer, mirrored
from rewardgen.store.messages import LLMRequest

MAX_TOKENS = 4096
"""Limit on a reply: a few sentences, and reasoning models think first."""
_ANSWER = re.compile(r"^\W*ANSWER\W+(first|second|same|unclear)\W*$", re.IGNORECASE | re.MULTILINE)
_BECAUSE = re.compile(r"^\W*BECAUSE\W+(.+?)[\s*_`]*$", re.IGNORECASE | re.MULTILINE)
_SUBTASK = re.compile(r"\W{0,9}SUBTASK\W{1,9}(\w.*)", re.IGNORECASE)
_MOST_SUBTASKS = 5
_IN_PLACE: dict[str, Answer] = {"first": "left", "second": "right", "same": "same", "unclear": "unclear"}


async def ask_in_both_orders(setup: TeacherSetup, number: int, left: JudgedEpisode, right: JudgedEpisode) -> Answered:
    """Ask the run's judging model which episode is better; answers that depend on the order make them the same.

    Args:
        setup: Of a run whose judge is a model.
        number: Place of the question among the run's comparisons.
        left: The episode on the left.
        right: The episode on the right.

    Raises:
        BudgetExhausted: A limit on model calls is reached.
        CredentialsError: The API key is missing or was refused, or the account is empty.
        ModelError: The model or address is unknown, or neither call was answered.
    """
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
    assert config is not None and card is not None and setup.llm is not None
    messages = judge_messages(card, config.goal, *((right, left) if exchanged else (left, right)))
    label = f"comparisons/judge/{number}-{'right' if exchanged else 'left'}-first"
    request = LLMRequest(label=label, messages=messages, temperature=0.0, max_tokens=MAX_TOKENS)
    return read_answer((await setup.llm.complete(request)).text, exchanged)


def read_answer(text: str, exchanged: bool = False) -> Answered:
    """Read a reply, with its reason and then those of the subtasks; without one answer it is `unclear`.

    Args:
        text: The reply; one without readable subtasks counts by its answer.
        exchanged: True if the first episode is the right one.
    """
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
