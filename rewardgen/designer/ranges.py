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
from rewardgen.llm.prompts import ranges_messages
from rewardgen.llm.protocol import LLM
from rewardgen.reward.extraction import json_object
from rewardgen.store.messages import LLMRequest, reply_form
from rewardgen.store.records import TaskCard
from rewardgen.store.transfer import ChosenRange, Transfer

_MAX_TOKENS = 4096
_MOST_QUOTED = 2000
"""Characters of a refused reply that its repair quotes."""


class _Choice(Frozen):
    """An entry of a reply."""

    noun = "a range"
    parameter: str
    low: FiniteFloat
    high: FiniteFloat
    why: Annotated[str, Field(pattern=r"\S")]


async def choose_ranges(
    llm: LLM, card: TaskCard, goal: str, transfer: Transfer, temperature: float = 1.0
) -> tuple[ChosenRange, ...]:
    """Ask for a range of each parameter in which policies still earn; a reply that cannot be used is repaired once.

    Args:
        llm: The model.
        card: The task.
        goal: The user's words for the behaviour; may be empty.
        transfer: Measurements under changed physics.
        temperature: Sampling temperature.

    Raises:
        ModelError: Neither reply can be used.
        UsageError: The policies earn in no range.
        CallFailed: The model did not answer.
    """
    prior = parse_ranges(transfer.earning())
    if not prior:
        raise UsageError(
            "the policies earn in no measured range, so there is none to choose", "measure narrower ranges"
        )
    text, problem = "", ""
    for job in ("ranges", "ranges-repair"):
        request = LLMRequest(
            label=f"{transfer.candidate}/designer/{job}",
            messages=ranges_messages(card, goal, transfer, prior, shortened(text, _MOST_QUOTED), problem),
            temperature=temperature,
            max_tokens=_MAX_TOKENS,
            form=reply_form(_Choice, in_list="ranges"),
        )
        text = (await llm.complete(request)).text
        try:
            return _parsed(text, prior)
        except UsageError as error:
            problem = one_line(error.message)
    raise ModelError(f"the model chose no usable ranges, also when asked again: {problem}")


def _parsed(text: str, prior: Ranges) -> tuple[ChosenRange, ...]:
    """Return the ranges of a reply, in the order of the prior.

    Raises:
        UsageError: The reply has another form, or other parameters or values than the prior.
    """
    entries = (json_object(text) or {}).get("ranges")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UsageError("it holds no JSON object with a list `ranges` of objects")
    choices = [validated(_Choice, entry, "an entry of `ranges`", "") for entry in entries]
    if sorted(choice.parameter for choice in choices) != sorted(prior):
        raise UsageError(f"it must have one range for each of {', '.join(prior)}, and no other")
    chosen = {}
    for name, low, high, why in ((choice.parameter, choice.low, choice.high, choice.why) for choice in choices):
        least, most = prior[name]
        if not least <= low <= high <= most:
            raise UsageError(f"`{name}` from {low:g} to {high:g} is not within {least:g} to {most:g}")
        parse_ranges([range_text(name, low, high)])
        chosen[name] = ChosenRange(range=range_text(name, low, high), why=why)
    return tuple(chosen[name] for name in prior)
