"""Ask a language model which physics to train with, after DrEureka (Ma et al. 2024).

The ranges in which policies still earn are DrEureka's reward-aware physics prior; the model chooses within them.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, FiniteFloat

from rewardgen.core.errors import ModelError, UsageError
from rewardgen.core.formatting import shortened
from rewardgen.core.physics import Ranges, parse_ranges, range_text
from rewardgen.core.schema import Frozen, validated
from rewardgen.core.text import one_line
from rewardgen.llm.prompts import render
from rewardgen.llm.protocol import LLM
from rewardgen.reward.extraction import json_object
from rewardgen.store.messages import LLMRequest, Message, reply_form
from rewardgen.store.records import TaskCard
from rewardgen.store.transfer import TRANSFER, ChosenRange, Transfer

_MAX_TOKENS, _MOST_QUOTED = 4096, 2000


class _Choice(Frozen):
    noun = "a range"
    parameter: str
    low: FiniteFloat
    high: FiniteFloat
    why: Annotated[str, Field(pattern=r"\S")]


async def choose_ranges(
    llm: LLM, card: TaskCard, goal: str, transfer: Transfer, temperature: float = 1.0
) -> tuple[ChosenRange, ...]:
    """Ask for a range of each parameter in which policies still earn; a reply that cannot be used is repaired once.

    Raises:
        ModelError: Neither reply can be used.
        UsageError: The policies earn in no range.
        CallFailed: The model did not answer.
    """
    prior = parse_ranges(transfer.earning())
    if not prior:
        raise UsageError("the policies earn in no measured range to choose from", "measure narrower ranges")
    text, problem = "", ""
    for job in ("ranges", "ranges-repair"):
        request = LLMRequest(
            label=f"{transfer.candidate}/designer/{job}",
            messages=(ranges_message(card, goal, transfer, shortened(text, _MOST_QUOTED), problem),),
            temperature=temperature,
            max_tokens=_MAX_TOKENS,
            form=reply_form(_Choice, in_list="ranges"),
        )
        text = (await llm.complete(request)).text
        try:
            return _parsed(text, prior)
        except UsageError as error:
            problem = one_line(error.message)
    hint = f"delete {TRANSFER}/{transfer.candidate} in its folder to ask again, or name another model"
    raise ModelError(f"the model chose no usable ranges, also when asked again: {problem}", hint)


def ranges_message(card: TaskCard, goal: str, transfer: Transfer, refused: str = "", problem: str = "") -> Message:
    """Write the request; with an earlier reply that was refused, and its fault, if there is one."""
    facts = {"card": card, "goal": goal, "reached": {}, "transfer": transfer, "refused": refused, "problem": problem}
    return Message(role="user", content=render("designer/ranges", prior=parse_ranges(transfer.earning()), **facts))


def _parsed(text: str, prior: Ranges) -> tuple[ChosenRange, ...]:
    """Return the ranges of a reply, in the order of the prior."""
    entries = (json_object(text) or {}).get("ranges")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UsageError("the reply holds no JSON object with a list `ranges` of objects")
    choices = [validated(_Choice, entry, "an entry of `ranges`", "") for entry in entries]
    if sorted(choice.parameter for choice in choices) != sorted(prior):
        raise UsageError(f"the reply must have one range for each of {', '.join(prior)}, and no other")
    chosen, beyond = {}, []
    for name, low, high, why in ((choice.parameter, choice.low, choice.high, choice.why) for choice in choices):
        least, most = prior[name]
        if not least <= low <= high <= most:
            beyond.append(f"`{name}` from {low:g} to {high:g} is not within {least:g} to {most:g}")
            continue
        parse_ranges([range_text(name, low, high)])
        chosen[name] = ChosenRange(range=range_text(name, low, high), why=why)
    if beyond:
        raise UsageError("; ".join(beyond))
    return tuple(chosen[name] for name in prior)
