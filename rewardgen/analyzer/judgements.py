"""Ask a language model two questions: does the fitness measure the goal, and does the policy reach it?

The answers are shown to a person, who decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from rewardgen.core.errors import BudgetExhausted, RewardgenError
from rewardgen.core.formatting import shortened
from rewardgen.core.schema import Frozen
from rewardgen.core.text import visible
from rewardgen.llm.prompts import goal_messages, verdict_messages
from rewardgen.llm.protocol import LLM, CallFailed
from rewardgen.reward.extraction import json_object
from rewardgen.store.judgement_records import GoalCheck, Judgement
from rewardgen.store.messages import VERDICT, LLMRequest, Message, reply_form
from rewardgen.store.records import TaskCard

MAX_TOKENS = 4096
"""Limit on a reply: two sentences, and reasoning models think first."""
MOST_CHARS = 400
"""Longest reason or problem [characters]."""

_NOTHING = ("none", "no", "nothing", "n/a", "-")


def _line(text: str) -> str:
    return shortened(" ".join(visible(text).split()), MOST_CHARS)


def _lowered(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


def _none_is_empty(value: Any) -> Any:
    return "" if value is None or _lowered(value) in _NOTHING else value


_Line = Annotated[str, AfterValidator(_line)]


class _Answer(Frozen):
    """Form of a reply; a reply in any other form counts as none."""

    answer: Annotated[Literal["yes", "partly", "no"], BeforeValidator(_lowered)]
    why: Annotated[_Line, Field(min_length=1)]


class _GoalAnswer(_Answer):
    obstacle: Annotated[_Line, BeforeValidator(_none_is_empty)] = ""


_Judged = TypeVar("_Judged", bound=Judgement)


async def check_goal(llm: LLM, card: TaskCard, goal: str) -> GoalCheck:
    """Ask if a task's fitness measures a goal, and if the task lets it be reached.

    A wrong key or model raises, see `LLM.complete`; any other failure is the problem of the returned check.
    """
    try:
        return await _ask(llm, "goal/check", goal_messages(card, goal), _GoalAnswer, GoalCheck)
    except (CallFailed, BudgetExhausted) as error:
        return GoalCheck(problem=_line(error.message))


async def judge_result(
    llm: LLM, card: TaskCard, goal: str, feedback: Sequence[str], episodes: Callable[[], str]
) -> Judgement:
    """Ask if a policy reaches the goal, by the text of its episodes. A failed call does not stop the run.

    Without a goal in the user's words, the goal is the task's description. The newest feedback is the last.
    """
    try:
        return await _ask(llm, VERDICT, verdict_messages(card, goal, feedback, episodes()), _Answer, Judgement)
    except RewardgenError as error:
        return Judgement(problem=_line(error.message))


async def _ask(llm: LLM, label: str, messages: Sequence[Message], form: type[_Answer], kind: type[_Judged]) -> _Judged:
    request = LLMRequest(
        label=label, messages=tuple(messages), temperature=0.0, max_tokens=MAX_TOKENS, form=reply_form(form)
    )
    reply = await llm.complete(request)
    try:
        return kind.model_validate(form.model_validate(json_object(reply.text)).model_dump())
    except (ValidationError, RewardgenError):
        return kind(problem="the model's reply is not of the form that was asked for")
